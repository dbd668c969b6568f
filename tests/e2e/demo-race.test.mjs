// The demo's x-ray of a prompt.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";
import { bundleDemo } from "../../scripts/www.mjs";
import { launchBrowser } from "./browser.mjs";

let browser;
let page;
let server;
const foreign = [];
const errors = [];

before(async () => {
  await bundleDemo();
  server = await serve({ port: 0 });
  browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, permissions: ["clipboard-read", "clipboard-write"] });
  page = await context.newPage();
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) foreign.push(request.url());
  });
});

after(async () => {
  await browser?.close();
  await server?.close();
});

test("the x-ray: each piece of the prompt has its text, scores, rule and source, by arrow keys as well", async () => {
  await page.goto(`${server.url}/`);
  await page.waitForSelector('#status[data-kind="ready"]');
  await page.click("#try-sample");
  await page.waitForSelector(".chip");
  await page.waitForSelector('#status[data-kind="ready"]', { timeout: 60_000 });
  await page.locator(".chip").first().click();
  await page.waitForSelector(".segment.hit");
  const total = Number(await page.getAttribute("#context-total", "data-tokens"));
  const widths = await page.locator(".bar .segment").evaluateAll((parts) => parts.reduce((sum, part) => sum + Number(part.style.flexGrow), 0));
  assert.ok(Math.abs(widths - total) < 1, `the pieces are the prompt: ${widths} of ${total}`);
  const stable = Number(await page.locator(".stable-part").evaluate((part) => part.style.getPropertyValue("--share")));
  assert.ok(stable > 0.3 && stable < 1, `${stable}`);
  await page.locator(".bar .segment").first().focus();
  const seen = new Set();
  const count = await page.locator(".bar button.segment").count();
  for (let step = 0; step < count; step += 1) {
    if (step > 0) await page.keyboard.press("ArrowRight");
    seen.add(await page.evaluate(() => document.activeElement.dataset.section));
  }
  assert.deepEqual([...seen], ["system", "recent", "retrieved", "question"]);
  assert.match(await page.textContent("#chosen-piece"), /Which port did we pick for staging/);
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.section), "retrieved");
  await page.locator(".segment.hit").first().click();
  await page.waitForFunction(() => document.querySelector("#chosen-piece .quote"));
  const chosen = await page.textContent("#chosen-piece");
  assert.match(chosen, /4817/);
  assert.match(chosen, /Rule: hit/);
  assert.match(chosen, /Meaning|Words/);
  assert.match(chosen, /Show in the conversation/);
  assert.ok((await page.locator('.left-out[data-reason="outside_window"]').count()) === 1, "what was left out is said");
});

test("the x-ray: what came, went and stayed since the question before", async () => {
  await page.locator(".chip").nth(1).click();
  await page.waitForSelector(".change[data-came]");
  const { came, stayed, went } = await page.locator(".change").evaluate(({ dataset }) => ({ ...dataset }));
  assert.ok(Number(came) > 0 && Number(went) > 0 && Number(stayed) > 5, JSON.stringify({ came, went, stayed }));
  assert.match(await page.textContent(".change"), /To the byte the same: the system text and the first \d+ of \d+ messages/);
});

test("the x-ray: the prompt is copied in each provider's format", async () => {
  await page.evaluate(() => (document.querySelector(".prompt").open = true));
  const shapes = {
    "openai": ({ messages }) => messages[0].role === "system",
    "openai-responses": ({ input, instructions }) => Array.isArray(input) && instructions.length > 20,
    "anthropic": ({ messages, system }) => system.some(({ cache_control: mark }) => mark) || messages.some(({ content }) => content.some?.((block) => block.cache_control)),
    "gemini": ({ contents, systemInstruction }) => contents.at(-1).parts.length > 0 && systemInstruction.parts.length === 1,
    "ai-sdk": ({ messages, system }) => messages.length > 3 && system.length > 20,
    "langchain": ({ messages }) => messages.length > 3,
  };
  for (const [format, isRight] of Object.entries(shapes)) {
    await page.selectOption("#prompt-format", format);
    await page.waitForSelector("#prompt-text");
    await page.click("#copy-prompt");
    await page.waitForFunction(() => document.querySelector(".prompt-actions [role=status]").textContent === "Copied");
    const copied = await page.evaluate(() => globalThis.navigator.clipboard.readText());
    assert.equal(copied, await page.textContent("#prompt-text"));
    assert.ok(isRight(JSON.parse(copied)), `${format}: ${copied.slice(0, 300)}`);
    assert.match(copied, /What does error PR-4132 mean/);
  }
});

test("nobody else was called, and nothing threw", () => {
  assert.deepEqual(foreign, []);
  assert.deepEqual(errors, []);
});
