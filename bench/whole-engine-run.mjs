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

async function runOne(site, { size, hasVectors, queries, opens }) {
  const { page, context } = await site.newPage("engine.html");
  try {
    const call = (where, step, options) => where.evaluate(([name, given]) => globalThis.measure(name, given), [step, { size, hasVectors, ...options }]);
    const filled = await call(page, "fill", {});
    await page.close();
    const fresh = async (step, options) => {
      const next = await context.newPage();
      await next.goto(`${site.url}/engine.html`);
      await next.waitForFunction(() => document.title === "ready");
      const answer = await call(next, step, options);
      await next.close();
      return answer;
    };
    const first = { everywhere: [], within: [] };
    for (let run = 0; run < opens; run += 1) first.everywhere.push(await fresh("firstAnswer", { inOne: false }));
    for (let run = 0; run < opens; run += 1) first.within.push(await fresh("firstAnswer", { inOne: true }));
    const asked = await fresh("ask", { queries });
    return { filled, open: first, ...asked };
  } finally {
    await context.close();
  }
}
