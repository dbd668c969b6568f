// The demo's figures: the race by a count and a price of our own, the x-ray of a prompt, and the benchmark that leaves nothing.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { serve } from "../../scripts/serve.mjs";
import { bundleDemo } from "../../scripts/www.mjs";
import { launchBrowser } from "./browser.mjs";
import { turnOnModel } from "./model-server.mjs";
import { startModel } from "./scripted-server.mjs";

let browser;
let page;
let server;
const foreign = [];
const errors = [];
const sample = JSON.parse(readFileSync(new URL("../../www/sample/conversation.json", import.meta.url), "utf8"));

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

/** What is sent, counted here: system text, messages so far, question, four tokens around each. */
function turnsOfSample() {
  const turns = [];
  for (const message of sample.messages) {
    const text = `${message.content ?? ""}${(message.tool_calls ?? []).map(({ function: { name, arguments: given } }) => name + given).join("")}`;
    const tokens = encode(text, { allowedSpecial: "all" }).length + 4;
    if (message.role === "user") turns.push({ question: tokens, rest: 0 });
    else turns.at(-1).rest += tokens;
  }
  return turns;
}

const card = (lane) => page.locator(`#race-cards [data-lane="${lane}"]`).evaluate(({ dataset }) => ({
  tokens: Number(dataset.tokens), soFar: Number(dataset.soFar), hasAnswer: dataset.answer === "true",
}));
const drawn = () => page.evaluate(() => new Promise((done) => globalThis.requestAnimationFrame(() => globalThis.requestAnimationFrame(done))));
async function goToTurn(turn) {
  await page.locator("#race-turn").evaluate((slider, value) => {
    slider.value = String(value);
    slider.dispatchEvent(new globalThis.Event("input"));
  }, turn);
  await drawn();
}
const verdicts = () => page.locator(".window-lane").evaluateAll((lanes) => Object.fromEntries(
  lanes.map((lane) => [`${lane.closest("[data-window]").dataset.window} ${lane.dataset.lane}`, lane.dataset.good === "true"])));

test("the race: the engine has the answer after every turn, in less, and every figure is the one counted here", async () => {
  await page.goto(`${server.url}/#view=race`);
  await page.waitForFunction(() => document.querySelectorAll('.window-lane[data-lane="engine"]').length === 3, undefined, { timeout: 90_000 });
  await drawn();
  const turns = turnsOfSample();
  const [replay, cached, engine] = await Promise.all(["replay", "cached", "engine"].map(card));
  assert.equal(cached.tokens, replay.tokens);
  assert.ok(replay.tokens > 10_000, `${replay.tokens}`);
  assert.ok(engine.tokens <= 3_000 && engine.hasAnswer, JSON.stringify(engine));
  assert.deepEqual(await verdicts(), {
    "4000 replay": false, "4000 engine": true, "10000 replay": false, "10000 engine": true, "128000 replay": true, "128000 engine": true,
  });
  // Full replay: all that was said, once more with every turn.
  const difference = (await (goToTurn(100), card("replay"))).tokens;
  await goToTurn(100);
  assert.ok(difference > 0);
  const [first, second] = [(await card("replay")).tokens, (await (await goToTurn(101), card("replay"))).tokens];
  assert.equal(second - first, turns[100].question + turns[100].rest);
  let [sent, sum] = [0, 0];
  const system = first - turns.slice(0, 100).reduce((total, turn) => total + turn.question + turn.rest, 0);
  const asked = encode("Who still has a Windows Phone, and what did we decide about it?").length + 4;
  let [cachedSum, kept] = [0, 0];
  for (const { question, rest } of turns.slice(0, 101)) {
    const request = system - asked + sent + question;
    sum += request * 3 + rest * 15;
    // Anthropic keeps what is marked from 1,024 tokens on: the request before is read, the rest of this one is written.
    cachedSum += (request < 1_024 ? request * 3 : kept * 0.3 + (request - kept) * 3.75) + rest * 15;
    kept = request < 1_024 ? 0 : request;
    sent += question + rest;
  }
  assert.ok(Math.abs((await card("replay")).soFar - sum / 1e6) < 1e-9, `${(await card("replay")).soFar} ${sum / 1e6}`);
  assert.ok(Math.abs((await card("cached")).soFar - cachedSum / 1e6) < 1e-9, `${(await card("cached")).soFar} ${cachedSum / 1e6}`);
  assert.ok(cachedSum < sum / 2, "the cached replay is honest");
  const missing = [];
  for (let turn = 12; turn <= turns.length; turn += 9) {
    await goToTurn(turn);
    if (!(await card("engine")).hasAnswer) missing.push(turn);
  }
  assert.deepEqual(missing, []);
});

test("prices, rules and windows can be changed, and the figures follow", async () => {
  await goToTurn(200);
  await page.evaluate(() => (document.querySelector(".race-settings").open = true));
  await page.fill("#race-price-output", "0");
  await drawn();
  const before = await card("replay");
  await page.fill("#race-price-input", "6");
  await drawn();
  assert.ok(Math.abs((await card("replay")).soFar - 2 * before.soFar) < 1e-9);
  await page.selectOption("#race-rule", "no cache");
  await drawn();
  assert.ok(Math.abs((await card("replay")).soFar - (await card("cached")).soFar) < 1e-9, "without a cache both replays cost the same");
  const small = await card("engine");
  await page.selectOption("#race-window", "10000");
  await drawn();
  const large = await card("engine");
  assert.ok(large.tokens > small.tokens && large.tokens <= 9_000, `${small.tokens} ${large.tokens}`);
  for (const metric of ["request", "sum", "tokens"]) {
    await page.click(`[data-metric="${metric}"]`);
    await drawn();
    assert.equal(await page.locator(".chart-line").count(), 3);
  }
  const picture = await page.locator(".chart-picture").boundingBox();
  await page.mouse.click(picture.x + picture.width - 4, picture.y + 50);
  await drawn();
  assert.match(await page.textContent(".race-turn-words"), /^269 of 269$/);
});

test("with a model the time to the first word is measured, with the prompts themselves", async () => {
  const model = await startModel();
  // Two milliseconds a message before its first word.
  model.script = (say, response) => setTimeout(() => {
    say("OK");
    response.end("data: [DONE]\n\n");
  }, model.asked.at(-1).messages.length * 2);
  const own = page;
  try {
    page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage();
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(server.url);
    await turnOnModel(page, model.url, "scripted");
    await page.click("#nav-race");
    await page.waitForSelector(".race-progress[hidden]", { state: "attached", timeout: 60_000 });
    await drawn();
    assert.match(await page.textContent("#race-cards"), /estimated/);
    model.asked.length = 0;
    await page.click("#race-measure");
    await page.waitForFunction(() => document.querySelectorAll("#race-cards [data-lane]").length === 3 && !/estimated/.test(document.querySelector("#race-cards").textContent));
    assert.equal((await page.textContent("#race-cards")).match(/measured/g).length, 3);
    const [engine, replay, cached] = model.asked.map(({ messages }) => messages.length);
    assert.equal(replay, sample.messages.length + 2);
    assert.equal(cached, replay);
    assert.ok(engine < 100, `${engine}`);
    assert.match(JSON.stringify(model.asked[0].messages), /has a Windows Phone he refuses/);
  } finally {
    await page.context().close();
    page = own;
    model.close();
  }
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

/** Stores of the benchmark's database that hold anything but what every empty one holds. */
const leftBehind = () => page.evaluate(async () => {
  const answered = (request) => new Promise((done, fail) => Object.assign(request, { onsuccess: () => done(request.result), onerror: () => fail(request.error) }));
  const { name } = (await globalThis.indexedDB.databases()).find((each) => each.name.includes("benchmark"));
  const database = await answered(globalThis.indexedDB.open(name));
  const stores = [...database.objectStoreNames].filter((store) => store !== "meta");
  const counts = await Promise.all(stores.map((store) => answered(database.transaction(store).objectStore(store).count())));
  database.close();
  return stores.filter((_, index) => counts[index] > 0);
});

test("the benchmark runs while the page stays alive, and leaves nothing in its database", async () => {
  await page.goto(`${server.url}/#view=benchmark`);
  await page.selectOption("#benchmark-size", "1000");
  await page.click("#benchmark-run");
  await page.waitForSelector('[data-row="open"]', { timeout: 60_000 });
  await page.waitForSelector("#benchmark-copy:not([hidden])");
  const rows = await page.locator(".benchmark-row").evaluateAll((all) => all.map(({ dataset }) => dataset.row));
  for (const row of ["tokensPerSecond", "appendOne", "appendMany", "words", "vectorsMs", "hybrid", "context", "open", "memoryBytes", "engineBytes"]) assert.ok(rows.includes(row), row);
  assert.deepEqual(await leftBehind(), []);
  await page.click("#benchmark-copy");
  const text = await page.evaluate(() => globalThis.navigator.clipboard.readText());
  assert.match(text, /Searching by words: \d/);
  assert.ok(text.includes(await page.evaluate(() => globalThis.navigator.userAgent)));
});

test("the benchmark can be stopped, and leaves nothing either", async () => {
  await page.selectOption("#benchmark-size", "10000");
  await page.click("#benchmark-run");
  await page.waitForSelector('[data-row="tokensPerSecond"]');
  await page.waitForFunction(() => /Storing/.test(document.querySelector("#benchmark-words").textContent));
  await page.click("#benchmark-stop");
  await page.waitForSelector("#benchmark-stop", { state: "hidden" });
  assert.match(await page.textContent("#benchmark-words"), /Stopped/);
  assert.deepEqual(await leftBehind(), []);
});

test("nobody else was called, and nothing threw", () => {
  assert.deepEqual(foreign, []);
  assert.deepEqual(errors, []);
});
