// Writes the static embedder's vectors of LoCoMo for the evaluation program: float32, little-endian, 256 numbers a row,
// first the turns and then the questions, both in the order of ids.json.
//
//   node scripts/embed-static.mjs --data DIR --out FILE.f32
//
// DIR holds locomo/. Defaults: the environment variable THROUGHLINE_DATA, else ../shared/data beside the project;
// target/static-locomo.f32. Needs dist/static-embedder.js: build first.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({ options: { data: { type: "string" }, out: { type: "string" } } });
const folder = join(values.data ?? process.env.THROUGHLINE_DATA ?? join(root, "../shared/data"), "locomo");
const output = values.out ?? join(root, "target/static-locomo.f32");

const { createStaticEmbedder } = await import("../dist/static-embedder.js").catch((cause) => {
  throw new Error("dist/static-embedder.js is not there: build the package first", { cause });
});

/** The text that stands for a turn: as the spoken line, with the caption of a shared picture. */
function turnText(conversation, turn) {
  const speaker = turn.w === "a" ? conversation.a : conversation.b;
  return `${speaker}: ${turn.t}${turn.c ? ` [shares ${turn.c}]` : ""}`;
}

const conversations = JSON.parse(readFileSync(join(folder, "conversations.json"), "utf8"));
const ids = JSON.parse(readFileSync(join(folder, "ids.json"), "utf8"));
const texts = new Map();
for (const conversation of conversations) {
  for (const turn of conversation.turns) texts.set(`${conversation.id}/${turn.id}`, turnText(conversation, turn));
  for (const [index, question] of conversation.questions.entries()) texts.set(`${conversation.id}/q${index}`, question.q);
}
const inOrder = [...ids.turn_ids, ...ids.question_ids].map((id) => {
  const text = texts.get(id);
  if (text === undefined) throw new Error(`${id} of ids.json is not in conversations.json`);
  return text;
});

const embedder = await createStaticEmbedder();
const start = performance.now();
const vectors = await embedder.embed(inOrder);
const elapsedMs = performance.now() - start;
const rows = new Float32Array(vectors.length * embedder.dimensions);
vectors.forEach((vector, row) => rows.set(vector, row * embedder.dimensions));
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, new Uint8Array(rows.buffer));
console.log(`${output}: ${vectors.length} vectors of ${embedder.dimensions}, ${(elapsedMs / vectors.length).toFixed(3)} ms each`);
