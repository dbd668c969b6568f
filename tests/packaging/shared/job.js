// The main job, the same in every environment: what a page, a server or a worker does with the package.
import { countTokens, createMemory } from "throughline";
import { createStaticEmbedder } from "throughline/static-embedder";
import { TEXT } from "./text.js";

/** `open` makes the memory: in this thread, unless said otherwise. */
async function mainJob(open) {
  const { tokens, exact } = await countTokens(TEXT);
  const memory = await open({ userId: `packaging-${crypto.randomUUID()}`, embedder: await createStaticEmbedder() });
  try {
    const { id } = await memory.conversations.create({ title: "Importer" });
    const [{ durable }] = await memory.append(id, [
      { role: "user", content: "Which port is free on staging for the importer?" },
      { role: "assistant", content: TEXT },
    ]);
    for (let turn = 0; turn < 20; turn += 1) {
      await memory.append(id, [
        { role: "user", content: `Then the weather of day ${turn}, please, with wind and clouds.` },
        { role: "assistant", content: `Day ${turn} is mild, with little wind and a few clouds in the afternoon.` },
      ]);
    }
    await memory.settled();
    const context = await memory.buildContext({
      conversationId: id, question: "What port did we pick for the importer?", system: "You are terse.", window: 700, reserve: 200,
    });
    const { vectors } = await memory.stats();
    return {
      tokens, exact, durable, vectors,
      mode: context.receipt.retrieval.mode,
      counted: context.receipt.tokens.exact,
      fits: context.tokens <= 500,
      found: context.receipt.sections.some(({ name, items }) => name === "retrieved" && items.length > 0) && JSON.stringify(context.messages).includes("8471"),
    };
  } finally {
    await memory.close();
  }
}

/** The outcome as plain data, where something threw too. */
export async function outcome(open = createMemory) {
  try {
    return await mainJob(open);
  } catch (error) {
    return { error: `${error?.code ?? error?.name}: ${error?.message}` };
  }
}
