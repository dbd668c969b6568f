// The page of docs/plain-page.md, both files as they stand there, with a model that is made up.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "../../scripts/serve.mjs";
import { launchBrowser } from "./browser.mjs";

const document = readFileSync(new URL("../../docs/plain-page.md", import.meta.url), "utf8");
const block = (language) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "m").exec(document)[1];
const errors = [];
const requests = [];
let browser;
let folder;
let page;
let server;
/** What the model does with a request. */
let answer = () => undefined;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "throughline-plain-"));
  writeFileSync(join(folder, "index.html"), block("html"));
  writeFileSync(join(folder, "chat.js"), block("js"));
  server = await serve({ port: 0, mounts: { "/throughline/": fileURLToPath(new URL("../../dist", import.meta.url)), "/": folder }, headers: {} });
  browser = await launchBrowser();
  page = await browser.newPage();
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.route("http://localhost:11434/v1/chat/completions", (route) => {
    const body = JSON.parse(route.request().postData());
    requests.push(body);
    const text = answer(body);
    if (text === undefined) return route.fulfill({ status: 400, headers: { "access-control-allow-origin": "*" }, body: "{}" });
    const pieces = text.split(/(?<= )/).map((content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
    const end = `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;
    return route.fulfill({ status: 200, headers: { "access-control-allow-origin": "*", "content-type": "text/event-stream" }, body: pieces.join("") + end });
  });
  await page.goto(server.url);
});

after(async () => {
  await browser?.close();
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

const shown = () => page.locator("#messages li").allTextContents();

async function ask(question) {
  await page.waitForSelector("button:not([disabled])");
  await page.fill("#question", question);
  await page.click("button");
}

test("the page of the recipe answers, remembers over a reload, and says what failed", async () => {
  // Calls of the memory's own, for facts, come with a schema; the chat's are streamed.
  answer = ({ stream }) => (stream ? "8471 is free, so the importer takes it." : undefined);
  await ask("Which port is free for the importer?");
  await page.waitForFunction(() => /was sent \d+ tokens/.test(document.querySelector("#note").textContent));
  const first = ["user: Which port is free for the importer?", "assistant: 8471 is free, so the importer takes it."];
  assert.deepEqual(await shown(), first);
  await page.reload();
  await page.waitForSelector("button:not([disabled])");
  assert.deepEqual(await shown(), first);
  answer = ({ stream }) => (stream ? "8471." : undefined);
  await ask("What port was it?");
  await page.waitForFunction(() => document.querySelector("#messages").lastElementChild.textContent === "assistant: 8471.");
  const sent = JSON.stringify(requests.filter(({ stream }) => stream).at(-1).messages);
  assert.match(sent, /You are a helpful assistant.*8471 is free.*What port was it\?/s);
  answer = () => undefined;
  await ask("And now?");
  await page.waitForFunction(() => !/^$|was sent/.test(document.querySelector("#note").textContent));
  assert.equal(await page.inputValue("#question"), "And now?");
  assert.equal(await page.evaluate(() => document.querySelectorAll("#messages li").length), 6);
  await page.reload();
  await page.waitForSelector("button:not([disabled])");
  assert.equal((await shown()).length, 4, "what failed left nothing half-said behind");
  assert.deepEqual(errors, []);
});
