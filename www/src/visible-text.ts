/**
 * Message text as DOM: text only, whatever it holds. Fenced code becomes a block and back-ticked words become code;
 * markup, links and images stay the characters that they are. Characters that could make text look like something else
 * (direction overrides, zero-width and tag characters, controls) are shown by their code points.
 */

import { element } from "./element.js";

/** Longest text shown at once, in characters; a button shows the rest. */
const SHOWN_CHARACTERS = 20_000;

const DECEPTIVE =
  /[^\P{Cc}\n\r\t]|[\u061c\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]+/gu;

const FENCE = /```([^\n`]*)\n([\s\S]*?)(?:\n```|```|$)/g;

/** Nodes for a message's text, with these words marked. */
export function visibleText(text: string, marked: readonly string[] = []): Node[] {
  if (text.length > SHOWN_CHARACTERS) return folded(text, marked);
  const nodes: Node[] = [];
  let at = 0;
  for (const match of text.matchAll(FENCE)) {
    paragraph(nodes, text.slice(at, match.index), marked);
    const code = element("code", {}, ...revealed(match[2] ?? ""));
    nodes.push(element("pre", { class: "code", tabindex: 0, "aria-label": `Code ${match[1] ?? ""}`.trim() }, code));
    at = match.index + match[0].length;
  }
  paragraph(nodes, text.slice(at), marked);
  return nodes;
}

/** The same characters made visible, as a string: for titles, labels and attributes. */
export function visibleLine(text: string): string {
  return text.replace(DECEPTIVE, describe).replace(/\s+/g, " ").trim();
}

/** The title of a conversation. */
export function visibleTitle(title: string): string {
  return visibleLine(title) || "Untitled";
}

/** A line of at most so many characters. */
export function shortened(line: string, most: number): string {
  return line.length > most ? `${line.slice(0, most - 2).trimEnd()}…` : line;
}

/** Words of a question that are worth marking in what was found: three characters or more, two for Korean and Chinese. */
export function wordsToMark(question: string): string[] {
  const words = question.toLowerCase().match(/[\p{L}\p{N}_.-]+/gu) ?? [];
  return [...new Set(words)].filter((word) => {
    const trimmed = word.replace(/^[.-]+|[.-]+$/g, "");
    return /[\p{Script=Hangul}\p{Script=Han}]/u.test(trimmed) ? trimmed.length >= 2 : trimmed.length >= 3 && !COMMON.has(trimmed);
  });
}

const COMMON = new Set(
  ("the and for are was were what when where which who why how did does that this with from have has had you your our not but "
    + "into about there they them their then than wie was ist die der das und ein eine nicht wenn").split(" "),
);

function paragraph(nodes: Node[], text: string, marked: readonly string[]): void {
  const body = text.replace(/^\n+|\n+$/g, "");
  if (body === "") return;
  const node = element("p", { class: "prose" });
  for (const piece of body.split(/(`[^`\n]+`)/)) {
    if (piece.length > 2 && piece.startsWith("`") && piece.endsWith("`")) {
      node.append(element("code", {}, ...inlineText(piece.slice(1, -1), marked)));
    } else {
      node.append(...inlineText(piece, marked));
    }
  }
  nodes.push(node);
}

/** Nodes for a text within a line, with these words marked. */
export function inlineText(text: string, marked: readonly string[]): (Node | string)[] {
  if (marked.length === 0) return revealed(text);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${marked.map(escaped).join("|")})`, "giu");
  return text.split(pattern).flatMap((piece, index) =>
    index % 2 === 1 ? [element("mark", {}, ...revealed(piece))] : revealed(piece),
  );
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function revealed(text: string): (Node | string)[] {
  const nodes: (Node | string)[] = [];
  let at = 0;
  for (const match of text.matchAll(DECEPTIVE)) {
    nodes.push(text.slice(at, match.index));
    nodes.push(element("span", { class: "hidden-character", title: "A character that is not meant to be seen" }, describe(match[0])));
    at = match.index + match[0].length;
  }
  nodes.push(text.slice(at));
  return nodes.filter((node) => node !== "");
}

function describe(characters: string): string {
  const points = Array.from(characters);
  const first = (points[0]?.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return points.length === 1 ? `[U+${first}]` : `[${points.length} hidden characters from U+${first}]`;
}

function folded(text: string, marked: readonly string[]): Node[] {
  const rest = element("div", {}, ...visibleText(text.slice(0, SHOWN_CHARACTERS), marked));
  const more = element("button", { type: "button", class: "quiet" }, `Show all ${text.length.toLocaleString("en")} characters`);
  more.addEventListener("click", () => {
    rest.replaceChildren(element("p", { class: "prose" }, ...revealed(text)));
    more.remove();
  });
  return [rest, more];
}
