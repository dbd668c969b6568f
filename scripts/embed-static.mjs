// Embeds the turns and questions of LoCoMo with the package's static embedder, for `npm run eval`.
//
//   node scripts/embed-static.mjs DATA FILE.f32
//
// FILE.f32 holds f32 little-endian, a row per turn, then a row per question, in the order of conversations.json.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, Stop, main, say } from "./toolchain.mjs";

await main(async () => {
  const [data, file] = process.argv.slice(2);
  if (data === undefined || file === undefined) throw new Stop("Name the data folder and the file to write: node scripts/embed-static.mjs DATA FILE.f32");
  const conversations = JSON.parse(readFileSync(join(data, "locomo/conversations.json"), "utf8"));
  const turns = conversations.flatMap((conversation) => conversation.turns.map((turn) => turnText(conversation, turn)));
  const questions = conversations.flatMap((conversation) => conversation.questions.map((question) => question.q));
  const { createStaticEmbedder } = await import(new URL("../dist/static-embedder.js", import.meta.url).href);
  const embedder = await createStaticEmbedder();
  const begin = performance.now();
  const rows = await embedAll(embedder, [...turns, ...questions]);
  writeFileSync(file, Buffer.from(rows.buffer));
  const perText = (performance.now() - begin) / (turns.length + questions.length);
  say(`${turns.length} turns and ${questions.length} questions embedded with ${embedder.id} (${perText.toFixed(3)} ms each): ${file.replace(`${ROOT}/`, "")}`);
});

/** As the vectors of the data set were made, so that the two can be compared. */
function turnText(conversation, turn) {
  const caption = turn.c === undefined ? "" : ` [shares ${turn.c}]`;
  return `${conversation[turn.w]}: ${turn.t}${caption}`;
}

async function embedAll(embedder, texts) {
  const rows = new Float32Array(texts.length * embedder.dimensions);
  const size = embedder.maxBatchSize ?? 64;
  const { signal } = new AbortController();
  for (let first = 0; first < texts.length; first += size) {
    const vectors = await embedder.embed(texts.slice(first, first + size), { signal });
    vectors.forEach((vector, index) => rows.set(vector, (first + index) * embedder.dimensions));
  }
  return rows;
}
