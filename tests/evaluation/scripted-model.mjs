// A language model played by rule: it reads the engine's own requests and answers from the labels, with the mistakes of its
// temper. Which mistake falls on which message follows from a hash, so every run is the same.
//
// It stands in for a model where there is none. What it measures is the pipeline (what becomes of right and wrong
// proposals), not a model's understanding.

import { plain } from "./labelled-set.mjs";

/**
 * Shares of what goes wrong, of all occasions. `miss`: a fact is not seen. `trap`: what is no fact is taken for one. `quote`:
 * the quote is not verbatim. `seq`: another message is named. `paraphrase`: the fact is in other words, in English.
 * `overstate`: what is concluded is called a statement. `repeat`: what is known is proposed again. `misjudge`: the judge
 * chooses wrongly. `fence`: the JSON comes in a Markdown fence with a word before it.
 */
export const TEMPERS = {
  careful: { miss: 0.06, trap: 0.1, quote: 0.02, seq: 0, paraphrase: 0.04, overstate: 0.1, repeat: 0.05, misjudge: 0.03, fence: 0.2 },
  careless: { miss: 0.15, trap: 1, quote: 0.1, seq: 0.06, paraphrase: 0.12, overstate: 0.5, repeat: 0.3, misjudge: 0.15, fence: 0.5 },
};

/** 0 to 1, the same for the same text (FNV-1a, 32 bits). */
export function chance(text) {
  let hash = 2_166_136_261;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0), 16_777_619);
  // The last bits of FNV are the best ones; the multiplication spreads them upwards.
  return (Math.imul(hash ^ (hash >>> 15), 2_246_822_519) >>> 0) / 4_294_967_296;
}

/** The model for one user. `proposals` is all that it ever proposed, with the label behind it. */
export function scriptedModel(user, temper) {
  const rates = TEMPERS[temper];
  const proposals = [];
  /** By the words of a proposed fact: the label that it was made from. */
  const labels = new Map();
  const generate = ({ purpose, messages, schema }) => {
    const prompt = messages.map(({ content }) => content).join("\n");
    if (purpose === "extract") return inFence(extract(prompt, schema, { user, rates, proposals, labels }), prompt, rates);
    if (purpose === "judge") return judge(prompt, { rates, labels });
    if (purpose === "audit") return JSON.stringify({ findings: [] });
    return retold(prompt);
  };
  return { contextWindow: 16_000, generate, proposals };
}

function inFence(answer, prompt, { fence }) {
  const json = JSON.stringify(answer);
  return chance(`fence ${prompt}`) < fence ? `Here are the facts:\n\`\`\`json\n${json}\n\`\`\`` : json;
}

/** The messages of a request: their numbers, who speaks, and what is said. */
function messagesOf(prompt) {
  return [...prompt.matchAll(/^\[(\d+)\] (user|assistant)[^\n]*\n((?:> [^\n]*\n?)+)/gm)].map(([, seq, role, lines]) => ({
    seq: Number(seq), role, text: lines.split("\n").map((line) => line.replace(/^> /, "")).join("\n").trim(),
  }));
}

function extract(prompt, schema, model) {
  const fields = schema?.properties?.facts?.items?.properties ?? {};
  const facts = messagesOf(prompt)
    .filter(({ role }) => role === "user")
    .flatMap((message) => labelsOf(model.user, message).flatMap((label) => proposed(label, message, fields, model)));
  return { facts };
}

/** What a reader of this message could propose. */
function labelsOf({ facts, traps, retractions }, { text }) {
  const stands = (label) => plain(label.text) === plain(text);
  const takenBack = retractions.filter((label) => stands(label) && label.says !== undefined);
  return [
    ...[...facts.values()].filter(stands).map((label) => ({ is: "fact", id: label.id, ...label })),
    ...traps.filter(stands).map((label) => ({ is: "trap", id: `trap ${label.value}`, ...label })),
    ...takenBack.map((label) => ({ is: "retraction", id: `retracts ${label.retracts}`, category: "constraint", fact: label.says, value: [], ...label })),
  ];
}

function proposed(label, message, fields, { user, rates, proposals, labels }) {
  const happens = (mistake) => chance(`${mistake} ${label.id} ${label.fact}`) < rates[mistake];
  if (label.is === "trap" ? !happens("trap") : happens("miss")) return [];
  const fact = happens("paraphrase") ? `The person mentioned something: ${label.value.join(", ")}` : label.fact;
  const isConcluded = label.how === "implied" || label.is === "trap";
  const candidate = {
    fact,
    category: label.category,
    key: label.key ?? null,
    confidence: label.is === "trap" ? 0.7 : 0.92,
    quote: happens("quote") ? `${message.text.slice(0, 10)} as I understood it` : message.text,
    seq: happens("seq") ? message.seq + 1 : message.seq,
    kind: isConcluded && !happens("overstate") ? "inference" : "statement",
    ...endOf(label, fields),
  };
  labels.set(plain(fact), label);
  proposals.push({ label, fact, seq: message.seq });
  const again = happens("repeat") ? [...user.facts.values()].find(({ day, id }) => day < label.day && id !== label.replaces) : undefined;
  return again === undefined ? [candidate] : [candidate, { ...candidate, fact: again.fact, category: again.category, key: again.key }];
}

/** When it ends, where the request asks for that: as a time, as days, or as a date. */
function endOf({ days, day }, fields) {
  const name = Object.keys(fields).find((field) => /expire|valid|until|end/i.test(field));
  if (name === undefined) return {};
  if (days === undefined) return { [name]: null };
  const type = [fields[name].type].flat();
  if (/days/i.test(name)) return { [name]: days };
  const date = new Date(Date.UTC(2026, 0, 5 + day + days));
  return { [name]: type.includes("string") ? date.toISOString().slice(0, 10) : date.getTime() };
}

const OPERATIONS = ["ADD", "NOOP", "UPDATE", "DELETE"];

function judge(prompt, { rates, labels }) {
  const operations = prompt.split(/^CANDIDATE (?=\d+$)/m).slice(1).map((part) => {
    const candidate = Number(/^\d+/.exec(part)[0]);
    const text = JSON.parse(/^new: (.*)$/m.exec(part)[1]);
    const existing = [...part.matchAll(/^(f\d+): (.*)$/gm)].map(([, id, json]) => ({ id, label: labels.get(plain(JSON.parse(json))) }));
    const right = judged(labels.get(plain(text)), existing);
    if (chance(`misjudge ${text}`) >= rates.misjudge) return { candidate, ...right };
    const operation = OPERATIONS[Math.floor(chance(`which ${text}`) * OPERATIONS.length)];
    return { candidate, operation, target: existing[0]?.id ?? null };
  });
  return JSON.stringify({ operations });
}

function judged(label, existing) {
  const find = (id) => existing.find((other) => other.label?.id === id)?.id;
  const same = find(label?.id);
  if (same !== undefined) return { operation: "NOOP", target: null };
  const replaced = find(label?.replaces);
  if (replaced !== undefined) return { operation: "UPDATE", target: replaced };
  const takenBack = find(label?.retracts);
  if (takenBack !== undefined) return { operation: "DELETE", target: takenBack };
  return { operation: "ADD", target: null };
}

/** Notes of what was said, as a weak model would take them: the first thing, every third, the last, each cut short. */
function retold(prompt) {
  const said = prompt.split("\n").filter((line) => line.startsWith("> ") && line.length > 20).map((line) => line.slice(2, 90));
  const confirmed = said.filter((_, place) => place % 3 === 1).slice(0, 8);
  return JSON.stringify({ goal: said.slice(0, 1), confirmed, decisions: [], constraints: [], failed: [], open: [], next: said.slice(-1), identifiers: [] });
}
