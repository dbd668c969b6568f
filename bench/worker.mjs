// Runs in a dedicated worker of its own per engine; the script in Node calls these functions one after the other.

import { wasmBytes } from "./memory.mjs";
import { measureHybrid } from "./hybrid.mjs";
import * as vectors from "./vectors.mjs";
import * as words from "./words.mjs";

let state;

const STEPS = {
  prepareWords: async ({ engine, size, queries, textsUrl }) => {
    const module = await import(`/bench/engines/${engine}.js`);
    state = { module, size, ...(await words.build({ open: module.open, size, questions: queries, texts: await textsOf(textsUrl) })) };
    return { settings: module.settings };
  },
  buildWords: async () => {
    const { engine, buildMs } = await state.buildAll();
    state.engine = engine;
    return { buildMs };
  },
  measureWords: ({ repeats }) => words.measure({ ...state, repeats }),
  prepareVectors: async ({ engine, size, queries, real, truth }) => {
    const module = await import(`/bench/engines/${engine}.js`);
    const source = await vectors.source({ size, queries, real });
    state = { module, ...source, truth: truth ?? (await vectors.groundTruth(source)) };
    return { settings: module.settings, size: source.size, isReal: source.isReal, truth: Object.fromEntries(Object.entries(state.truth).map(([step, numbers]) => [step, [...numbers]])) };
  },
  buildVectors: async () => {
    const engine = await state.module.open({ dimensions: vectors.DIMENSIONS, total: state.size });
    const built = await vectors.build(engine, state.blocks);
    state.engine = engine;
    return built;
  },
  measureVectors: ({ repeats }) => vectors.measure({ ...state, repeats }),
  measureHybrid: async ({ textsUrl, ...options }) => measureHybrid({ ...options, texts: await textsOf(textsUrl) }),
};

async function textsOf(url) {
  return url === undefined ? undefined : (await fetch(url)).json();
}

globalThis.step = (name, options) => STEPS[name](options);
globalThis.wasmBytes = wasmBytes;
globalThis.isReady = true;
