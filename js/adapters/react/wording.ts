/** What the inspector's parts say, in English. Give `words` to a part to say it in another way or language. */
export interface InspectorWords {
  /** Names of the sections, by their names in the receipt. */
  sections: Readonly<Record<string, string>>;
  /** Why something is in a context, or was left out of it, by the receipt's codes. */
  reasons: Readonly<Record<string, string>>;
  /** The signals behind a score. */
  signals: Readonly<Record<string, string>>;
  /** How far a fact may be trusted. */
  trust: Readonly<Record<string, string>>;
  /** Levels and sections of summaries. */
  summary: Readonly<Record<string, string>>;
  context: string;
  /** `{used}` of `{room}` tokens. */
  tokensOf: string;
  /** `{tokens}` tokens. */
  tokens: string;
  free: string;
  reserve: string;
  leftOut: string;
  nothing: string;
  /** `{score}`: how well it fits. */
  score: string;
  why: string;
  /** Heads the messages that show a fact. */
  sources: string;
  /** `{position}` of a message. */
  message: string;
  approve: string;
  forget: string;
  edit: string;
  save: string;
  cancel: string;
  pinned: string;
  localOnly: string;
  waits: string;
  noFacts: string;
  noSummary: string;
  /** Messages `{from}` to `{to}`. */
  range: string;
  outdated: string;
  /** What an action of a fact is about: `{action}: {fact}`. */
  actionOn: string;
}

/** The words as they are by default. */
export const INSPECTOR_WORDS: InspectorWords = {
  sections: {
    system: "Instructions", memory: "What is remembered", episodes: "Earlier sessions", summary: "Summary", notes: "Notes",
    recent: "Recent messages", documents: "Documents", retrieved: "Recalled", question: "Question",
  },
  reasons: {
    instructions: "The app's instructions.", remembered: "Remembered about the user.", same_project: "From the same project.",
    last_session: "What happened in the session before.", covers_earlier: "Stands for the messages before the recent ones.",
    needed_now: "Remembered about the user, and needed for this question.",
    noted: "Noted by the app.", recent_window: "One of the recent messages.", hit: "Found for this question.",
    neighbour: "Stands beside a message that was found.", given_by_app: "Given by the app.", question: "The question itself.",
    current_turn: "Belongs to the question.", no_room: "There was no room.", below_floor: "It has too little to do with the question.",
    duplicate: "It is there already.", outside_window: "Older than the recent messages.",
  },
  signals: {
    semantic: "Meaning", keyword: "Words", recency: "Age", reference: "Names it", quoted: "Quoted words", coverage: "Share of the question's words",
  },
  trust: {
    external: "From elsewhere", imported: "Imported", assistant_inferred: "Concluded by a model", user_stated: "Said by you", user_confirmed: "Confirmed by you",
  },
  summary: {
    chunk: "Part", topic: "Topic", conversation: "Conversation", project: "Project", goal: "Goal", confirmed: "Facts", decisions: "Decisions",
    constraints: "Constraints", failed: "What failed", open: "Open questions", next: "Next steps", identifiers: "Identifiers",
  },
  context: "Context", tokensOf: "{used} of {room} tokens", tokens: "{tokens} tokens", free: "Free", reserve: "Kept for the answer",
  leftOut: "Left out", nothing: "Nothing", score: "Fits to {score}\u00a0%", why: "Why", sources: "Where it was said", message: "Message {position}",
  approve: "Approve", forget: "Forget", edit: "Edit", save: "Save", cancel: "Cancel", pinned: "Pinned", localOnly: "Stays on this device",
  waits: "Waits for your approval", noFacts: "Nothing is remembered yet.", noSummary: "Nothing has been summarised yet.",
  range: "Messages {from} to {to}", outdated: "Is being made again", actionOn: "{action}: {fact}",
};

/** What a part may be told to say. */
export interface WithWords {
  /** Other words, where they are given. */
  words?: Partial<InspectorWords>;
}

/** The words of a part. */
export function wordsOf({ words }: WithWords): InspectorWords {
  return words === undefined ? INSPECTOR_WORDS : { ...INSPECTOR_WORDS, ...words };
}

/** A text with its `{names}` filled in; numbers as the reader's language writes them. */
export function filled(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    return typeof value === "number" ? value.toLocaleString() : (value ?? whole);
  });
}

/** The word for a code; a code that came later stands for itself. */
export function wordFor(words: Readonly<Record<string, string>>, code: string): string {
  return words[code] ?? code.replaceAll("_", " ");
}
