// The demo as its visitor: the sample conversation, the headline question, facts, the storage panel, a second visit, and
// markup in messages that must stay text. With SCREENSHOTS=dir it leaves pictures there.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";
import { bundleDemo } from "../../scripts/www.mjs";
import { launchBrowser } from "./browser.mjs";

let browser;
let context;
let page;
let server;
let folder;
const foreign = [];
const errors = [];

const ready = () => page.waitForSelector('#status[data-kind="ready"]');
const figure = (name) => page.textContent(`[data-figure="${name}"] dd`);

async function ask(question) {
  await page.fill("#question", question);
  await page.click("#ask");
  await page.waitForFunction((asked) => document.querySelector(".context-question")?.textContent === asked, question);
}

async function prompt() {
  await page.evaluate(() => (document.querySelector(".prompt").open = true));
  await page.waitForSelector("#prompt-text");
  return page.textContent("#prompt-text");
}

async function picture(name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) });
}

before(async () => {
  await bundleDemo();
  folder = mkdtempSync(join(tmpdir(), "throughline-demo-"));
  server = await serve({ port: 0 });
  browser = await launchBrowser();
  context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light" });
  page = await context.newPage();
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) foreign.push(request.url());
  });
  await page.goto(server.url);
  await ready();
});

after(async () => {
  await browser?.close();
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("one click brings the sample in, and its first question finds the answer given at its start", async () => {
  await picture("demo-empty");
  await page.click("#try-sample");
  await page.waitForSelector(".chip");
  await page.click("#nav-privacy");
  await page.waitForFunction(() => {
    const vectors = Number(document.querySelector('[data-figure="vectors"] dd')?.textContent?.replaceAll(/\D/g, "") ?? 0);
    return vectors > 300 && document.querySelector("#status").dataset.kind === "ready";
  });
  await page.click("#nav-chat");
  await page.locator(".chip").first().click();
  await page.waitForSelector('.evidence[data-found="true"], .evidence[data-found="yes"], .evidence.found');
  assert.match(await prompt(), /4817/);
  await page.evaluate(() => (document.querySelector(".prompt").open = false));
  await picture("demo-light");
  const total = Number(await page.getAttribute("#context-total", "data-tokens"));
  assert.ok(total > 500 && total <= 7_000, `${total} tokens`);
  const sections = await page.locator(".segment").evaluateAll((segments) => segments.map(({ dataset }) => dataset.section));
  assert.ok(sections.includes("retrieved") && sections.includes("recent") && sections.includes("question"), sections.join());
});

test("an item of the context shows its message and why it is there", async () => {
  await page.locator('.section[data-section="retrieved"] .item').first().click();
  await page.waitForTimeout(200);
  const text = await page.locator('.section[data-section="retrieved"]').textContent();
  assert.match(text, /4817/);
  await picture("demo-item");
});

test("a fact that was written down is in the next context, and is gone when it is forgotten", async () => {
  await page.click("#nav-memory");
  await page.fill("#fact-text", "Likes answers with the code first");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".fact");
  await picture("demo-facts");
  await ask("How do I like my answers?");
  assert.match(await prompt(), /Likes answers with the code first/);
  await page.click("#nav-memory");
  await page.locator(".fact button", { hasText: /forget/i }).first().click();
  const confirm = page.locator("#confirm-yes");
  if (await confirm.isVisible().catch(() => false)) await confirm.click();
  await page.waitForFunction(() => document.querySelectorAll(".fact").length === 0);
  await ask("How do I like my answers, again?");
  assert.doesNotMatch(await prompt(), /Likes answers with the code first/);
});

test("the second visit finds everything as it was, to the byte", async () => {
  await ask("Which port did we pick for staging?");
  const first = await prompt();
  await page.reload();
  await ready();
  await page.waitForSelector(".message");
  await ask("Which port did we pick for staging?");
  assert.equal(await prompt(), first);
});

test("what another chat holds opens at the message, from the context of a question asked elsewhere", async () => {
  const sample = await page.textContent("#chat-title");
  await page.click("#new-conversation");
  await page.waitForFunction(() => document.querySelectorAll(".message").length === 0);
  await ask("Which port did we pick for staging?");
  await page.locator(".context").getByRole("button", { name: "Open that conversation" }).first().click();
  await page.waitForSelector(".message.pointed-at", { timeout: 8_000 });
  // It is drawn anew when the chat's folds have been read.
  await page.waitForFunction(() => {
    const message = document.querySelector(".message.pointed-at");
    const { bottom, top } = message.getBoundingClientRect();
    return message.textContent.includes("4817") && document.activeElement === message && top >= 0 && bottom <= globalThis.innerHeight;
  }, undefined, { timeout: 8_000 });
  assert.equal(await page.textContent("#chat-title"), sample);
});

test("markup in an imported file stays text and calls nobody", async () => {
  const payloads = ['<img src=x onerror="window.pwned=1">', "[x](javascript:window.pwned=1)", "![](https://evil.example/?q=1)", "<svg onload=window.pwned=1>"];
  const file = join(folder, "evil.json");
  writeFileSync(file, JSON.stringify({ title: "Evil", messages: payloads.map((content, index) => ({ id: `e${index}`, role: index % 2 ? "assistant" : "user", content })) }));
  await page.setInputFiles("#import-file", file);
  await page.waitForFunction((text) => document.querySelector(".message")?.textContent?.includes(text), "onerror");
  assert.equal(await page.locator("#import-report").count(), 0, "one whole conversation is opened, without a report");
  await ask("What did the picture say?");
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  assert.equal(await page.locator(".message img, .message svg[onload]").count(), 0);
});

test("an export of another app comes in by one drop, with a report, and once only", async () => {
  const chat = (index, extra = {}) => {
    const node = (id, parent, role, text) => ({ id, parent, children: [], message: { id, author: { role }, create_time: 1.7e9 + index * 3600, content: { content_type: "text", parts: [text] } } });
    const nodes = [{ id: "root", parent: null, children: [], message: null }, node("q", "root", "user", `Which bread number ${index}?`), node("a", "q", "assistant", `Rye with ${index} seeds.`)];
    return { conversation_id: `bread-${index}`, title: `Bread ${index}`, create_time: 1.7e9 + index, update_time: 1.7e9 + index, current_node: "a", mapping: Object.fromEntries(nodes.map((each) => [each.id, each])), ...extra };
  };
  const file = JSON.stringify([...Array.from({ length: 12 }, (_, index) => chat(index)), chat(90, { mapping: 7 })]);
  const drop = (text) => page.evaluate((dropped) => {
    const dataTransfer = new globalThis.DataTransfer();
    dataTransfer.items.add(new File([dropped], "anything.bin"));
    document.dispatchEvent(new globalThis.DragEvent("dragover", { dataTransfer, cancelable: true }));
    document.dispatchEvent(new globalThis.DragEvent("drop", { dataTransfer, cancelable: true }));
  }, text);
  await drop(file);
  await page.waitForSelector("#import-report");
  const told = await page.textContent("#import-report");
  assert.match(told, /From ChatGPT: 12 new chats/);
  assert.match(told, /1 left out/);
  await picture("demo-import");
  await page.click("#import-done");
  await drop(file);
  await page.waitForSelector("#import-report");
  assert.match(await page.textContent("#import-report"), /nothing new/);
  await page.click("#import-done");
  await ask("Which bread number 7?");
  assert.match(await prompt(), /Rye with 7 seeds/);
  assert.ok(page.workers().length === 0 && (await page.evaluate(() => performance.getEntriesByType("resource").some(({ name }) => name.endsWith("import-worker.js")))), "it was read in a worker");
});

test("a message said in another way is a version beside the first, and one that is deleted is gone", async () => {
  await page.locator(".conversation-open", { hasText: "Bread 3" }).click();
  await page.waitForFunction(() => document.querySelector(".message")?.textContent?.includes("bread number 3"));
  await page.locator(".message").first().hover();
  await page.locator(".message").first().locator('[data-action="edit"]').click();
  await page.fill(".message-editor textarea", "Which cake number 3?");
  await page.locator(".message-editor button[type=submit]").click();
  await page.waitForFunction(() => document.querySelectorAll(".message").length === 1 && document.querySelector(".message").textContent.includes("cake"));
  assert.match(await page.textContent(".versions"), /2 of 2/);
  await picture("demo-version");
  await page.getByLabel("Version before").click();
  await page.waitForFunction(() => document.querySelectorAll(".message").length === 2);
  assert.match(await page.textContent(".versions"), /1 of 2/);
  await page.locator(".message").nth(1).hover();
  await page.locator(".message").nth(1).locator('[data-action="delete"]').click();
  await page.click("#confirm-yes");
  await page.waitForFunction(() => document.querySelectorAll(".message").length === 1);
  assert.doesNotMatch(await page.textContent("#transcript"), /Rye with 3/);
});

test("in the dark and on a phone it fits", async () => {
  await page.emulateMedia({ colorScheme: "dark" });
  await picture("demo-dark");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForTimeout(200);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > globalThis.innerWidth);
  assert.equal(wide, false, "the page scrolls sideways");
  await picture("demo-phone");
  await page.setViewportSize({ width: 1440, height: 900 });
});

test("wiping leaves nothing", async () => {
  await page.click("#nav-privacy");
  await picture("demo-storage");
  await page.click("#wipe");
  await page.click("#confirm-yes");
  await page.waitForFunction(() => document.querySelector('[data-figure="messages"] dd')?.textContent?.trim() === "0");
  assert.equal((await figure("vectors")).trim(), "0");
});

test("nobody else was called, and nothing threw", () => {
  assert.deepEqual(foreign, []);
  assert.deepEqual(errors, []);
});
