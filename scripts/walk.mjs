// `node scripts/walk.mjs`: walks through the demo in Chromium and leaves a picture of every view in docs/walk, on a desktop in the
// light and on a phone in the dark. The package must be built.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { serve } from "./serve.mjs";
import { ROOT, Stop, ensureChromium, main, say } from "./toolchain.mjs";
import { bundleDemo } from "./www.mjs";

const FOLDER = join(ROOT, "docs/walk");
/** All pictures together: they are in the repository. */
const MOST_BYTES = 600_000;
/** The first that keeps to that is taken. */
const QUALITIES = [0.7, 0.6, 0.5, 0.4];

const DEVICES = [
  { name: "desktop", viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1, colorScheme: "light" },
  { name: "phone", viewport: { width: 390, height: 844 }, deviceScaleFactor: 1, colorScheme: "dark", hasTouch: true, isMobile: true },
];

const ready = (page) => page.waitForSelector('#status[data-kind="ready"]', { timeout: 120_000 });
const show = async (page, view) => {
  await page.locator(`#nav-${view}`).click();
  await page.waitForTimeout(300);
};

/** The walk: a name for each picture, and what is done before it is taken. */
const STEPS = [
  { name: "welcome", go: (page) => ready(page) },
  {
    name: "question",
    go: async (page) => {
      await page.click("#try-sample");
      await page.waitForSelector(".chip");
      await ready(page);
      await page.locator(".chip").first().click();
      await page.waitForSelector(".inquiry .find");
    },
  },
  {
    name: "context",
    go: async (page) => {
      await show(page, "context");
      await page.locator(".segment.hit").first().click();
      await page.waitForSelector("#chosen-piece .quote");
    },
  },
  {
    name: "race",
    go: async (page) => {
      await show(page, "race");
      await page.waitForSelector(".race-progress[hidden]", { state: "attached", timeout: 120_000 });
    },
  },
  {
    name: "benchmark",
    go: async (page) => {
      await show(page, "benchmark");
      await page.selectOption("#benchmark-size", "1000");
      await page.click("#benchmark-run");
      await page.waitForSelector("#benchmark-copy:not([hidden])", { timeout: 120_000 });
    },
  },
  {
    name: "memory",
    go: async (page) => {
      await show(page, "memory");
      for (const fact of ["Answers short, code first, TypeScript without semicolons", "Sings alto in a choir in Leipzig"]) {
        await page.fill("#fact-text", fact);
        await page.keyboard.press("Enter");
        await page.waitForFunction((text) => document.querySelector("#view-memory").textContent.includes(text), fact);
      }
    },
  },
  { name: "import", go: (page) => show(page, "import") },
  { name: "models", go: (page) => show(page, "models") },
  { name: "privacy", go: (page) => show(page, "privacy") },
];

async function walk() {
  await bundleDemo();
  const { browser: executablePath } = await ensureChromium();
  const { chromium } = await import("playwright-core");
  const server = await serve({ port: 0 });
  const browser = await chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0, args: ["--disable-gpu", "--no-first-run"] });
  const taken = [];
  let pictures;
  try {
    for (const { name, ...device } of DEVICES) {
      const page = await (await browser.newContext({ ...device, reducedMotion: "reduce" })).newPage();
      await page.goto(server.url);
      for (const step of STEPS) {
        await step.go(page);
        await page.waitForTimeout(400);
        taken.push({ file: `${step.name}-${name}.webp`, png: await page.screenshot() });
        say(`${step.name}, ${name}`);
      }
    }
    pictures = await packed(await (await browser.newContext()).newPage(), taken);
  } finally {
    await browser.close();
    await server.close();
  }
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const { file, bytes } of pictures) writeFileSync(join(FOLDER, file), bytes);
  say(`${pictures.length} pictures in docs/walk, ${(sizeOf(pictures) / 1_000).toFixed(0)} KB.`);
}

const sizeOf = (pictures) => pictures.reduce((sum, { bytes }) => sum + bytes.length, 0);

async function packed(darkroom, taken) {
  for (const quality of QUALITIES) {
    const pictures = [];
    for (const { file, png } of taken) pictures.push({ file, bytes: await webp(darkroom, png, quality) });
    if (sizeOf(pictures) <= MOST_BYTES) return pictures;
  }
  throw new Stop(`The pictures take more than ${MOST_BYTES} bytes at the lowest quality: take fewer in scripts/walk.mjs.`);
}

/** Chromium itself packs the picture: it has the codec. */
async function webp(page, png, quality) {
  const url = await page.evaluate(async ([data, quality]) => {
    const blob = await (await fetch(`data:image/png;base64,${data}`)).blob();
    const image = await globalThis.createImageBitmap(blob);
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", quality);
  }, [png.toString("base64"), quality]);
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(walk);
