// Storage that lost nothing is never called damaged: whatever was written, in however many tabs, whether the memory was closed,
// the page left, or the browser killed. RUNS starts (`npm run test:long -- clean-starts` for 1,000), from SEED on.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { serve } from "../../scripts/serve.mjs";
import { browserOptions } from "./browser.mjs";
import { BACK_ENDS } from "./pages.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const RUNS = Number(process.env.RUNS ?? 9);
const SEED = Number(process.env.SEED ?? 1);
/** Of so many starts, one follows on the end of the browser. */
const BROWSER_ENDS = 8;

let server;
let site;

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-starts-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(
    join(site, "page.js"),
    `import { createMemory } from "/throughline/index.js";
     globalThis.start = async () => {
       globalThis.memory = await createMemory({ userId: "cleo", tokenizer: "estimate" });
       const { damage } = await memory.stats();
       if (damage !== null) throw new Error(JSON.stringify(damage));
     };
     globalThis.work = async (steps) => {
       for (const [step, id, count] of steps) {
         const messages = Array.from({ length: count }, (_, index) => ({ role: "user", content: "message " + index }));
         const say = () => memory.append(id, messages);
         if (step === "forget") await memory.conversations.delete(id);
         else if (step === "erase") await memory.erase({ user: true });
         else if (step === "fact") await memory.facts.add({ fact: "Likes number " + count });
         else {
           await memory.conversations.create({ id }).catch((error) => { if (error.code !== "conflict") throw error; });
           if (step === "say") await say();
           else if (step === "hurry") void say().catch(() => undefined);
           else {
             const [first] = await memory.history(id, { limit: 1, withStatus: true });
             if (first !== undefined) await memory.remove(id, first.id);
           }
         }
       }
     };
     document.title = "ready";`,
  );
  server = await serve({ port: 0, mounts: { "/throughline/": join(root, "dist"), "/": site } });
});

after(async () => {
  await server?.close();
  rmSync(site, { recursive: true, force: true });
});

/** Numbers below `most`, the same for the same seed (mulberry32). */
function numbers(seed) {
  let state = seed;
  return (most) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % most;
  };
}

function stepsOf(below) {
  const kinds = ["say", "say", "say", "say", "hurry", "remove", "forget", "fact"];
  const steps = Array.from({ length: 1 + below(6) }, () => [kinds[below(kinds.length)], `c${below(5)}`, 1 + below(8)]);
  if (below(20) === 0) steps.push(["erase", "", 0], ["say", "c0", 2]);
  return steps;
}

for (const [backEnd, switches] of Object.entries(BACK_ENDS)) {
  test(`${backEnd}: ${RUNS} clean starts are no alarm`, async () => {
    const profile = mkdtempSync(join(tmpdir(), "throughline-profile-"));
    let starts = 0;
    try {
      while (starts < RUNS) {
        const context = await chromium.launchPersistentContext(profile, browserOptions(switches));
        try {
          for (let inBrowser = 0; inBrowser < BROWSER_ENDS && starts < RUNS; inBrowser += 1) {
            const seed = SEED + starts;
            const below = numbers(seed);
            await start(context, below).catch((error) => {
              throw new Error(`start ${starts + 1}, replay with SEED=${SEED} RUNS=${starts + 1}: ${error.message}`, { cause: error });
            });
            starts += 1;
          }
          // Killed, as a crash does it: nobody says goodbye.
          if (numbers(SEED + starts)(2) === 0) await kill(context);
        } finally {
          await context.close().catch(() => undefined);
        }
      }
    } finally {
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    }
    assert.equal(starts, RUNS);
  });
}

async function start(context, below) {
  const pages = [];
  for (let tabs = below(4) === 0 ? 2 : 1; tabs > 0; tabs -= 1) {
    const page = await context.newPage();
    await page.goto(server.url);
    await page.waitForFunction(() => document.title === "ready");
    await page.evaluate(() => globalThis.start());
    pages.push(page);
  }
  // Erased by one tab while another writes, a conversation is not there: that is no alarm either.
  const work = (page) => page.evaluate((steps) => globalThis.work(steps).catch((error) => { if (error.code !== "not_found") throw error; }), stepsOf(below));
  await Promise.all(pages.map(work));
  for (const page of pages) {
    const end = below(4);
    if (end === 0) await page.evaluate(() => globalThis.memory.close());
    if (end === 1) await page.reload();
    if (end === 2 && below(2) === 0) await page.evaluate(() => globalThis.localStorage.clear());
    await page.close({ runBeforeUnload: end === 3 });
  }
}

async function kill(context) {
  const page = await context.newPage();
  await page.goto("chrome://inducebrowsercrashforrealz").catch(() => undefined);
}
