// What the search knows: every page cut at its headings, as plain text.

const HEADING = /<h([123]) id="([^"]+)">([\s\S]*?)<\/h\1>/g;
const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

/** The text of a piece of HTML, as a person reads it. */
export function textOf(html) {
  return html
    .replaceAll(/<(?:\/?(?:p|li|tr|pre|h\d|table|ul|ol|dl|dt|dd|div|blockquote)|br)\b[^>]*>/g, "\n")
    .replaceAll(/<\/t[dh]>/g, "  ")
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity])
    .replaceAll(/[ \t]*\n\s*/g, "\n")
    .trim();
}

/**
 * @param {{ file: string, title: string, html: string }} page
 * @returns {{ id: string, title: string, text: string }[]} `id`: the anchor, empty for what stands before the first one.
 */
export function sectionsOf({ title, html }) {
  const headings = [...html.matchAll(HEADING)];
  const sections = headings.map((match, index) => ({
    id: match[2],
    title: textOf(match[3].replace(/ <span class="kind">.*?<\/span>/, "")),
    text: textOf(html.slice(match.index + match[0].length, headings[index + 1]?.index)),
  }));
  const before = textOf(html.slice(0, headings[0]?.index));
  if (before !== "") sections.unshift({ id: "", title, text: before });
  // A heading that only others stand under says nothing by itself.
  return sections.filter(({ text }) => text !== "");
}
