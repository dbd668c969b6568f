// The main job on the built package, in a real page on real IndexedDB: a real conversation goes in, labelled questions get
// contexts that hold the labelled messages, counted again by another tokenizer, the same after a reload, with two pages.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { countTokens as countIndependently } from "gpt-tokenizer/encoding/o200k_base";
import { dataFolder, serve } from "../../scripts/serve.mjs";
import { launchBrowser } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const WINDOW = 6_000;
const RESERVE = 1_000;
const SYSTEM = "You remember what these two people told each other.";

/** A conversation of at least 400 messages, and questions with the messages that answer them. */
function material(context) {
  const data = dataFolder([]);
  const file = data === undefined ? undefined : join(data, "locomo/conversations.json");
  if (file === undefined || !existsSync(file)) {
    context.diagnostic("The measuring data is not here, so the demo's own sample conversation takes its place.");
    return sampleMaterial();
  }
  const conversation = JSON.parse(readFileSync(file, "utf8")).find(({ turns }) => turns.length >= 400);
  const speaker = { a: conversation.a, b: conversation.b };
  const day = (session) => Date.UTC(2023, 4, session);
  const messages = conversation.turns.map((turn, index) => ({
    id: turn.id,
    role: turn.w === "a" ? "user" : "assistant",
    content: `${speaker[turn.w]}: ${turn.t}${turn.c ? ` [shares ${turn.c}]` : ""}`,
    createdAt: new Date(day(turn.s) + index * 30_000).toISOString(),
  }));
  const labelled = conversation.questions.filter(({ ev, adv }) => ev.length === 1 && !adv);
  const step = Math.floor(labelled.length / 12);
  const questions = labelled.filter((_, index) => index % step === 0).slice(0, 12);
  return { messages, questions: questions.map(({ q, ev }) => ({ question: q, evidence: ev })) };
}

function sampleMaterial() {
  const read = (name) => JSON.parse(readFileSync(join(root, "www/sample", name), "utf8"));
  const conversation = read("conversation.json");
  const messages = Array.isArray(conversation) ? conversation : conversation.messages;
  return { messages, questions: read("questions.json").questions };
}

let browser;
let context;
let server;
let site;

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-main-job-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(
    join(site, "page.js"),
    `import * as throughline from "/throughline/index.js";
     import { createStaticEmbedder } from "/throughline/static-embedder.js";
     globalThis.open = async () => {
       const embedder = await createStaticEmbedder();
       // A clock that stands, so that the age of a message is the same before and after the reload.
       globalThis.memory = await throughline.createMemory({ userId: "e2e", embedder, clock: () => Date.UTC(2024, 0, 1) });
       return true;
     };
     document.title = "ready";`,
  );
  server = await serve({ port: 0, mounts: { "/throughline/": join(root, "dist"), "/": site } });
  browser = await launchBrowser();
  context = await browser.newContext();
});

after(async () => {
  await browser?.close();
  await server?.close();
  rmSync(site, { recursive: true, force: true });
});

async function openPage() {
  const page = await context.newPage();
  page.on("pageerror", (error) => assert.fail(error));
  const foreign = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url)) foreign.push(request.url());
  });
  await page.goto(server.url);
  await page.waitForFunction(() => document.title === "ready");
  await page.evaluate(() => globalThis.open());
  return { page, foreign };
}

const build = (page, question) =>
  page.evaluate(
    ([question, system, window, reserve]) =>
      globalThis.memory.buildContext({ conversationId: "real", question, system, window, reserve, format: "openai" }),
    [question, SYSTEM, WINDOW, RESERVE],
  );

const holds = (built, id) =>
  built.receipt.sections.some(({ items }) => items.some((item) => item.id === id));

/** A context as text, without how long it took. */
function timeless({ receipt, ...rest }) {
  return JSON.stringify({ ...rest, receipt: { ...receipt, retrieval: { ...receipt.retrieval, ms: 0 } } });
}

/** Where two long texts part; undefined where they are the same. */
function firstDifference(one, other) {
  if (one === other) return undefined;
  const at = [...one].findIndex((character, index) => character !== other[index]);
  return `${one.slice(at - 60, at + 60)}  <>  ${other.slice(at - 60, at + 60)}`;
}

test("a real conversation, labelled questions, an independent count, a reload, a second page", async (t) => {
  const { messages, questions } = material(t);
  assert.ok(messages.length >= 320);
  const { page, foreign } = await openPage();

  const stored = await page.evaluate(async (messages) => {
    await globalThis.memory.conversations.create({ id: "real" });
    const appended = await globalThis.memory.append("real", messages, { format: "openai" });
    await globalThis.memory.settled();
    return { appended, stats: await globalThis.memory.stats() };
  }, messages);
  assert.equal(stored.appended.length, messages.length);
  assert.ok(stored.appended.every(({ durable }) => durable));
  assert.equal(stored.stats.messages, messages.length);
  assert.equal(stored.stats.jobs, 0);
  assert.equal(stored.stats.vectors, messages.filter(({ content, tool_calls }) => content || tool_calls).length);

  const built = [];
  let foundByBoth = 0;
  for (const { question, evidence } of questions) {
    const baseline = await page.evaluate(
      (query) => globalThis.memory.recall(query, { conversationId: "real", topK: 10, before: 0, after: 0 }),
      question,
    );
    const found = evidence.filter((id) => baseline.some(({ hits }) => hits.some((hit) => hit.id === id)));
    const answer = await build(page, question);
    built.push(answer);
    if (found.length > 0) {
      foundByBoth += 1;
      for (const id of found) {
        assert.ok(holds(answer, id), `${id} was found for "${question}" but is not in the context`);
        const said = messages.find((message) => message.id === id).content;
        assert.ok(JSON.stringify(answer.messages).includes(JSON.stringify(said).slice(1, -1)), `${id} is not word for word in the context`);
      }
    }
  }
  t.diagnostic(`${foundByBoth} of ${questions.length} questions: found by recall and in the context`);
  assert.ok(foundByBoth >= 5);

  for (const { system, messages: sent, tokens, receipt } of built) {
    // Three tokens a message and one for its role, three for the request: OpenAI's chat format.
    const texts = [["system", system], ...sent.map(({ role, content, tool_calls }) => [role, content, tool_calls])].filter(([, text]) => text !== "");
    const again = texts.reduce((sum, [role, text, calls = []]) => {
      const tools = calls.reduce((all, { function: { name, arguments: given } }) => all + countIndependently(name) + countIndependently(given), 0);
      return sum + 3 + countIndependently(role) + countIndependently(text ?? "") + tools;
    }, 3);
    assert.equal(tokens, again);
    assert.equal(receipt.tokens.total, tokens);
    assert.equal(receipt.tokens.exact, true);
    assert.ok(tokens + RESERVE <= WINDOW);
    const sections = receipt.sections.reduce((sum, section) => sum + section.tokens, 0);
    assert.equal(sections + receipt.tokens.overhead, tokens);
    assert.equal(receipt.retrieval.mode, receipt.retrieval.decision === "retrieve" ? "hybrid" : "none");
  }

  await page.reload();
  await page.waitForFunction(() => document.title === "ready");
  await page.evaluate(() => globalThis.open());
  for (const [index, { question }] of questions.entries()) {
    const [again, before] = [timeless(await build(page, question)), timeless(built[index])];
    assert.equal(firstDifference(again, before), undefined, `another context after the reload: ${question}`);
  }

  const { page: second } = await openPage();
  const say = (target, name) =>
    target.evaluate(async (name) => {
      const said = [];
      for (let number = 0; number < 30; number += 1) {
        said.push(globalThis.memory.append("real", { id: `${name}-${number}`, role: "user", content: `${name} says ${number}` }));
      }
      return (await Promise.all(said)).map(([{ seq }]) => seq);
    }, name);
  const seqs = (await Promise.all([say(page, "left"), say(second, "right")])).flat();
  assert.equal(new Set(seqs).size, 60, "two pages got the same position");
  assert.equal(Math.max(...seqs), messages.length + 60);
  for (const target of [page, second]) {
    const tail = await target.evaluate((from) => globalThis.memory.history("real", { from }), messages.length + 1);
    assert.equal(tail.length, 60);
    const context = await build(target, "what did left say last, and what did right say last?");
    assert.ok(holds(context, "left-29") && holds(context, "right-29"));
  }
  assert.deepEqual(foreign, [], "the package made a request of its own");
});
