// The demo as a chat: search across all, markdown that cannot do anything, edit, regenerate, versions, stop, files, temporary
// chats, projects, keyboard. The model is a server of this test that says what it is told to.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { serve } from "../../scripts/serve.mjs";
import { ROOT } from "../../scripts/toolchain.mjs";
import { bundleDemo } from "../../scripts/www.mjs";
import { launchBrowser } from "./browser.mjs";
import { turnOnModel } from "./model-server.mjs";
import { failureOfMarkdown } from "./random-markdown.mjs";
import { startModel } from "./scripted-server.mjs";

let browser;
let context;
let page;
let server;
let model;
const errors = [];
const foreign = [];

const ready = (of = page) => of.waitForSelector('#status[data-kind="ready"]');
const bodies = () => page.locator(".message .message-body").allTextContents();
const isMessage = (nth, text) =>
  page.waitForFunction(([nth, text]) => [...document.querySelectorAll(".message")].at(nth)?.querySelector(".message-body")?.textContent.includes(text), [nth, text]);

async function ask(question) {
  await page.fill("#question", question);
  await page.keyboard.press("Enter");
}

async function answered(question, answer) {
  model.script = answer;
  const before = model.asked.length;
  await ask(question);
  while (model.asked.length === before) await pause(10);
  await page.waitForFunction(() => [...document.querySelectorAll(".message")].at(-1)?.dataset.status === "complete" && document.querySelector("#stop").hidden);
}

async function newChat() {
  await page.click("#new-conversation");
  await page.waitForFunction(() => document.querySelectorAll(".message").length === 0);
}

/** The page's memory, opened a second time, to see what is stored. */
const stored = (read) => page.evaluate(`(async () => {
  const { createMemory, indexedDbStorage } = await import("/throughline/index.js");
  const memory = await createMemory({ userId: "demo", storage: indexedDbStorage({ name: "throughline-demo" }) });
  try { return await (${read})(memory); } finally { await memory.close(); }
})()`);

before(async () => {
  await bundleDemo();
  model = await startModel();
  server = await serve({ port: 0 });
  browser = await launchBrowser();
  context = await browser.newContext({ viewport: { width: 1280, height: 800 }, permissions: ["clipboard-read", "clipboard-write"] });
  page = await context.newPage();
  page.setDefaultTimeout(8_000);
  page.on("pageerror", (error) => errors.push(String(error)));
  context.on("request", (request) => {
    if (![server.url, model.url, "data:"].some((own) => request.url().startsWith(own))) foreign.push(request.url());
  });
  await page.goto(server.url);
  await ready();
  await turnOnModel(page, model.url, "scripted");
  await page.click("#nav-chat");
});

after(async () => {
  await browser?.close();
  await server?.close();
  model?.close();
});

test("what a model writes is markdown made of elements: code to copy, lists, tables, links with their host", async () => {
  const answer = [
    "# Plan", "Use **bold**, *slant*, ~~gone~~ and `code`.", "", "1. one", "   - inner", "2. two", "", "- [x] done", "- [ ] to do", "",
    "| a | b |", "|---|--:|", "| 1 | 2 |", "", "> said", "", "```js", "const x = \"<b>\";", "```", "", "[the docs](https://docs.example/a?q=1) and https://plain.example/", "", "---",
  ].join("\n");
  await answered("How is it done?", answer);
  const body = page.locator(".message").last().locator(".message-body");
  for (const [selector, text] of [["h3", "Plan"], ["strong", "bold"], ["em", "slant"], ["del", "gone"], ["p code", "code"], ["ol > li > ul > li", "inner"], ["th", "a"], ["td[data-align=right]", "2"], ["blockquote", "said"], ["pre code", "const x"]]) {
    assert.match(await body.locator(selector).first().textContent(), new RegExp(text), selector);
  }
  assert.deepEqual(await body.locator("input[type=checkbox]").evaluateAll((all) => all.map(({ checked, disabled }) => [checked, disabled])), [[true, true], [false, true]]);
  const links = await body.locator("a").evaluateAll((all) => all.map(({ href, rel, target }) => [href, rel, target]));
  assert.deepEqual(links, [["https://docs.example/a?q=1", "noopener noreferrer nofollow", "_blank"], ["https://plain.example/", "noopener noreferrer nofollow", "_blank"]]);
  assert.match(await body.textContent(), /the docs \(docs\.example\)/, "the host of a link whose words are others");
  await body.getByLabel("Copy code").click();
  await body.getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => globalThis.navigator.clipboard.readText()), 'const x = "<b>";');
});

test("markdown loads nothing, runs nothing and leads nowhere it may not", async () => {
  const answer = [
    "![pixel](https://evil.example/p.png?q=secret)", "<img src=x onerror=\"window.pwned=1\">", "<script>window.pwned=1</script>",
    "[a](javascript:window.pwned=1)", "[b](data:text/html,<script>window.pwned=1</script>)", "[c](//evil.example/)", "[d](vbscript:x)", "[e][f]", "", "[f]: javascript:window.pwned=1",
    "<a href='javascript:1' onclick='window.pwned=1'>x</a>", "<https://ok.example/>", `${"> ".repeat(14)}deep`, "[".repeat(2000),
  ].join("\n\n");
  await answered("Do your worst", answer);
  const body = page.locator(".message").last().locator(".message-body");
  assert.equal(await body.locator("img, script, iframe, svg, style, [onclick], [onerror], [src]").count(), 0);
  const links = await body.locator("a").evaluateAll((all) => all.map(({ protocol }) => protocol));
  assert.deepEqual([...new Set(links)], ["https:"]);
  assert.match(await body.textContent(), /Picture: pixel \(evil\.example\)/);
  assert.match(await body.textContent(), /<img src=x onerror/, "markup stays the characters that it is");
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  // Reading these as markdown would take seconds for each piece that arrives.
  for (const piled of [`${"> ".repeat(400)}deep`, `${"- ".repeat(400)}deep`, `${"_a_".repeat(1_500)} deep`, `${" ".repeat(80)}- deep`]) {
    await answered("And this?", `**so** ${piled.slice(0, 3)}\n${piled}`);
    await isMessage(-1, "deep");
    assert.equal(await page.locator(".message").last().locator("strong, blockquote, ul, em").count(), 0, `${piled.slice(0, 9)} is shown as it is`);
  }
});

test("whatever a model writes: every word is shown, in elements of a fixed list, with no address but a link's", async () => {
  const module = readdirSync(join(ROOT, "www/dist")).find((name) => /^markdown-view-\w+\.js$/.test(name));
  assert.equal(await page.evaluate(failureOfMarkdown, `/dist/${module}`), undefined);
});

test("an answer is said to screen readers sentence by sentence, and stopping it keeps what there is", async () => {
  let more;
  model.script = (say) => {
    more = say;
    say("First sentence. And the sec");
  };
  await ask("Tell me slowly");
  await isMessage(-1, "And the sec");
  await page.waitForFunction(() => document.querySelector("#answer-voice").textContent.includes("First sentence."));
  assert.doesNotMatch(await page.textContent("#answer-voice"), /And the sec/, "half a sentence is not said");
  assert.equal(await page.inputValue("#question"), "", "the question is in the conversation, and no longer in the box");
  more("ond. ");
  await page.waitForFunction(() => document.querySelector("#answer-voice").textContent.includes("And the second."));
  await page.click("#stop");
  await page.waitForFunction(() => [...document.querySelectorAll(".message")].at(-1).dataset.status === "aborted");
  await page.waitForFunction(() => document.activeElement.id === "question", undefined, { timeout: 5_000 });
});

test("the keyboard goes from the last message's actions to those of the ones before", async () => {
  const at = () => page.evaluate(() => [document.activeElement.closest(".message")?.dataset.seq, document.activeElement.textContent]);
  await page.locator(".message pre").first().focus();
  const tabbable = await page.locator('.message-actions button[tabindex="0"]').evaluateAll((all) => [...new Set(all.map((each) => each.closest(".message").dataset.seq))]);
  const last = await page.locator(".message").last().getAttribute("data-seq");
  assert.deepEqual(tabbable, [last], "one message's buttons are in the tab order");
  await page.locator(".message").last().locator(".message-actions button").first().focus();
  await page.keyboard.press("ArrowUp");
  assert.deepEqual(await at(), [String(Number(last) - 1), "Copy"]);
  await page.keyboard.press("ArrowDown");
  assert.deepEqual(await at(), [last, "Copy"]);
});

test("an answer is made anew, a question asked in another way, and each version stays", async () => {
  await newChat();
  await answered("What is the port?", "It is 8471.");
  model.script = "It is 8472, I think.";
  await page.locator(".message").last().hover();
  await page.locator('.message [data-action="regenerate"]').click();
  await isMessage(1, "8472");
  assert.equal((await bodies()).length, 2, "the former answer is not beside it");
  await page.waitForFunction(() => document.querySelectorAll(".versions")[0]?.textContent.includes("2 of 2"));
  const sent = model.asked.at(-1).messages.filter(({ role }) => role !== "system");
  assert.deepEqual(sent.map(({ role }) => role), ["user"], "the former answer is not sent, and the question once");
  model.script = "The host is staging.";
  await page.locator(".message").first().hover();
  await page.locator('.message [data-action="edit"]').click();
  await page.fill(".message-editor textarea", "What is the host?");
  await page.locator(".message-editor button[type=submit]").click();
  await isMessage(1, "staging");
  assert.match((await bodies())[0], /What is the host/);
  await page.getByLabel("Version before").first().click();
  await isMessage(1, "8472");
  assert.match((await bodies())[0], /What is the port/);
});

test("an answer that is stopped before its first word is no failure, and leaves everything as it was", async () => {
  model.script = (say, response) => response.flushHeaders();
  const before = model.asked.length;
  await page.locator(".message").last().hover();
  await page.locator('.message [data-action="regenerate"]').click();
  while (model.asked.length === before) await pause(10);
  await page.click("#stop");
  await page.waitForFunction(() => document.querySelector(".status-words").textContent === "Stopped");
  assert.equal(await page.getAttribute("#status", "data-kind"), "ready");
  await isMessage(1, "8472");
  await ask("Never mind");
  while (model.asked.length === before + 1) await pause(10);
  await page.click("#stop");
  await page.waitForSelector("#stop", { state: "hidden" });
  assert.equal(await page.inputValue("#question"), "Never mind");
  await page.fill("#question", "");
  assert.equal((await bodies()).length, 2);
});

test("a model that gives no answer leaves the former one in its place", async () => {
  model.script = (say, response) => response.destroy();
  const before = model.asked.length;
  await page.locator(".message").last().hover();
  await page.locator('.message [data-action="regenerate"]').click();
  while (model.asked.length === before) await pause(10);
  await page.waitForSelector("#stop", { state: "hidden" });
  assert.equal(await page.getAttribute("#status", "data-kind"), "error");
  await isMessage(1, "8472");
  assert.equal((await bodies()).length, 2);
});

test("files go with a question: the text of one, of the others name, type and size", async () => {
  model.script = "Read.";
  await page.setInputFiles("#attach-file", [
    { name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("The launch code word is tamarind.\n\nSecond paragraph.") },
    { name: "photo.jpg", mimeType: "image/jpeg", buffer: Buffer.from([0xff, 0xd8, 0xff, 0, 1, 2]) },
    { name: "big.txt", mimeType: "text/plain", buffer: Buffer.from("x".repeat(200_001)) },
  ]);
  await page.waitForSelector(".chosen-files .attachment >> nth=2");
  assert.match(await page.textContent(".chosen-files"), /photo\.jpg.*reference only.*big\.txt.*reference only/);
  await answered("What is the code word?", "Tamarind.");
  const prompt = JSON.stringify(model.asked.at(-1).messages);
  assert.match(prompt, /The launch code word is tamarind/);
  assert.match(prompt, /photo\.jpg \(image\/jpeg, 6 bytes\)\. Its content is not included/);
  const question = page.locator(".message").nth(-2);
  assert.match(await question.textContent(), /What is the code word\?.*notes\.md.*photo\.jpg/s);
  assert.doesNotMatch(await question.locator(".said").textContent(), /tamarind/, "the file's text is folded away");
  await question.locator(".attachment summary").click();
  assert.equal(await question.locator(".attachment pre").textContent(), "The launch code word is tamarind.\n\nSecond paragraph.");
  assert.equal(await page.locator(".chosen-files .attachment").count(), 0, "they went with the question");
  await answered("And the second paragraph?", "Second.");
  assert.match(JSON.stringify(model.asked.at(-1).messages), /tamarind/, "the next question finds it in the conversation");
});

test("a file that is dropped on the question box goes with the message, and stays in the draft of its chat", async () => {
  await page.evaluate(() => {
    const dataTransfer = new globalThis.DataTransfer();
    dataTransfer.items.add(new File(["Rye, salt, water."], "recipe.txt", { type: "text/plain" }));
    for (const type of ["dragover", "drop"]) document.querySelector("#question").dispatchEvent(new globalThis.DragEvent(type, { dataTransfer, cancelable: true, bubbles: true }));
  });
  await page.waitForSelector(".chosen-files .attachment");
  assert.deepEqual(await page.evaluate(() => [document.querySelector("#drop-veil").hidden, document.querySelector("#import-report")]), [true, null], "it is not imported");
  await page.fill("#question", "Half a question");
  await newChat();
  assert.deepEqual([await page.inputValue("#question"), await page.locator(".chosen-files .attachment").count()], ["", 0]);
  await page.locator(".conversation-open", { hasText: "port" }).first().click();
  await page.waitForSelector(".chosen-files .attachment");
  assert.equal(await page.inputValue("#question"), "Half a question");
  await page.getByLabel("Remove recipe.txt").click();
  await page.fill("#question", "");
  await page.locator(".message", { hasText: "notes.md" }).first().hover();
  await page.locator(".message", { hasText: "notes.md" }).first().locator('[data-action="edit"]').click();
  model.script = "It is tamarind.";
  await page.fill(".message-editor textarea", "Once more: the code word?");
  await page.locator(".message-editor button[type=submit]").click();
  await isMessage(-1, "It is tamarind");
  assert.match(JSON.stringify(model.asked.at(-1).messages.at(-1)), /Once more: the code word\?.*The launch code word is tamarind/, "a message in other words keeps its files");
});

test("the search finds messages of every chat as one types, marks the words, and opens at the message", async () => {
  await newChat();
  await answered("Where do we keep the marmalade?", "In the pantry, on the third shelf.");
  await newChat();
  await page.keyboard.press("Control+k");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  await page.keyboard.type("marmalade");
  await page.waitForFunction(() => document.querySelector("#search-results mark")?.textContent === "marmalade");
  assert.match(await page.textContent("#search-count"), /message/);
  assert.equal(await page.isVisible("#conversation-items"), false);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  // A title is among the hits as well: the message is what opens at the message.
  await page.locator(".hits-of-one .hit-open", { has: page.locator("mark") }).first().click();
  await page.waitForFunction(() => document.querySelector(".message.pointed-at mark")?.textContent === "marmalade");
  assert.match(await page.evaluate(() => document.activeElement.textContent), /marmalade/, "the keyboard is at the message");
  const id = await page.getAttribute(".conversation.current .conversation-open", "data-conversation");
  await stored(`(memory) => memory.append(${JSON.stringify(id)}, { role: "user", content: "Said in another tab" })`);
  await isMessage(-1, "Said in another tab");
  assert.equal(await page.locator(".message.pointed-at mark").count(), 1, "it stays marked when the messages are drawn anew");
  await page.focus("#search");
  await page.keyboard.press("Escape");
  assert.equal(await page.isVisible("#conversation-items"), true);
});

test("of a temporary chat nothing is searched, and it is gone once it is left", async () => {
  await page.click("#new-temporary");
  await page.waitForFunction(() => document.querySelector(".chat-about")?.textContent.startsWith("Temporary"));
  await answered("My secret fruit is the rambutan", "Noted nowhere.");
  assert.equal(await page.locator(".composer.temporary").count(), 1);
  assert.deepEqual(await stored("(memory) => memory.recall('rambutan').then((groups) => groups.filter(({ messages }) => JSON.stringify(messages).includes('rambutan')).length)"), 0);
  await page.fill("#search", "rambutan");
  await page.waitForFunction(() => document.querySelector("#search-count").textContent !== "");
  assert.doesNotMatch(await page.textContent("#search-results"), /rambutan/);
  await page.fill("#search", "");
  await page.reload();
  await ready();
  await page.waitForSelector(".message");
  assert.match(await page.textContent(".chat-about"), /Temporary/, "a reload is not leaving");
  await page.locator(".conversation-open").nth(1).click();
  await page.waitForFunction(() => !document.querySelector("#conversation-items").textContent.includes("Temporary"));
  assert.equal(await stored("(memory) => memory.conversations.list().then(({ items }) => items.filter(({ remember }) => !remember).length)"), 0);
});

test("one that another tab left behind is deleted; one that it has open is not; a kept one is searched", async () => {
  const other = await context.newPage();
  other.setDefaultTimeout(8_000);
  await other.goto(server.url);
  await ready(other);
  await other.click("#new-temporary");
  await other.waitForFunction(() => document.querySelector(".chat-about")?.textContent.startsWith("Temporary"));
  await other.fill("#question", "The passing word is sapodilla");
  await other.click(await other.isVisible("#add-message") ? "#add-message" : "#ask");
  await other.waitForSelector(".message");
  await page.reload();
  await ready();
  await page.locator(".conversation-open").nth(1).click();
  const passing = "(memory) => memory.conversations.list().then(({ items }) => items.filter(({ remember }) => !remember).length)";
  assert.equal(await stored(passing), 1, "it is open in the other tab");
  await other.click("#keep-chat");
  await other.waitForFunction(() => !document.querySelector(".chat-about").textContent.startsWith("Temporary"));
  await other.click("#new-temporary");
  await other.waitForFunction(() => document.querySelector(".chat-about").textContent.startsWith("Temporary"));
  await other.close();
  await page.reload();
  await ready();
  await page.waitForFunction(() => document.querySelectorAll(".conversation-open").length > 0 && !document.querySelector("#conversation-items").textContent.includes("Temporary"));
  assert.equal(await stored(passing), 0);
  await page.fill("#search", "sapodilla");
  await page.waitForFunction(() => document.querySelector("#search-results mark")?.textContent === "sapodilla");
  await page.fill("#search", "");
});

test("a chat is put into a project, and the list shows that project alone", async () => {
  await page.locator(".conversation-open", { hasText: "marmalade" }).click();
  await page.waitForFunction(() => document.querySelector(".chat-title")?.textContent.includes("marmalade"));
  await page.selectOption("#chat-project", { label: "New project" });
  await page.fill("#asked-text", "Kitchen");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#chat-project").value === "Kitchen");
  await page.selectOption("#project-filter", "Kitchen");
  await page.waitForFunction(() => document.querySelectorAll(".conversation").length === 1);
  await page.waitForFunction(() => document.querySelector(".project-summary").textContent.includes("What this project came to"));
  await page.click("#new-conversation");
  await page.waitForFunction(() => document.querySelectorAll(".conversation").length === 2);
  assert.equal(await page.inputValue("#chat-project"), "Kitchen", "a new chat is in the project that is shown");
  await page.selectOption("#project-filter", "");
  await page.waitForFunction(() => document.querySelectorAll(".conversation").length > 2);
});

test("a chat is renamed and deleted after a question", async () => {
  await page.click("#rename");
  await page.fill("#title-input", "Larder");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".chat-title")?.textContent === "Larder");
  const before = await page.locator(".conversation").count();
  await page.click("#delete-conversation");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".conversation").count(), before);
  await page.click("#delete-conversation");
  await page.click("#confirm-yes");
  await page.waitForFunction((before) => document.querySelectorAll(".conversation").length === before - 1, before);
  assert.doesNotMatch(await page.textContent("#conversation-items"), /Larder/);
});

test("views are reached by the switch, the address and the back button, and on a phone the list is a drawer", async () => {
  await page.click("#nav-privacy");
  await page.waitForSelector("#view-privacy h2");
  assert.match(page.url(), /view=privacy/);
  await page.goBack();
  assert.equal(await page.isVisible("#question"), true);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal(await page.isVisible("#conversations"), false);
  await page.click("#drawer-open");
  assert.equal(await page.isVisible("#new-conversation"), true);
  await page.keyboard.press("Escape");
  assert.deepEqual(await page.evaluate(() => [document.querySelector("#conversations").checkVisibility(), document.activeElement.id]), [false, "drawer-open"]);
  for (const view of ["chat", "context", "memory", "import", "privacy", "models"]) {
    await page.click(`#nav-${view}`);
    const wide = await page.evaluate(() => {
      const spills = (node) => node.getBoundingClientRect().right > globalThis.innerWidth + 1 && node.closest("#views, .chips") === null;
      return document.documentElement.scrollWidth > globalThis.innerWidth ? [...document.querySelectorAll("body *")].filter(spills).map(({ className, id, tagName }) => `${tagName}#${id}.${className}`) : [];
    });
    assert.deepEqual(wide, [], `${view} scrolls sideways`);
  }
});

test("nobody else was called, and nothing threw", () => {
  assert.deepEqual(foreign, []);
  assert.deepEqual(errors, []);
});
