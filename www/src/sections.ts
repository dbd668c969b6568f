/** The sections of a context: what the page calls them and what each is for. Colours and patterns are in context.css. */

/** A section as the page presents it. */
export interface SectionLook {
  /** Its name in the receipt. */
  name: string;
  /** Its name on the page. */
  label: string;
  /** What it holds. */
  about: string;
}

const LOOKS: readonly SectionLook[] = [
  { name: "system", label: "Instructions", about: "The app's system prompt, sent whole." },
  { name: "memory", label: "About you", about: "Facts that you wrote down or confirmed." },
  { name: "episodes", label: "Sessions", about: "What happened in earlier sessions, and what the project came to." },
  { name: "notes", label: "Notes", about: "Structured notes of the app." },
  { name: "summary", label: "Summary", about: "What was folded away: goals, decisions, constraints, failed attempts." },
  { name: "retrieved", label: "Found", about: "Old messages that this question needs, with their neighbours." },
  { name: "documents", label: "Documents", about: "Documents that the app adds." },
  { name: "recent", label: "Recent", about: "The newest messages, word for word." },
  { name: "question", label: "Question", about: "What you ask now. It is never cut." },
];

/** How the section of this name is presented; an unknown one by its own name. */
export function sectionLook(name: string): SectionLook {
  return LOOKS.find((look) => look.name === name) ?? { name, label: name, about: "" };
}
