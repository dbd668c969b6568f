// The demo's panels as a person uses them: models and what is wrong with them, the memory inspector, imports and backups,
// encryption, erasing, and the page without its server. With SCREENSHOTS=dir it leaves pictures there.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { policyOf } from "../../scripts/demo-policy.mjs";
import { serve } from "../../scripts/serve.mjs";
import { bundleDemo, writeServiceWorker } from "../../scripts/www.mjs";
import { eventually, launchBrowser } from "./browser.mjs";
import { startModelServer, turnOnModel } from "./model-server.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const PASSPHRASE = "four words that nobody guesses";

let browser;
let page;
let server;
let model;
let folder;
const errors = [];

const ready = (of = page) => of.waitForSelector('#status[data-kind="ready"]');
const text = (selector) => page.textContent(selector);
const shows = (selector, pattern) => page.waitForFunction(([where, source]) => new RegExp(source).test(document.querySelector(where)?.textContent ?? ""), [selector, pattern.source]);
const open = (view) => page.click(`#nav-${view}`);
const openPart = (name) => page.evaluate((part) => (document.querySelector(`#part-${part}`).open = true), name);

async function picture(name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `panels-${name}.png`) });
}

async function say(words) {
  await open("chat");
  await page.fill("#question", words);
  await page.click("#ask");
  await page.waitForFunction(() => [...document.querySelectorAll(".message")].at(-1)?.dataset.status === "complete" && document.querySelector("#stop").hidden);
}

async function typePassphrase(...words) {
  for (const [index, word] of words.entries()) await page.fill(`#passphrase-${index}`, word);
  await page.click("#passphrase-go");
}

before(async () => {
  await bundleDemo();
  folder = mkdtempSync(join(tmpdir(), "throughline-panels-"));
  server = await serve({ port: 0 });
  model = await startModelServer();
  browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
  page = await context.newPage();
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(server.url);
  await ready();
});

after(async () => {
  await browser?.close();
  await server?.close();
  await model?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("without a model it is said what works and what is off; the browser's own and WebLLM say what they lack here", async () => {
  await open("models");
  assert.match(await text("#model-state"), /No model is on.*Search by words.*Off until you turn one on.*Answers/s);
  await shows("#built-in-state", /none for pages|does not run on this device/);
  await shows("#webllm-state", /no graphics card/);
  assert.match(await text("#card-embedder"), /static-minilm-256.*huggingface\.co and cdn\.jsdelivr\.net/s);
  await page.selectOption("#server-kind", "Ollama");
  assert.ok((await text("#server-hint")).includes(`OLLAMA_ORIGINS=${server.url} ollama serve`));
  assert.equal(await page.inputValue("#model-url"), "http://localhost:11434/v1");
  await picture("models");
});

test("the test of a server says what is wrong, and what to start it with", async () => {
  const trial = async (url, name = "tiny") => {
    await page.fill("#model-url", url);
    await page.fill("#model-name", name);
    await page.click("#model-test");
    await page.waitForSelector("#model-result .step.fault, #model-result .step.well:nth-child(2)");
    return text("#model-result");
  };
  const gone = await startModelServer();
  await gone.close();
  assert.match(await trial(gone.url), /Nothing answers at 127\.0\.0\.1/);
  model.state.isOpen = false;
  assert.match(await trial(model.url), /is running, but does not allow this page \(CORS\)/);
  Object.assign(model.state, { isOpen: true, key: "right" });
  assert.match(await trial(model.url), /refuses the key \(401\).*It wants one/);
  Object.assign(model.state, { key: undefined, models: ["tiny", "large"] });
  assert.match(await trial(model.url, "smal"), /no model “smal”.*tiny, large/);
  assert.deepEqual(await page.locator("#model-names option").evaluateAll((all) => all.map(({ value }) => value)), ["tiny", "large"]);
  assert.match(await trial("http://192.168.0.1:1/v1"), /Over plain http only this device/);
  assert.match(await trial(model.url), /lets this page in.*answered: first word after/s);
  assert.equal(model.requests.at(-1).body.messages.length, 1, "nothing of the chats was in the trial");
  await picture("model-test");
});

test("a fact that the model found shows its quote, its trust and where it was said, and has a history", async () => {
  model.state.purposes.extract = ({ messages }) => {
    const at = /\[(\d+)\] user[^\n]*\n> [^\n]*I live in Oslo/.exec(messages.at(-1).content);
    return { facts: at === null ? [] : [{ fact: "Lives in Oslo", category: "identity", key: "home", confidence: 0.9, quote: "I live in Oslo", seq: Number(at[1]), kind: "statement", valid_days: null }] };
  };
  await turnOnModel(page, model.url);
  assert.match(await text("#model-state"), /On: tiny.*answers on this device/s);
  await say("I live in Oslo. Which port is free?");
  await open("memory");
  await page.waitForSelector('.fact:has-text("Lives in Oslo")');
  const fact = page.locator(".fact", { hasText: "Lives in Oslo" });
  assert.match(await fact.textContent(), /identity.*you said it.*90%.*said in a chat.*I live in Oslo/s);
  await say("As I said: I live in Oslo. Thanks!");
  await open("memory");
  const sources = fact.locator("[data-part=sources]");
  // What was said is looked through in the background, and read anew whenever the list is unfolded.
  await eventually(page, async () => {
    const details = document.querySelector(".fact [data-part=sources]");
    details.open = !details.open;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return details.open && details.querySelectorAll("li").length === 2;
  });
  assert.match(await sources.textContent(), /Message 1 of “I live in Oslo.*Message 3 of “I live in Oslo/s);
  await picture("memory-sources");
  await fact.locator('[data-action="pin"]').click();
  await page.waitForSelector(".fact .badge");
  await fact.locator('[data-action="edit"]').click();
  await page.fill('.fact input[aria-label="Fact"]', "Lives in Bergen");
  await page.keyboard.press("Enter");
  await page.waitForSelector('.fact:has-text("Lives in Bergen")');
  const edited = page.locator(".fact", { hasText: "Lives in Bergen" });
  await edited.locator("[data-part=history] summary").click();
  await page.waitForFunction(() => document.querySelectorAll(".fact [data-part=history] li").length >= 2);
  assert.match(await edited.locator("[data-part=history]").textContent(), /Remembered by the model.*Changed by you.*Lives in Oslo.*Lives in Bergen/s);
  await picture("memory");
});

test("a fact says whether the present context has it; forgetting asks first", async () => {
  await say("Where do I live?");
  await open("memory");
  await page.waitForSelector('.fact [data-used="now"]');
  assert.match(await text('.fact [data-used="now"]'), /In the present context \(\d+ tokens\), because you pinned it/);
  await page.locator('.fact [data-action="forget"]').click();
  await page.click("#confirm-yes");
  await page.waitForFunction(() => document.querySelectorAll("#facts .fact").length === 0);
});

test("what a tool suggested waits for the person's word", async () => {
  // As another tab, or a tool of it, would.
  await page.evaluate(async () => {
    const { createMemory, indexedDbStorage } = await import("/throughline/index.js");
    const memory = await createMemory({ userId: "demo", storage: indexedDbStorage({ name: "throughline-demo" }) });
    await memory.facts.add({ fact: "Prefers tea to coffee", suggested: true });
    await memory.close();
  });
  await shows("#review", /Waiting for your word: 1.*Prefers tea/s);
  await picture("review");
  await page.locator('#review [data-action="approve"]').click();
  await page.waitForSelector('#facts .fact:has-text("Prefers tea")');
  assert.equal(await page.locator("#review").isVisible(), false);
});

test("special categories are agreed to one by one, and taken back with what was remembered", async () => {
  await page.click("#agreements > summary");
  await page.check("#agree-health");
  await page.waitForFunction(() => document.querySelector("#agree-health").checked);
  await page.fill("#fact-text", "I have diabetes");
  await page.click("#fact-add");
  await page.waitForSelector('#facts .fact:has-text("diabetes")');
  await page.locator("#agree-health").click();
  await page.click("#confirm-yes");
  await page.waitForFunction(() => !document.querySelector("#facts").textContent.includes("diabetes") && !document.querySelector("#agree-health").checked);
});

test("what would be recalled is shown with its signals, and leads to the message", async () => {
  await openPart("recall");
  await page.fill("#recall-query", "which port");
  await page.click("#recall-go");
  await page.waitForSelector("#recalled .hits li");
  assert.match(await text("#recalled"), /message 1.*I live in Oslo\. Which port is free\?.*Score/s);
  assert.ok((await page.locator("#recalled meter").count()) >= 2);
  await picture("recall");
  await page.locator("#recalled .link").first().click();
  await page.waitForSelector("#message-1.pointed-at");
});

test("the summary shows what it is made of, its messages, and is made on demand; sessions and the audit are there", async () => {
  await open("import");
  await page.click("#load-sample");
  await page.waitForFunction(() => document.querySelectorAll(".message").length > 100);
  await open("memory");
  await openPart("summary");
  await page.click("#compact");
  await page.waitForSelector("#summary-tree");
  assert.match(await text("#summary"), /Version \d+, up to message \d+.*Decision 1 was taken/s);
  await page.locator("#summary-tree summary").last().click();
  await picture("summary");
  const link = page.locator("#summary-tree .link:visible").last();
  const from = await link.getAttribute("data-from");
  await link.click();
  await page.waitForSelector(`#message-${from}.pointed-at`);
  // The end of what was folded may lie further down than what is drawn around its beginning.
  const later = page.getByRole("button", { name: "Later messages" });
  for (let looks = 0; looks < 40 && (await page.locator(".transcript-mark").count()) === 0; looks++) {
    if (await later.isVisible()) await later.click();
    else await page.waitForTimeout(250);
  }
  assert.match(await text(".transcript-mark"), /^Messages \d+ to \d+ are in the summary$/);
  await open("memory");
  await openPart("episodes");
  await page.click("#end-session");
  await page.waitForSelector("#episodes .episode");
  assert.match(await text("#episodes"), /Messages 1 to \d+/);
  await openPart("audit");
  await page.click("#audit-now");
  await shows("#findings", /Looked through on/);
  await page.click(".log > summary");
  await page.waitForFunction(() => document.querySelectorAll("#fact-log li").length >= 3);
});

test("an export is searched at once while vectors fill in", async () => {
  const node = (id, parent, role, words) => ({ id, parent, children: [], message: { id, author: { role }, create_time: 1.7e9, content: { content_type: "text", parts: [words] } } });
  const chat = (index) => ({ conversation_id: `bread-${index}`, title: `Bread ${index}`, create_time: 1.7e9, update_time: 1.7e9, current_node: "a", mapping: Object.fromEntries([{ id: "root", parent: null, children: [], message: null }, node("q", "root", "user", `Which bread number ${index}?`), node("a", "q", "assistant", `Rye with ${index} seeds and ${"flour ".repeat(60)}`)].map((each) => [each.id, each])) });
  await open("import");
  await page.setInputFiles("#import-file", { name: "conversations.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(Array.from({ length: 60 }, (_, index) => chat(index)))) });
  await page.waitForSelector("#import-report");
  assert.match(await text("#import-report"), /From ChatGPT: 60 new chats/);
  await page.fill("#import-search", "bread number 41");
  await page.waitForSelector("#import-found .hits li");
  assert.match(await text("#import-found"), /place.* in \d+ ms.*number 41/s);
  await picture("import");
  await shows("#import-report .vector-progress", /by words and by meaning/);
  await page.locator("#import-found .link").first().click();
  await page.waitForFunction(() => document.querySelector(".message")?.textContent.includes("number 41"));
  assert.equal(await page.locator("#import-report").count(), 0);
});

test("an encrypted backup brings everything back after everything was erased, with a receipt of the erasure", async () => {
  await open("privacy");
  await page.click("#measure-stores");
  await page.waitForSelector(".sizes");
  assert.match(await text(".sizes"), /messages\s*\d+.*KB/is);
  await picture("privacy");
  const download = page.waitForEvent("download");
  await page.click("#export-encrypted");
  await typePassphrase("short", "short");
  await shows("#passphrase-fault", /too short/);
  await typePassphrase(PASSPHRASE, PASSPHRASE);
  const file = join(folder, "backup.throughline");
  await (await download).saveAs(file);
  assert.ok(!readFileSync(file).includes("Oslo"));
  await shows("#backup-result", /62 conversations/);
  await page.click("#wipe");
  await page.click("#confirm-yes");
  await page.waitForSelector("#receipt .remnants");
  assert.match(await text("#receipt"), /Erased on.*messages.*What may remain.*In the browser's files.*Clear-Site-Data.*In this page's memory/s);
  await picture("receipt");
  await open("import");
  await page.setInputFiles("#import-file", file);
  await typePassphrase("not this one, surely");
  await shows("#passphrase-fault", /not its passphrase/);
  await typePassphrase(PASSPHRASE);
  await shows("#import-report", /From a backup of this page: 62 new chats/);
  await page.click("#import-done");
});

test("plain chats become encrypted ones, which open with their passphrase only, and can be read again", async () => {
  const databases = () => page.evaluate(async () => {
    const found = {};
    for (const { name } of await globalThis.indexedDB.databases()) {
      const database = await new Promise((resolve) => (globalThis.indexedDB.open(name).onsuccess = ({ target }) => resolve(target.result)));
      found[name] = await new Promise((resolve) => {
        database.transaction("messages").objectStore("messages").getAll().onsuccess = ({ target }) => resolve(target.result.map((each) => JSON.stringify(each)).join("").includes("bread number 41"));
      });
      database.close();
    }
    return found;
  });
  assert.deepEqual(Object.values(await databases()), [true]);
  await open("privacy");
  // What another tab writes meanwhile would be lost.
  const tab = await page.context().newPage();
  await tab.goto(server.url);
  await ready(tab);
  await page.click("#encrypt");
  await typePassphrase(PASSPHRASE, PASSPHRASE);
  await shows("#encryption-result", /Nothing was changed/);
  assert.match(await text("#status"), /open in another tab/);
  await tab.close();
  await page.click("#encrypt");
  await typePassphrase(PASSPHRASE, PASSPHRASE);
  await shows("#encryption-state", /Encrypted with your passphrase/);
  await ready();
  assert.deepEqual(new Set(Object.values(await databases())), new Set([false]), "no message is readable in any database");
  await page.reload();
  await page.waitForSelector("#passphrase-0");
  await picture("locked");
  await typePassphrase("not this one, surely");
  await shows("#passphrase-fault", /not the passphrase/);
  await typePassphrase(PASSPHRASE);
  await ready();
  await page.waitForFunction(() => document.querySelectorAll(".conversation").length >= 50);
  await open("privacy");
  await page.click("#change-passphrase");
  await typePassphrase(PASSPHRASE, `${PASSPHRASE} again`, `${PASSPHRASE} again`);
  await shows("#encryption-result", /^Changed/);
  await page.reload();
  await page.waitForSelector("#passphrase-0");
  await typePassphrase(`${PASSPHRASE} again`);
  await ready();
  await open("privacy");
  await page.click("#decrypt");
  await page.click("#confirm-yes");
  await shows("#encryption-state", /Not encrypted/);
  await ready();
  await page.reload();
  await ready();
  await page.waitForFunction(() => document.querySelectorAll(".conversation").length >= 50);
});

test("who was called is counted: only the model, and only because it was turned on", async () => {
  await open("privacy");
  assert.match(await text("#foreign-requests"), /^0 requests to third parties/);
  await turnOnModel(page, model.url);
  await open("privacy");
  await shows("#requests-detail", /Called because you asked for it.*127\.0\.0\.1/s);
  assert.match(await text("#foreign-requests"), /^0 requests/);
});

test("what a model said it took is added up", async () => {
  await say("Is the port still free?");
  await open("models");
  await shows("#billed", /tiny\s*\d+\s*100\s*0\s*10/);
});

test("it opens without its server, and a newer version takes over as a whole", async () => {
  const site = join(folder, "site");
  cpSync(join(root, "www"), site, { recursive: true, filter: (path) => !/node_modules|\/src(\/|$)/.test(path) });
  const publish = async (title) => {
    const html = readFileSync(join(root, "www/index.html"), "utf8").replace(/<title>[^<]*/, `<title>${title}`);
    writeFileSync(join(site, "index.html"), html);
    writeFileSync(join(site, "styles/base.css"), `${readFileSync(join(root, "www/styles/base.css"), "utf8")}\n:root { --version: "${title}" }\n`);
    await writeServiceWorker(site);
  };
  const versions = (of) => of.evaluate(async () => [
    /<title>(.*?)<\/title>/.exec(await (await fetch("./index.html")).text())[1],
    globalThis.getComputedStyle(document.documentElement).getPropertyValue("--version").replaceAll('"', "").trim(),
  ]);
  await publish("one");
  let own = await serve({ port: 0, mounts: { "/throughline/": join(root, "dist"), "/": site }, policyOf });
  const { port } = new URL(own.url);
  const tab = await page.context().newPage();
  tab.on("pageerror", (error) => errors.push(String(error)));
  await tab.goto(own.url);
  await ready(tab);
  await eventually(tab, async () => (await globalThis.navigator.serviceWorker.getRegistration())?.active?.state === "activated");
  await own.close();
  await tab.reload();
  await ready(tab);
  assert.deepEqual(await versions(tab), ["one", "one"]);
  await tab.click("#nav-privacy");
  await tab.waitForSelector('#offline-state[data-files="ready"]');
  // The server has a newer version: what is open goes on with the former one, whole, until it is asked to change.
  await publish("two");
  own = await serve({ port: Number(port), tries: 1, mounts: { "/throughline/": join(root, "dist"), "/": site }, policyOf });
  await tab.reload();
  await ready(tab);
  assert.deepEqual(await versions(tab), ["one", "one"]);
  await tab.click("#nav-privacy");
  await tab.waitForSelector("#use-update");
  // A file that is not of the version that the list names is not taken.
  await Promise.all([tab.waitForEvent("load"), tab.click("#use-update")]);
  await ready(tab);
  assert.deepEqual(await versions(tab), ["two", "two"]);
  // Half an update on the server is no update.
  await publish("three");
  writeFileSync(join(site, "styles/base.css"), "/* not yet, or not any more */");
  await tab.reload();
  await ready(tab);
  await tab.evaluate(() => globalThis.navigator.serviceWorker.getRegistration().then((registration) => registration.update()).catch(() => undefined));
  await eventually(tab, async () => (await globalThis.navigator.serviceWorker.getRegistration()).installing === null);
  assert.deepEqual(await versions(tab), ["two", "two"]);
  assert.equal(await tab.evaluate(async () => (await globalThis.navigator.serviceWorker.getRegistration()).waiting), null);
  await tab.close();
  await own.close();
});

test("nothing threw", () => assert.deepEqual(errors, []));
