// The demo as its visitor: the sample conversation, the headline question, facts, the storage panel, a second visit, and
// markup in messages that must stay text. With SCREENSHOTS=dir it leaves the pictures of the README there.
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
  await page.waitForFunction(() => {
    const vectors = Number(document.querySelector('[data-figure="vectors"] dd')?.textContent?.replaceAll(/\D/g, "") ?? 0);
    return vectors > 300 && document.querySelector("#status").dataset.kind === "ready";
  });
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
  await page.click("#tab-facts");
  await page.fill("#fact-text", "Likes answers with the code first");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".fact");
  await picture("demo-facts");
  await ask("How do I like my answers?");
  assert.match(await prompt(), /Likes answers with the code first/);
  await page.click("#tab-facts");
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

test("markup in an imported file stays text and calls nobody", async () => {
  const payloads = ['<img src=x onerror="window.pwned=1">', "[x](javascript:window.pwned=1)", "![](https://evil.example/?q=1)", "<svg onload=window.pwned=1>"];
  const file = join(folder, "evil.json");
  writeFileSync(file, JSON.stringify({ title: "Evil", messages: payloads.map((content, index) => ({ id: `e${index}`, role: index % 2 ? "assistant" : "user", content })) }));
  await page.setInputFiles("#import-file", file);
  await page.waitForFunction((text) => document.querySelector(".message")?.textContent?.includes(text), "onerror");
  await ask("What did the picture say?");
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  assert.equal(await page.locator(".message img, .message svg[onload]").count(), 0);
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
  await page.click("#tab-storage");
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
