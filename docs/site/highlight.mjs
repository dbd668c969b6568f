// Colours for code: comments, strings, words of the language, numbers. As much as helps reading, as little as can be.

const WORDS = "as async await break case catch class const continue default delete do else export extends false finally for from function if implements import in instanceof interface keyof let new null of readonly return satisfies static switch this throw true try type typeof undefined unknown void while yield";
const SCRIPT = new RegExp(
  [
    String.raw`(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)`,
    String.raw`(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|` + "`(?:[^`\\\\]|\\\\.)*`)",
    String.raw`(?<word>\b(?:${WORDS.replaceAll(" ", "|")})\b(?!\s*:))`,
    String.raw`(?<number>\b\d[\d_]*(?:\.\d+)?\b)`,
  ].join("|"),
  "g",
);
const SHELL = /(?<comment>(?:^|(?<=\s))#[^\n]*)|(?<string>"[^"\n]*"|'[^'\n]*')/gm;
const LANGUAGES = new Map([
  ...["js", "mjs", "jsx", "ts", "tsx", "json", "javascript", "typescript"].map((name) => [name, SCRIPT]),
  ...["sh", "bash", "shell", "yaml", "yml"].map((name) => [name, SHELL]),
]);

/** Text as HTML. */
export function escapeHtml(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** A block of code as HTML, with spans of the classes `comment`, `string`, `word`, `number` where the language is known. */
export function highlight(code, language) {
  const pattern = LANGUAGES.get(language);
  if (pattern === undefined) return escapeHtml(code);
  let html = "";
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const [kind] = Object.entries(match.groups).find(([, text]) => text !== undefined);
    html += `${escapeHtml(code.slice(end, match.index))}<span class="${kind}">${escapeHtml(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtml(code.slice(end));
}
