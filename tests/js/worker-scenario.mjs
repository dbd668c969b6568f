// Everything that a memory can do, as one run whose outcome is plain data: in the page and through a worker it is the same.
/* global WritableStream */

/**
 * Runs in a page or in Node; it uses nothing from outside. `open(options)` opens the memory; `files` makes a File of an export
 * and a stream of its bytes.
 */
export async function scenario(open) {
  let time = Date.UTC(2026, 0, 5);
  const calls = [];
  const heard = [];
  const memory = await open({
    tokenizer: "estimate",
    clock: () => time,
    policy: { episodes: { minMessages: 2 } },
    embedder: { id: "length", dimensions: 3, embed: (texts) => texts.map((text) => [1, text.length % 7, text.length % 11]) },
    languageModel: {
      contextWindow: 8_192,
      generate: ({ purpose, schema, messages, signal }) => {
        calls.push([purpose, typeof schema, messages.length, signal instanceof AbortSignal]);
        return { goal: ["Ship the importer"], confirmed: ["It listens on 8471"], facts: [], operations: [], summary: "They shipped the importer.", text: "They shipped the importer." };
      },
    },
  });
  const off = memory.on("append", ({ conversationId, count }) => heard.push([conversationId, count]));
  const outcome = {};
  const code = (promise) => promise.then(() => "none", (error) => [error.code, error.retryable, error.message]);
  const say = (number) => ({ id: `m${number}`, role: number % 2 ? "user" : "assistant", content: `Message ${number} is about the importer on port ${8_000 + number}, and says a little more than that.` });

  outcome.created = await memory.conversations.create({ id: "c", title: "Importer", projectId: "p" });
  outcome.appended = await memory.append("c", Array.from({ length: 12 }, (_, number) => say(number + 1)));
  time += 60_000;
  outcome.again = await memory.append("c", say(12));
  outcome.conflict = await code(memory.append("c", { ...say(12), content: "other" }));
  outcome.edited = await memory.edit("c", "m11", { id: "m11b", role: "user", content: "And in production?" });
  outcome.turned = await memory.setActiveLeaf("c", "m12");
  outcome.removed = await memory.remove("c", "m11b");
  outcome.tree = await memory.conversations.tree("c");
  const stream = await memory.stream("c", { id: "s", role: "assistant", content: "" });
  stream.write("It is ");
  stream.write("8471.");
  outcome.streamed = [stream.id, stream.seq, await stream.complete()];
  const other = await memory.stream("c", { id: "t", role: "assistant", content: "" });
  outcome.from = await other.from((async function* () { yield "piece "; yield "by piece"; })());
  outcome.history = await memory.history("c", { from: 10 });
  outcome.status = await memory.history("c", { from: 13, withStatus: true });
  outcome.note = await memory.notes.set("c", "todo", { next: ["ship"] });
  outcome.notes = [await memory.notes.list("c"), await memory.notes.get("c", "todo"), await memory.notes.delete("c", "todo")];
  outcome.fact = await memory.facts.add({ fact: "Prefers short answers", key: "style" });
  outcome.updated = await memory.facts.update(outcome.fact.id, { pinned: true });
  outcome.facts = [await memory.facts.list(), await memory.facts.search("answers"), await memory.facts.history(outcome.fact.id), await memory.facts.consent(), await memory.facts.findings()];
  await memory.settled();
  outcome.summary = await code(memory.compact("c", { force: true }));
  outcome.summed = await memory.summary("c");
  outcome.episode = await code(memory.episodes.end("c"));
  outcome.episodes = await memory.episodes.list();
  outcome.context = await memory.buildContext({
    conversationId: "c", question: "Which port did message 3 name?", system: "Be terse.", window: 4_000, reserve: 500, format: "openai",
    documents: [{ id: "d", text: "The importer is documented here.", source: undefined }], tools: [{ type: "function", function: { name: "f", parameters: {} } }],
  });
  outcome.recalled = await memory.recall("port 8003", { conversationId: "c", topK: 2 });
  outcome.infeasible = await code(memory.buildContext({ conversationId: "c", question: "x", window: 10, reserve: 5 }));
  outcome.absent = await code(memory.history("nowhere"));
  outcome.badCall = await code(memory.append("c", { role: "user", content: 5n }));
  outcome.badOption = await code(memory.recall("port", { topK: NaN }));
  outcome.exotic = await code(memory.recall("port", { conversationId: "c", topK: 1, unused: () => 1 }));

  const progress = [];
  const file = await memory.export({ onProgress: (told) => progress.push(told.messages) });
  outcome.exported = [file.type, file.report, progress.at(-1)];
  const chunks = [];
  const report = await memory.export({ to: new WritableStream({ write: (chunk) => void chunks.push(chunk) }), encrypt: { passphrase: "a phrase" } });
  const sealed = new Blob(chunks);
  outcome.erased = (await memory.erase({ user: true })).erased;
  outcome.empty = (await memory.conversations.list()).items;
  outcome.wrong = await code(memory.import(sealed, { passphrase: "another" }));
  const imported = [];
  outcome.imported = await memory.import(new Response(sealed).body, { passphrase: "a phrase", onProgress: ({ phase }) => imported.push(phase) });
  outcome.phases = [...new Set(imported)];
  outcome.importedAgain = await memory.import(file, { trusted: true });
  outcome.sameReport = JSON.stringify(report) === JSON.stringify(file.report);
  outcome.chat = await memory.import([new Uint8Array(new TextEncoder().encode('[{"role":"user","content":"from a file"}]')).subarray(0)]).then(({ source, messages }) => [source, messages]);
  outcome.back = await memory.history("c");
  const { items } = await memory.conversations.list();
  outcome.renamed = (await memory.conversations.update("c", { title: "Renamed" })).title;
  outcome.listed = items.length;
  await memory.conversations.delete("c");
  outcome.deleted = await code(memory.conversations.get("c"));
  await memory.flush();
  const stats = await memory.stats();
  outcome.stats = [stats.conversations, stats.messages, stats.vectors, stats.countedWith, stats.wasmBytes > 0, Object.keys(stats.spent).sort()];
  const info = await memory.storage.info();
  outcome.info = [info.durable, info.damage, await memory.storage.verify()];
  off();
  await memory.append(items.at(-1).id === "c" ? items[0].id : items.at(-1).id, { role: "user", content: "unheard" });
  const given = new AbortController();
  given.abort("enough");
  outcome.aborted = await memory.stats({ signal: given.signal }).catch((error) => [error.code, error.cause]);
  await memory.close();
  outcome.closed = await code(memory.stats());
  await memory.close();
  // How often background work asks depends on when it runs.
  outcome.calls = [...new Set(calls.map(String))].sort();
  outcome.heard = heard;
  return outcome;
}

/** An outcome as text, without what differs from run to run: how long something took, and names made at random. */
export function comparable(outcome) {
  const names = new Map();
  return JSON.stringify(outcome, (key, value) => (key === "ms" ? 0 : value), 1).replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
    if (!names.has(id)) names.set(id, `random ${names.size + 1}`);
    return names.get(id);
  });
}
