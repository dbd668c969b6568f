/**
 * Markdown as DOM, without ever making markup: the lexer gives tokens, and each becomes an element of a fixed list. HTML in
 * the text stays the characters that it is; images are links, never loaded; a link leads only to http, https or mailto, and
 * its host is shown where its words are others.
 */

import { lexer, type Token, type Tokens } from "marked";
import { copyButton } from "./copy-button.ts";
import { element } from "./element.ts";
import { inlineText, visibleLine } from "./visible-text.ts";

/** Quotes and lists inside each other, up to this depth; deeper ones stay text. */
const DEEPEST = 16;

type Marked = readonly string[];

/** What stands in a container: the source of each block, with what was made of it. */
const drawn = new WeakMap<Element, { source: string; node: Node }[]>();

/** Shows a text in a container. Blocks that have not changed since the last time stay the same nodes, with their selection. */
export function renderMarkdown(container: Element, text: string, marked: Marked): void {
  const tokens = lexer(text, { gfm: true }).filter(({ type }) => type !== "space");
  if (!drawn.has(container)) container.replaceChildren();
  const before = drawn.get(container) ?? [];
  const same = before.findIndex(({ source }, index) => tokens[index]?.raw !== source);
  const kept = marked.length > 0 ? [] : before.slice(0, same < 0 ? before.length : same);
  const blocks = [...kept, ...tokens.slice(kept.length).map((token) => ({ source: token.raw, node: block(token, marked, 0) }))];
  for (const { node } of before.slice(kept.length)) node.parentNode?.removeChild(node);
  container.append(...blocks.slice(kept.length).map(({ node }) => node));
  drawn.set(container, blocks);
}

function block(token: Token, marked: Marked, depth: number): Node {
  if (depth > DEEPEST) return prose(inlineText(token.raw, marked));
  switch (token.type) {
    case "code":
      return codeBlock(token as Tokens.Code);
    case "heading": {
      const { depth: level, tokens } = token as Tokens.Heading;
      // The page's own headings are the first two.
      return element(`h${Math.min(level + 2, 6) as 3 | 4 | 5 | 6}`, { class: "prose-heading" }, ...inline(tokens, marked, depth));
    }
    case "blockquote":
      return element("blockquote", { class: "prose-quote" }, ...blocksOf(token as Tokens.Blockquote, marked, depth));
    case "list":
      return list(token as Tokens.List, marked, depth);
    case "table":
      return isWhole(token as Tokens.Table) ? table(token as Tokens.Table, marked, depth) : prose(inlineText(token.raw.trimEnd(), marked));
    case "hr":
      return element("hr");
    case "paragraph":
    case "text":
      return prose(inline(childrenOf(token), marked, depth));
    default:
      return prose(inlineText(token.raw.trimEnd(), marked));
  }
}

function prose(children: (Node | string)[]): HTMLElement {
  return element("p", { class: "prose" }, ...children);
}

function blocksOf({ tokens }: { tokens: readonly Token[] }, marked: Marked, depth: number): Node[] {
  return tokens.filter(({ type }) => type !== "space" && type !== "checkbox").map((token) => block(token, marked, depth + 1));
}

function codeBlock({ lang, text }: Tokens.Code): HTMLElement {
  const language = visibleLine(lang?.split(/\s/)[0] ?? "");
  return element(
    "div",
    { class: "code-block" },
    element("div", { class: "code-head" }, element("span", {}, language || "Text"), copyButton("Copy code", () => text)),
    element("pre", { class: "code", tabindex: 0, "aria-label": `Code ${language}`.trim() }, element("code", {}, ...inlineText(text, []))),
  );
}

function list({ items, ordered, start }: Tokens.List, marked: Marked, depth: number): HTMLElement {
  const rows = items.map((item) => {
    const box = item.task && element("input", { type: "checkbox", disabled: true, checked: item.checked === true, "aria-label": item.checked ? "Done" : "To do" });
    const [first, ...others] = item.tokens.filter(({ type }) => type !== "checkbox" && type !== "space");
    // What a tight item says stands in its line; a loose one has paragraphs.
    const words = first?.type === "text" ? inline(childrenOf(first), marked, depth) : first ? [block(first, marked, depth + 1)] : [];
    return element("li", { class: item.task ? "task" : undefined }, box, ...words, ...blocksOf({ tokens: others }, marked, depth));
  });
  if (!ordered) return element("ul", { class: "prose-list" }, ...rows);
  return element("ol", { class: "prose-list", start: start === "" || start === 1 ? undefined : start }, ...rows);
}

/** A row with more cells than the head loses them in the lexer; such a table is shown as it was written. */
function isWhole({ raw, rows }: Tokens.Table): boolean {
  const letters = (text: string): string => text.replace(/[|\\\s]/g, "");
  const lines = raw.trim().split("\n").slice(2);
  return rows.every((row, index) => letters(lines[index] ?? "") === letters(row.map(({ text }) => text).join("")));
}

function table({ align, header, rows }: Tokens.Table, marked: Marked, depth: number): HTMLElement {
  const cell = (tag: "th" | "td") => ({ tokens }: Tokens.TableCell, column: number): HTMLElement =>
    element(tag, { "data-align": align[column] ?? undefined, scope: tag === "th" ? "col" : undefined }, ...inline(tokens, marked, depth));
  return element(
    "div",
    { class: "table-place", tabindex: 0, role: "region", "aria-label": "Table" },
    element("table", {},
      element("thead", {}, element("tr", {}, ...header.map(cell("th")))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell("td")))))),
  );
}

function childrenOf(token: Token): readonly Token[] {
  const { tokens } = token as { tokens?: Token[] };
  return tokens ?? [{ type: "plain", raw: token.raw }];
}

function inline(tokens: readonly Token[], marked: Marked, depth: number): (Node | string)[] {
  return tokens.flatMap((token) => inlineNode(token, marked, depth + 1));
}

const WRAPPED = { strong: "strong", em: "em", del: "del" } as const;

function inlineNode(token: Token, marked: Marked, depth: number): (Node | string)[] {
  if (depth > DEEPEST * 2) return inlineText(token.raw, marked);
  switch (token.type) {
    case "strong":
    case "em":
    case "del":
      return [element(WRAPPED[token.type], {}, ...inline(childrenOf(token), marked, depth))];
    case "codespan":
      return [element("code", {}, ...inlineText((token as Tokens.Codespan).text, marked))];
    case "br":
      return [element("br")];
    case "escape":
      return inlineText((token as Tokens.Escape).text, marked);
    case "link": {
      const { href, raw, text } = token as Tokens.Link;
      return link(href, text, inline(childrenOf(token), marked, depth)) ?? inlineText(raw, marked);
    }
    case "image": {
      const { href, raw, text } = token as Tokens.Image;
      return link(href, "", ["Picture: ", ...inlineText(text || "without a name", marked)]) ?? inlineText(raw, marked);
    }
    case "text": {
      const { text, tokens: inner } = token as Tokens.Text;
      return inner ? inline(inner, marked, depth) : inlineText(text, marked);
    }
    default:
      return inlineText(token.raw, marked);
  }
}

const SAFE_SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);

/** A link that opens elsewhere and tells nobody where it was found; nothing where it leads to what no link may. */
function link(href: string, words: string, children: (Node | string)[]): (Node | string)[] | undefined {
  const target = parsed(href);
  if (target === null || !SAFE_SCHEMES.has(target.protocol)) return undefined;
  const place = target.protocol === "mailto:" ? target.pathname : target.host;
  const isToldAlready = words.toLowerCase().includes(place.toLowerCase());
  const anchor = element("a", { href: target.href, target: "_blank", rel: "noopener noreferrer nofollow", title: visibleLine(target.href) }, ...children);
  return isToldAlready ? [anchor] : [anchor, element("span", { class: "link-host" }, ` (${visibleLine(place)})`)];
}

function parsed(href: string): URL | null {
  try {
    return new URL(href);
  } catch {
    return null;
  }
}
