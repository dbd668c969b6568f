// Work over several sessions, in real pages on real IndexedDB: what the first page leaves (notes, an episode, a project's
// summary, a part's result) is there for the next one, and goes with an erasure.
/* global open, memory, talk, ids */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openSite } from "./pages.mjs";

const SCRIPT = `
const languageModel = { contextWindow: 32_000, generate: ({ purpose, messages }) => {
  if (purpose === "extract") return { facts: [] };
  const read = [...new Set(messages.map(({ content }) => content).join("\\n").match(/Marker[A-Z]\\w*/gu) ?? [])];
  return { goal: ["Work on " + read.slice(0, 12).join(" ")], next: ["Go on with the work"] };
} };
globalThis.talk = (marker, count = 6) => Array.from({ length: count }, (_, number) => number % 2 === 0
  ? { role: "user", content: "Marker" + marker + " asks about step " + number + " of the importer." }
  : { role: "assistant", content: "Step " + number + " is done for Marker" + marker + "." });
globalThis.open = async () => {
  globalThis.memory = await throughline.createMemory({ userId: "sessions", tokenizer: "estimate", languageModel });
};
globalThis.ids = (built, name) => built.receipt.sections.find((section) => section.name === name).items.map(({ id }) => id);
`;

let site;
before(async () => {
  site = await openSite({ script: SCRIPT });
});
after(() => site?.close());

test("what one session leaves the next one has, in another page, until it is erased", async () => {
  const first = await site.openPage();
  const episodeIds = await first.evaluate(async () => {
    await open();
    const ended = [];
    for (const [id, marker] of [["a", "Aa"], ["b", "Bb"]]) {
      await memory.conversations.create({ id, projectId: "ship" });
      await memory.append(id, talk(marker));
      ended.push((await memory.episodes.end(id)).id);
    }
    await memory.conversations.create({ id: "part", parentId: "a" });
    await memory.append("part", talk("Inside"));
    await memory.append("a", { role: "assistant", content: "MarkerResult: the port is 8471." });
    await memory.notes.set("a", "plan", { step: 2 });
    await memory.settled();
    await memory.close();
    return ended;
  });
  await first.close();

  const second = await site.openPage();
  const next = await second.evaluate(async () => {
    await open();
    await memory.conversations.create({ id: "c", projectId: "ship" });
    const built = await memory.buildContext({ conversationId: "c", question: "Where were we?" });
    const again = await memory.buildContext({ conversationId: "a", question: "Which port is it?" });
    return {
      known: ids(built, "episodes"), system: built.system, notes: ids(again, "notes"), note: await memory.notes.get("a", "plan"),
      prompt: JSON.stringify(again.messages), tree: (await memory.summary("c")).tree.map(({ level, conversationIds }) => [level, conversationIds]),
    };
  });
  assert.deepEqual(next.known, ["ship", ...episodeIds]);
  assert.ok(next.system.includes("MarkerAa") && next.system.includes("MarkerBb"));
  assert.deepEqual([next.notes, next.note.content], [["plan"], { step: 2 }]);
  assert.ok(next.prompt.includes("8471") && !next.prompt.includes("MarkerInside"));
  assert.deepEqual(next.tree, [["project", ["a", "b"]]]);

  const left = await second.evaluate(async () => {
    await memory.erase({ conversationId: "a" });
    await memory.settled();
    const built = await memory.buildContext({ conversationId: "c", question: "Where were we?" });
    return { known: ids(built, "episodes"), text: JSON.stringify(built), episodes: (await memory.episodes.list()).map(({ conversationId }) => conversationId), tree: (await memory.summary("c")).tree };
  });
  assert.deepEqual([left.known, left.episodes, left.tree], [[episodeIds[1]], ["b"], []]);
  assert.ok(!left.text.includes("MarkerAa"));
  await second.close();
});

test("what was billed in two pages adds up, is there in a third, and corrects its contexts", async () => {
  const report = async (page, model) => page.evaluate(async (name) => {
    await open();
    await memory.conversations.create({ id: "billed" }).catch(() => undefined);
    await memory.append("billed", talk("Long", 40));
    const lessons = [];
    for (let turn = 0; turn < 2; turn += 1) {
      const { tokens, receipt } = await memory.buildContext({ conversationId: "billed", question: "Is that all?" });
      const counted = tokens / receipt.tokens.correction;
      lessons.push((await memory.reportUsage("billed", { provider: "acme", model: name, inputTokens: Math.round(counted * 1.25), outputTokens: 5 })).lesson);
    }
    return lessons;
  }, model);
  const pages = [await site.openPage(), await site.openPage()];
  for (const page of pages) assert.deepEqual(await report(page, "m"), ["learned", "learned"]);
  for (const page of pages) await page.close();
  const third = await site.openPage();
  const told = await third.evaluate(async () => {
    await open();
    const { receipt } = await memory.buildContext({ conversationId: "billed", question: "Is that all?" });
    return { correction: receipt.tokens.correction, usage: (await memory.stats()).usage, gone: await memory.erase({ user: true }).then(() => memory.stats()).then(({ usage }) => usage) };
  });
  assert.ok(told.correction >= 1.25 && told.correction <= 1.27, String(told.correction));
  assert.deepEqual(told.usage.map(({ model, calls, outputTokens }) => [model, calls, outputTokens]), [["m", 4, 20]]);
  assert.deepEqual(told.gone, []);
  await third.close();
});
