// The search box of every page. What searches is loaded once somebody goes to the box. And the list of pages shows where one is.

const finder = document.querySelector(".finder");
const box = finder.querySelector("input");
const panel = finder.querySelector(".found");
const status = finder.querySelector("#finder-status");
const list = finder.querySelector("#finder-hits");
const root = new URL("./", import.meta.url);
let index;
let asked = 0;

finder.hidden = false;
// Where the list scrolls by itself; on a phone it does not, and nothing moves.
const pages = document.querySelector("#pages");
pages.scrollTop = pages.querySelector("[aria-current]").offsetTop - pages.clientHeight / 2;

/** Opens the index, once; a failed try can be made again. */
function open() {
  index ??= import("./search-index.js").then(({ openIndex }) => openIndex()).catch((error) => {
    index = undefined;
    throw error;
  });
  return index;
}

async function ask() {
  const number = ++asked;
  const query = box.value.trim();
  if (query === "") return close();
  panel.hidden = false;
  list.ariaBusy = "true";
  if (list.childElementCount === 0) status.textContent = "Loading the search ...";
  try {
    const opened = await open();
    const { isWhole } = opened;
    const hits = await opened.search(query);
    if (number === asked && (isWhole || hits.length > 0)) show(hits);
    if (isWhole) return settle(number);
    // While pages are still coming in, the question is asked again when all are there, unless somebody is reading the answer.
    await opened.whole;
    const all = await opened.search(query);
    if (number === asked && !list.contains(document.activeElement)) show(all);
    settle(number);
  } catch (error) {
    if (number !== asked) return;
    list.replaceChildren();
    settle(number);
    status.textContent = error.code === "wasm_unsupported" ? "This browser cannot run the search. It needs WebAssembly." : "The search could not be loaded. Try again.";
  }
}

/** The answer to a question is final. */
function settle(number) {
  if (number === asked) list.ariaBusy = "false";
}

function show(hits) {
  list.replaceChildren(...hits.map(item));
  if (hits.length === 0) status.textContent = "Nothing found.";
  else status.textContent = `${hits.length} ${hits.length === 1 ? "section" : "sections"} found`;
}

function item({ address, page, title, excerpt }) {
  const link = document.createElement("a");
  link.href = new URL(address, root).href;
  const head = document.createElement("span");
  head.className = "hit-title";
  head.textContent = title;
  const where = document.createElement("span");
  where.className = "hit-page";
  where.textContent = page;
  const text = document.createElement("span");
  text.className = "hit-text";
  for (const { words, isFound } of excerpt) {
    const part = document.createElement(isFound ? "mark" : "span");
    part.textContent = words;
    text.append(part);
  }
  link.append(head, " ", where, text);
  const entry = document.createElement("li");
  entry.append(link);
  return entry;
}

function close() {
  panel.hidden = true;
  list.replaceChildren();
}

function move(step) {
  const stops = [box, ...list.querySelectorAll("a")];
  const at = stops.indexOf(document.activeElement);
  stops[(Math.max(at, 0) + step + stops.length) % stops.length].focus();
}

box.addEventListener("focus", () => {
  open().catch(() => undefined);
  if (box.value.trim() !== "") panel.hidden = false;
});
box.addEventListener("input", () => void ask());
finder.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Enter" && event.target === box) list.querySelector("a")?.click();
  else if (event.key === "Escape") {
    box.value = "";
    close();
    box.focus();
  } else return;
  event.preventDefault();
});
finder.addEventListener("focusout", (event) => {
  if (!finder.contains(event.relatedTarget)) panel.hidden = true;
});
list.addEventListener("click", () => {
  // A link within the page leaves the page as it is: the panel must go by itself.
  box.value = "";
  close();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLElement && (event.target.isContentEditable || /^(input|textarea|select)$/i.test(event.target.tagName));
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  box.focus();
});
