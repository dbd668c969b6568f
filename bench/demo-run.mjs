// The demo as a visitor meets it: when the first thing is painted, when a question can be asked, and what was downloaded for it.

import { gzipSync } from "node:zlib";
import { bundleDemo } from "../scripts/www.mjs";
import { serve } from "../scripts/serve.mjs";
import { ensureChromium } from "../scripts/toolchain.mjs";

const SWITCHES = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const VIEWPORT = { width: 1280, height: 800 };

/**
 * @param {{ runs: number, say: (text: string) => void }} options
 * @returns {Promise<object>} Milliseconds of each run from the start of navigation, and the files of a first visit.
 */
export async function runDemo({ runs, say }) {
  await bundleDemo();
  const { browser: executablePath } = await ensureChromium();
  const { chromium } = await import("playwright-core");
  const server = await serve({ port: 0 });
  const browser = await chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0, args: SWITCHES });
  try {
    const first = [];
    const again = [];
    let files = [];
    for (let run = 0; run < runs; run += 1) {
      say(`the demo, visit ${run + 1} of ${runs}`);
      const context = await browser.newContext({ viewport: VIEWPORT });
      const loaded = [];
      const page = await newPage(context, loaded);
      await page.goto(server.url);
      first.push(await timesOf(page));
      files = await weigh(loaded);
      await page.click("#try-sample");
      await page.waitForSelector(".chip");
      await page.close();
      const next = await newPage(context, []);
      await next.goto(server.url);
      again.push(await timesOf(next));
      await context.close();
    }
    return { runs, first, again, files };
  } finally {
    await browser.close();
    await server.close();
  }
}

async function newPage(context, loaded) {
  const page = await context.newPage();
  page.on("response", (response) => loaded.push(response));
  await page.addInitScript(() => {
    const look = () => {
      const isReady = document.querySelector('#status[data-kind="ready"]') && document.querySelector("#ask")?.disabled === false;
      if (isReady) globalThis.readyAt = performance.now();
      else setTimeout(look, 2);
    };
    look();
  });
  return page;
}

async function timesOf(page) {
  await page.waitForFunction(() => globalThis.readyAt !== undefined && performance.getEntriesByName("first-contentful-paint").length > 0);
  return page.evaluate(() => ({ paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, ready: globalThis.readyAt }));
}

/** As a server that packs would send it. */
async function weigh(responses) {
  const files = [];
  for (const response of responses.filter((each) => each.status() === 200)) {
    const body = await response.body().catch(() => Buffer.alloc(0));
    // What the bundler names by content has another name in every build.
    const path = new URL(response.url()).pathname.replace(/-[A-Z0-9]{8}\.js$/, ".js");
    files.push({ path, bytes: body.length, gzip: gzipSync(body, { level: 9 }).length });
  }
  return files.sort((one, other) => other.gzip - one.gzip);
}

/** Smaller files are listed as one. */
const SMALL_BYTES = 2_000;
const median = (values) => [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];

/** As Markdown. @returns {string} */
export function demoTables({ runs, first, again, files }) {
  const ms = (visits, name) => `${median(visits.map((visit) => visit[name])).toFixed(0)} (most ${Math.max(...visits.map((visit) => visit[name])).toFixed(0)})`;
  const kilobytes = (bytes) => (bytes / 1_000).toFixed(1);
  const small = files.filter(({ gzip }) => gzip < SMALL_BYTES);
  const sum = (some, name) => some.reduce((total, file) => total + file[name], 0);
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const rows = [
    ...files.filter(({ gzip }) => gzip >= SMALL_BYTES).map(({ path, bytes, gzip }) => [path, kilobytes(bytes), kilobytes(gzip)]),
    [`${small.length} smaller ones`, kilobytes(sum(small, "bytes")), kilobytes(sum(small, "gzip"))],
    ["**all**", kilobytes(sum(files, "bytes")), kilobytes(sum(files, "gzip"))],
  ];
  return [
    `Median of ${runs} visits, milliseconds from the start of the navigation (and the longest):`,
    "",
    line(["", "first paint", "ready to ask"]),
    line(["---", "---", "---"]),
    line(["first visit, nothing cached", ms(first, "paint"), ms(first, "ready")]),
    line(["second visit, 566 messages stored", ms(again, "paint"), ms(again, "ready")]),
    "",
    line(["until it is ready", "KB", "KB gzip"]),
    line(["---", "---", "---"]),
    ...rows.map(line),
  ].join("\n");
}
