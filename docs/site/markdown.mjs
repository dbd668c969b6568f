// Markdown to HTML: headings with anchors, code with colours, tables and code that scroll by themselves, links between files
// of the repository turned into links between pages. A link that leads nowhere is an error.

import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import MarkdownIt from "markdown-it";
import { ROOT } from "../../scripts/toolchain.mjs";
import { escapeHtml, highlight } from "./highlight.mjs";

/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(text) {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").trim().replaceAll(/\s/g, "-");
}

/** Turns Markdown into HTML, for all pages of one site. */
export class MarkdownPages {
  #files;
  #places = new Map();
  #assets = new Map();
  #problems = [];

  /** @param {Map<string, string>} files Address of the page by the file that it is made from, from the root. */
  constructor(files) {
    this.#files = files;
  }

  /** Pictures that pages show: address on the site by path on disk. */
  get assets() {
    return this.#assets;
  }

  /** Links that lead nowhere, one sentence each. */
  get problems() {
    return this.#problems;
  }

  /** Says where what is linked as `api:<name>` is. */
  place(name, address) {
    this.#places.set(name, address);
  }

  /**
   * @param {string} text The Markdown.
   * @param {{ source: string, file: string }} page The file that it is from, and the page that it goes to.
   * @returns {{ html: string, headings: { level: number, id: string, text: string }[] }}
   */
  render(text, page) {
    const headings = [];
    const parser = new MarkdownIt({ html: false });
    this.#addHeadings(parser, headings);
    this.#addBlocks(parser);
    this.#addLinks(parser, page);
    return { html: parser.render(text), headings };
  }

  /** A text within a line or a few paragraphs, without headings of its own. */
  fragment(text, page) {
    return this.render(text, page).html;
  }

  #addHeadings(parser, headings) {
    const taken = new Map();
    parser.renderer.rules.heading_open = (tokens, index) => {
      const { tag, level } = { tag: tokens[index].tag, level: Number(tokens[index].tag.slice(1)) };
      const text = plainText(tokens[index + 1]);
      const anchor = anchorOf(text);
      const count = taken.get(anchor) ?? 0;
      taken.set(anchor, count + 1);
      const id = count === 0 ? anchor : `${anchor}-${count}`;
      headings.push({ level, id, text });
      return `<${tag} id="${id}">`;
    };
  }

  #addBlocks(parser) {
    parser.renderer.rules.fence = (tokens, index) => {
      const [language = ""] = tokens[index].info.trim().split(/\s+/);
      return `<pre tabindex="0"><code>${highlight(tokens[index].content.replace(/\n$/, ""), language)}</code></pre>\n`;
    };
    parser.renderer.rules.table_open = () => '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n';
    parser.renderer.rules.table_close = () => "</table></div>\n";
    // A cell of the head without words is no head.
    parser.core.ruler.push("empty-heads", ({ tokens }) => {
      tokens.forEach((token, index) => {
        if (token.type !== "th_open" || tokens[index + 1].content !== "") return;
        token.tag = "td";
        tokens[index + 2].tag = "td";
      });
    });
  }

  #addLinks(parser, page) {
    parser.core.ruler.push("links", ({ tokens }) => {
      for (const { children } of tokens) {
        for (const token of children ?? []) {
          if (token.type === "link_open") this.#link(token, page);
          if (token.type === "image") this.#picture(token, page);
        }
      }
    });
    parser.renderer.rules.link_open = (tokens, index, options, _, self) => (tokens[index].hidden ? "" : self.renderToken(tokens, index, options));
    parser.renderer.rules.link_close = (tokens, index, options, _, self) => {
      const open = tokens.slice(0, index).findLast(({ type }) => type === "link_open");
      return open?.hidden ? "" : self.renderToken(tokens, index, options);
    };
  }

  #link(token, page) {
    const address = token.attrGet("href");
    if (address.startsWith("api:")) {
      const place = this.#places.get(decodeURIComponent(address.slice(4)));
      if (place === undefined) token.hidden = true;
      else token.attrSet("href", relativeTo(page.file, place));
      return;
    }
    if (/^(https?|mailto):/.test(address) || address.startsWith("#")) return;
    const [path, anchor] = address.split("#");
    const target = posix.join(dirname(page.source), decodeURIComponent(path));
    const file = this.#files.get(target) ?? this.#files.get(target.replace(/\/$/, ""));
    if (file !== undefined) token.attrSet("href", `${relativeTo(page.file, file)}${anchor === undefined ? "" : `#${anchor}`}`);
    // What is in the repository and no page stays words.
    else if (existsSync(join(ROOT, target))) token.hidden = true;
    else this.#problems.push(`${page.source} links ${address}, which is not there.`);
  }

  #picture(token, page) {
    const path = join(ROOT, dirname(page.source), token.attrGet("src"));
    if (!existsSync(path)) return void this.#problems.push(`${page.source} shows ${token.attrGet("src")}, which is not there.`);
    const address = `pictures/${basename(path)}`;
    this.#assets.set(path, address);
    const { width, height } = sizeOf(path);
    for (const [name, value] of Object.entries({ src: relativeTo(page.file, address), width, height, loading: "lazy", decoding: "async" })) token.attrSet(name, String(value));
  }
}

/** The address of a page or picture as a page names it. */
export function relativeTo(from, to) {
  const [path, anchor] = to.split("#");
  const relative = path === from && anchor !== undefined ? "" : posix.relative(posix.dirname(from), path);
  return `${relative}${anchor === undefined ? "" : `#${anchor}`}`;
}

function plainText(inline) {
  return inline.children.filter(({ type }) => type === "text" || type === "code_inline").map(({ content }) => content).join("");
}

/** Width and height, so that the page does not jump when the picture comes. */
function sizeOf(path) {
  const bytes = readFileSync(path);
  if (path.endsWith(".png")) return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  if (path.endsWith(".webp")) return sizeOfWebp(bytes, path);
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(bytes.toString("utf8")) ?? [];
  if (width === undefined) throw new Error(`${basename(path)} has no viewBox that begins with 0 0.`);
  return { width, height };
}

function sizeOfWebp(bytes, path) {
  const kind = bytes.toString("latin1", 12, 16);
  if (kind === "VP8X") return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (kind === "VP8 ") return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  throw new Error(`${basename(path)} is a kind of WebP whose size is not read here.`);
}

export { escapeHtml };
