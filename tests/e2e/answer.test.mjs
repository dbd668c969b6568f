// The demo with a model: its answer grows in the conversation, can be stopped, and survives what breaks it. The model is a
// server of this test that says a word when it is told to.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";
import { bundleDemo } from "../../scripts/www.mjs";
import { launchBrowser } from "./browser.mjs";
import { turnOnModel } from "./model-server.mjs";
import { startModel } from "./scripted-server.mjs";

let browser;
let page;
let server;
let model;
/** The answer that is being streamed, and what was asked for it. */
let answering;
const errors = [];

const say = (content) => answering.say(content);

async function ask(question) {
  answering = undefined;
  await page.fill("#question", question);
  await page.click("#ask");
  while (answering === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
}

const last = () => page.locator(".message").last();
const shows = (text, status) =>
  page.waitForFunction(([text, status]) => {
    const message = [...document.querySelectorAll(".message")].at(-1);
    return message?.dataset.status === status && message.querySelector(".prose")?.textContent === text;
  }, [text, status]);

before(async () => {
  await bundleDemo();
  model = await startModel();
  model.script = (say, response) => {
    response.flushHeaders();
    answering = { asked: model.asked.at(-1), response, say };
  };
  server = await serve({ port: 0 });
  browser = await launchBrowser();
  page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(server.url);
  await page.waitForSelector('#status[data-kind="ready"]');
  await turnOnModel(page, model.url, "scripted");
  await page.click("#nav-chat");
});

after(async () => {
  await browser?.close();
  await server?.close();
  model?.close();
});

test("an answer grows in the conversation and is complete at its end", async () => {
  await ask("Which port did we pick?");
  assert.equal(await page.locator(".message").count(), 0, "nothing is stored before the first word");
  say("Port ");
  await shows("Port ", "streaming");
  assert.match(await last().textContent(), /Being written/);
  say("8471.");
  await shows("Port 8471.", "streaming");
  answering.response.end("data: [DONE]\n\n");
  await shows("Port 8471.", "complete");
  const roles = await page.locator(".message").evaluateAll((all) => all.map(({ className }) => /from-(\w+)/.exec(className)[1]));
  assert.deepEqual(roles, ["user", "assistant"]);
  await page.waitForFunction(() => document.querySelector("#question").value === "");
});

test("the stop button keeps what was said, marked as stopped, and the next question goes on from it", async () => {
  await ask("And the host?");
  say("The host is");
  await shows("The host is", "streaming");
  await page.click("#stop");
  await shows("The host is", "aborted");
  assert.match(await last().textContent(), /Stopped before its end/);
  await page.waitForSelector("#stop", { state: "hidden" });
  await ask("Go on");
  assert.ok(answering.asked.messages.some(({ role, content }) => role === "assistant" && content === "The host is"));
  say("staging");
  await shows("staging", "streaming");
});

test("a server that breaks off leaves half an answer and a word about it", async () => {
  answering.response.destroy();
  await shows("staging", "aborted");
  await page.waitForSelector('#status[data-kind="error"]');
  assert.equal(await page.inputValue("#question"), "");
});

test("after a reload everything is as it was", async () => {
  await page.reload();
  await page.waitForSelector('#status[data-kind="ready"]');
  await page.waitForSelector(".message");
  const statuses = await page.locator(".message").evaluateAll((all) => all.map(({ dataset }) => dataset.status));
  assert.deepEqual(statuses, ["complete", "complete", "complete", "aborted", "complete", "aborted"]);
  assert.deepEqual(errors, []);
});
