// `npm run eval:memory`: what is remembered, found and applied, on the labelled conversations of tests/evaluation.
// `-- --users mara,jana` narrows them, `--json` prints plain data, `--out FILE` writes the tables to a file as well,
// `--history N` sets how many made-up messages each user has besides (300), `--no-embedder` leaves out vectors, `--batches
// 1,2,4,8` compares sizes of `batchMessages`. A real model in place of the scripted ones: `--url http://127.0.0.1:8080/v1
// --model NAME`, an OpenAI-compatible server; its key is read from the environment variable THROUGHLINE_MODEL_KEY, or from
// the one that `--key-env NAME` names, never from the command line. `--model-window N` is its context window (16,000).

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, Stop, main } from "./toolchain.mjs";

await main(async () => {
  const { values } = parseArgs({
    options: {
      users: { type: "string" }, json: { type: "boolean" }, out: { type: "string" }, history: { type: "string", default: "300" }, "no-embedder": { type: "boolean" },
      batches: { type: "string" },
      url: { type: "string" }, model: { type: "string" }, "key-env": { type: "string", default: "THROUGHLINE_MODEL_KEY" }, "model-window": { type: "string", default: "16000" },
    },
  });
  if (!existsSync(join(ROOT, "dist/index.js"))) throw new Stop("The package is not built: npm run build first.");
  const { evaluate } = await import("../tests/evaluation/evaluation.mjs");
  const { tables } = await import("../tests/evaluation/tables.mjs");
  const { createStaticEmbedder } = await import("throughline/static-embedder");
  const embedder = values["no-embedder"] ? undefined : await createStaticEmbedder();
  const batchSizes = values.batches?.split(",").map(Number) ?? [];
  const report = await evaluate({ users: values.users?.split(","), history: Number(values.history), embedder, batchSizes, remote: await remoteOf(values) });
  const text = values.json ? JSON.stringify(report, undefined, 2) : tables(report);
  console.log(text);
  if (values.out !== undefined) writeFileSync(values.out, `${text}\n`);
});

async function remoteOf({ url, model: name, "key-env": keyName, "model-window": window }) {
  if (url === undefined) return undefined;
  if (!URL.canParse(url)) throw new Stop("--url is no address; give the base of an OpenAI-compatible server, such as http://127.0.0.1:8080/v1");
  if (name === undefined) throw new Stop("A model needs its name: --model NAME");
  const contextWindow = Number(window);
  if (!(contextWindow >= 2_000)) throw new Stop("--model-window is the model's context window in tokens, at least 2000");
  const { remoteModel } = await import("../tests/evaluation/remote-model.mjs");
  const model = remoteModel({ url, name, key: process.env[keyName], contextWindow });
  await firstAnswer(model, keyName);
  return { name, model };
}

/** Asks once, so that a wrong address or key is told at once and not in every figure. */
async function firstAnswer(model, keyName) {
  try {
    await model.generate({ system: "Answer with one word.", messages: [{ role: "user", content: "Ready?" }], maxTokens: 1_000 });
  } catch (error) {
    const advice = [401, 403].includes(error.status) ? ` Its key is read from the environment variable ${keyName}.` : "";
    throw new Stop(`The model cannot be asked: ${error.message}${advice}`);
  }
}
