/** HTML as a person would read it, without a document: there is none in a worker. */

import { withoutEntities } from "./reasoning-text.js";

const BLOCKS = /^(p|div|ul|ol|tr|table|h[1-6]|pre|blockquote|hr|section|article)$/;
const UNSEEN = /<(script|style|template|head)\b[\s\S]*?(<\/\1\s*>|$)|<!--[\s\S]*?(-->|$)/gi;

/** The text of a piece of HTML: a line per block, `- ` before items, no tags, no scripts. */
export function htmlText(html: string): string {
  const seen = html.replace(UNSEEN, "");
  let text = "";
  let from = 0;
  let isPreformatted = false;
  const say = (piece: string): void => void (text += isPreformatted ? piece : piece.replace(/[ \t\r\n]+/g, " "));
  for (const tag of seen.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^<>]*>/gi)) {
    say(seen.slice(from, tag.index));
    from = tag.index + tag[0].length;
    const name = (tag[2] ?? "").toLowerCase();
    if (name === "br") text += "\n";
    else if (name === "li") text += tag[1] === "" ? "\n- " : "";
    else if (name === "td" || name === "th") text += " ";
    else if (BLOCKS.test(name)) text += "\n";
    if (name === "pre") isPreformatted = tag[1] === "";
  }
  say(seen.slice(from));
  const lines = withoutEntities(text).split("\n").map((line) => {
    const said = line.trimEnd();
    // More than one blank at the start of a line is the indent of code.
    return /^\s\s/.test(said) ? said : said.trimStart();
  });
  return lines.join("\n").replace(/\n{3,}/g, "\n\n").trim();
}
