/**
 * Shows a thousand random texts as markdown, whole and growing piece by piece, and answers with the first that loses a word,
 * makes an element that is not on the list, links to what no link may, or comes out otherwise when it grows. Runs in the page.
 */
export async function failureOfMarkdown(address) {
  const { renderMarkdown } = await import(address);
  const marks = ["*", "**", "_", "~~", "`", "```\n", "\n", "\n\n", "# ", "> ", "- ", "1. ", "- [x] ", "| ", "|---|\n", "[", "](", ")", "![", "<", ">", "</", "<script>", "<!--", "-->", "&", "\\", "    ", "\t", ":", "http://", "javascript:", "\u202e", "---\n", "\n\n[r]: ", "\n\n", "\"", "'"];
  const allowed = new Set("P H3 H4 H5 H6 UL OL LI INPUT BLOCKQUOTE DIV SPAN BUTTON PRE CODE TABLE THEAD TBODY TR TH TD HR BR STRONG EM DEL A".split(" "));
  let state = 7;
  const random = (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  for (let round = 0; round < 1_000; round += 1) {
    const words = [];
    let text = "";
    for (let piece = random(24); piece >= 0; piece -= 1) {
      // Words of letters alone, apart from what would make an address of them: those stand in the link, not in the text.
      if (random(2) === 0) text += marks[random(marks.length)];
      else text += ` ${words[words.push(`w${"abcdefghij"[random(10)]}${words.length}x`) - 1]} `;
    }
    const place = document.createElement("div");
    renderMarkdown(place, text, []);
    const shown = `${place.textContent} ${[...place.querySelectorAll("a")].map(({ href, title }) => href + title).join(" ")}`;
    const stray = [...place.querySelectorAll("*")].find((node) => !allowed.has(node.tagName) || (node.hasAttribute("href") && node.tagName !== "A") || node.hasAttribute("src"));
    const unsafe = [...place.querySelectorAll("a")].find(({ protocol }) => !["http:", "https:", "mailto:"].includes(protocol));
    const lost = words.find((word) => !shown.includes(word));
    // Written piece by piece it comes to the same.
    const growing = document.createElement("div");
    for (let end = 0; end < text.length; end += 1 + random(20)) renderMarkdown(growing, text.slice(0, end), []);
    renderMarkdown(growing, text, []);
    if (stray || unsafe || lost || growing.innerHTML !== place.innerHTML) return { text, lost, stray: stray?.outerHTML, unsafe: unsafe?.href, grown: growing.innerHTML, whole: place.innerHTML };
  }
  return undefined;
}
