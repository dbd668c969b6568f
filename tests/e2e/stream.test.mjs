// A message that is being streamed, on real IndexedDB and with real Web Locks: a page that goes away in the middle, and a
// second page that looks on.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";
import { eventually, launchBrowser } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Longer than a writer may be silent. */
const LOST_MS = 31_000;

let browser;
let context;
let server;
let site;

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-stream-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(
    join(site, "page.js"),
    `import * as throughline from "/throughline/index.js";
     globalThis.open = async (later = 0) => {
       await globalThis.memory?.close();
       globalThis.later = later;
       const clock = () => Date.now() + globalThis.later;
       globalThis.memory = await throughline.createMemory({ userId: "stream", tokenizer: "estimate", clock });
     };
     globalThis.look = () => memory.history("c", { withStatus: true }).then((all) => all.map(({ status, message }) => [status, message.content]));
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
  await page.goto(server.url);
  await page.waitForFunction(() => document.title === "ready");
  await page.evaluate(() => globalThis.open());
  return page;
}

const look = (page) => page.evaluate(() => globalThis.look());

test("a page that goes away in the middle leaves what arrived, aborted once it was not heard of", async () => {
  const page = await openPage();
  await page.evaluate(async () => {
    await globalThis.memory.conversations.create({ id: "c" });
    await globalThis.memory.append("c", { role: "user", content: "Tell me a story" });
    globalThis.stream = await globalThis.memory.stream("c", { role: "assistant", content: "" });
    for (const word of ["Once ", "upon ", "a ", "time"]) {
      globalThis.stream.write(word);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  const asked = ["complete", "Tell me a story"];
  await eventually(page, async () => (await globalThis.look())[1][1] === "Once upon a time");

  // Another page, whose clock is far ahead, sees that the writer holds its lock.
  const other = await openPage();
  await other.evaluate((later) => globalThis.open(later), 10 * LOST_MS);
  assert.deepEqual(await look(other), [asked, ["streaming", "Once upon a time"]]);
  await other.evaluate(() => globalThis.memory.append("c", { role: "user", content: "And then?" }));

  await page.reload();
  await page.waitForFunction(() => document.title === "ready");
  await page.evaluate(() => globalThis.open());
  const behind = ["complete", "And then?"];
  assert.deepEqual(await look(page), [asked, ["streaming", "Once upon a time"], behind]);
  await page.evaluate((later) => (globalThis.later = later), LOST_MS);
  const built = await page.evaluate(() => globalThis.memory.buildContext({ conversationId: "c", window: 4_000 }));
  assert.ok(JSON.stringify(built.messages).includes("Once upon a time"));
  for (const target of [page, other]) assert.deepEqual(await look(target), [asked, ["aborted", "Once upon a time"], behind]);
  const stats = await page.evaluate(() => globalThis.memory.stats());
  await other.evaluate(() => globalThis.open());
  assert.equal((await other.evaluate(() => globalThis.memory.stats())).tokens, stats.tokens);
  // Their clocks are ahead: told of what others stream, they would take it for lost.
  await Promise.all([page, other].map((target) => target.close()));
});

test("two pages stream into one conversation at once, and each sees the other's end", async () => {
  const [one, other] = [await openPage(), await openPage()];
  await one.evaluate(() => globalThis.memory.conversations.delete("c").then(() => globalThis.memory.conversations.create({ id: "c" })));
  const say = (page, name) =>
    page.evaluate(async (name) => {
      const stream = await globalThis.memory.stream("c", { id: name, role: "assistant", content: "" });
      for (let number = 0; number < 40; number += 1) {
        stream.write(`${name}${number} `);
        if (number % 8 === 0) await new Promise((resolve) => setTimeout(resolve, 60));
      }
      return stream.complete();
    }, name);
  const ended = await Promise.all([say(one, "left"), say(other, "right")]);
  assert.deepEqual(ended.map(({ durable, status }) => [durable, status]), [[true, "complete"], [true, "complete"]]);
  const [left, right] = [await look(one), await look(other)];
  assert.deepEqual(left, right);
  assert.deepEqual(left.map(([status, content]) => [status, content.trim().split(" ").length]), [["complete", 40], ["complete", 40]]);
  const tokens = await Promise.all([one, other].map((page) => page.evaluate(async () => (await globalThis.memory.conversations.get("c")).tokens)));
  assert.equal(tokens[0], tokens[1]);
  const found = await one.evaluate(async () => (await globalThis.memory.recall("right39")).flatMap(({ hits }) => hits.map(({ id }) => id)));
  assert.ok(found.includes("right"));
});
