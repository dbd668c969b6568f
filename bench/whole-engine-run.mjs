// Runs the built package through its public methods, a browser profile of its own for each size.

/**
 * @param {{ sizes: number[], queries: number, opens: number, modes: ("hybrid" | "words")[], say: (text: string) => void,
 * add: (result: object) => void }} options `add` takes one result per size and mode, as it comes
 */
export async function runWholeEngine(site, { sizes, queries, opens, modes, say, add }) {
  for (const size of sizes) {
    for (const mode of modes) {
      say(`The package: ${size} messages, ${mode}`);
      add({ size, mode, ...(await runOne(site, { size, hasVectors: mode === "hybrid", queries, opens })) });
    }
  }
}

const CODE_CACHE_MS = 5_000;

async function runOne(site, { size, hasVectors, queries, opens }) {
  const { page, context } = await site.newPage("engine.html");
  try {
    const call = (where, step, options) => where.evaluate(([name, given]) => globalThis.measure(name, given), [step, { size, hasVectors, ...options }]);
    const filled = await call(page, "fill", {});
    await page.close();
    const clearCache = async (page) => (await context.newCDPSession(page)).send("Network.clearBrowserCache");
    const fresh = async (step, options, before = async () => undefined) => {
      const next = await context.newPage();
      await before(next);
      await next.goto(`${site.url}/engine.html`);
      await next.waitForFunction(() => document.title === "ready");
      const answer = await call(next, step, options);
      // Optimised code is put beside the cached file some seconds after it was made, as in a page that stays open.
      if (step === "ask") await new Promise((done) => setTimeout(done, CODE_CACHE_MS));
      await next.close();
      return answer;
    };
    const asked = await fresh("ask", { queries });
    const first = { everywhere: [], within: [], uncached: [] };
    for (let run = 0; run < opens; run += 1) first.everywhere.push(await fresh("firstAnswer", { inOne: false }));
    for (let run = 0; run < opens; run += 1) first.within.push(await fresh("firstAnswer", { inOne: true }));
    for (let run = 0; run < opens; run += 1) first.uncached.push(await fresh("firstAnswer", { inOne: false }, clearCache));
    return { filled, open: first, ...asked };
  } finally {
    await context.close();
  }
}
