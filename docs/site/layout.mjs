// The frame of every page. Plain HTML: without scripts all can be read; with them there is a search.

import { GROUP_NAMES } from "./navigation.mjs";
import { escapeHtml } from "./highlight.mjs";
import { relativeTo } from "./markdown.mjs";

/** Nothing comes from elsewhere, nothing goes elsewhere; the search needs WebAssembly. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/** Longest list of headings beside a page. */
const MOST_HEADINGS = 60;

/**
 * A page as it is served.
 *
 * @param {{ file: string, title: string, html: string, headings: { level: number, id: string, text: string }[] }} page
 * @param {{ file: string, label: string, group: string, isInner?: boolean }[]} pages All of them, for the navigation; inner ones are
 * shown within the reference alone.
 */
export function layout(page, pages) {
  const to = (file) => relativeTo(page.file, file);
  const title = page.file === "index.html" ? "Throughline: a memory engine for AI chat that lives in the page" : `${page.title} - Throughline`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${CONTENT_SECURITY_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${to("icon.svg")}" type="image/svg+xml">
<link rel="stylesheet" href="${to("site.css")}">
<script type="module" src="${to("search.js")}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="masthead">
<a class="wordmark" href="${to("index.html")}"><span class="wordmark-line" aria-hidden="true"></span>Throughline</a>
<search class="finder" hidden>
<label class="visually-hidden" for="finder">Search the documentation</label>
<input id="finder" type="search" placeholder="Search" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="finder-keys" aria-controls="finder-hits">
<kbd aria-hidden="true">/</kbd>
<p id="finder-keys" class="visually-hidden">Type to search, go through what is found with the arrow keys, leave with Escape.</p>
<div class="found" hidden><p id="finder-status" role="status"></p><ol id="finder-hits"></ol></div>
</search>
<a class="to-pages" href="#pages">Pages</a>
</header>
<div class="columns">
<nav id="pages" class="pages" aria-label="Pages" tabindex="-1">
${navigation(page, pages, to)}
</nav>
<main id="content" tabindex="-1">
${page.html}
</main>
${contents(page)}
</div>
</body>
</html>
`;
}

function navigation(page, pages, to) {
  return GROUP_NAMES.map((group) => {
    const isShown = (each) => each.group === group && (!each.isInner || page.file.startsWith("api/"));
    const links = pages.filter(isShown).map(({ file, label }) =>
      `<li><a href="${to(file)}"${file === page.file ? ' aria-current="page"' : ""}>${escapeHtml(label)}</a></li>`);
    return links.length === 0 ? "" : `<h2>${group}</h2>\n<ul>\n${links.join("\n")}\n</ul>`;
  }).join("\n");
}

function contents({ headings }) {
  const inner = headings.filter(({ level }) => level === 2 || level === 3);
  const shown = inner.length <= MOST_HEADINGS ? inner : inner.filter(({ level }) => level === 2);
  if (shown.length < 2) return "";
  const links = shown.map(({ level, id, text }) => `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return `<nav class="contents" aria-label="On this page">\n<h2>On this page</h2>\n<ul>\n${links.join("\n")}\n</ul>\n</nav>`;
}
