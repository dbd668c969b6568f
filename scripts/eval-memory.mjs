// `npm run eval:memory`: what is remembered, found and applied, on the labelled conversations of tests/evaluation.
// `-- --users mara,jana` narrows them, `--json` prints plain data, `--out FILE` writes the tables to a file as well,
// `--history N` sets how many made-up messages each user has besides (300), `--no-embedder` leaves out vectors. A real model
// in place of the scripted ones: `--model-url http://127.0.0.1:8080/v1 --model NAME`, its key in the environment variable
// THROUGHLINE_MODEL_KEY.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, Stop, main } from "./toolchain.mjs";

await main(async () => {
  const { values } = parseArgs({
    options: {
      users: { type: "string" }, json: { type: "boolean" }, out: { type: "string" }, history: { type: "string", default: "300" }, "no-embedder": { type: "boolean" },
      "model-url": { type: "string" }, model: { type: "string" }, "model-window": { type: "string", default: "16000" },
    },
  });
  if (!existsSync(join(ROOT, "dist/index.js"))) throw new Stop("The package is not built: npm run build first.");
  const { evaluate } = await import("../tests/evaluation/evaluation.mjs");
  const { tables } = await import("../tests/evaluation/tables.mjs");
  const { createStaticEmbedder } = await import("throughline/static-embedder");
  const embedder = values["no-embedder"] ? undefined : await createStaticEmbedder();
  const report = await evaluate({ users: values.users?.split(","), history: Number(values.history), embedder, remote: await remoteOf(values) });
  const text = values.json ? JSON.stringify(report, undefined, 2) : tables(report);
  console.log(text);
  if (values.out !== undefined) writeFileSync(values.out, `${text}\n`);
});

async function remoteOf({ "model-url": url, model: name, "model-window": window }) {
  if (url === undefined) return undefined;
  if (name === undefined) throw new Stop("A model needs its name: --model NAME");
  const { remoteModel } = await import("../tests/evaluation/remote-model.mjs");
  return { name, model: remoteModel({ url, name, key: process.env.THROUGHLINE_MODEL_KEY, contextWindow: Number(window) }) };
}
