// The documentation as its reader: the search that the engine does, keyboard, phone and desktop, light and dark. With
// SCREENSHOTS=dir it leaves pictures there.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";
import { launchBrowser } from "./browser.mjs";

let browser;
let folder;
let pages;
let server;
const foreign = [];
const errors = [];

async function open(file, { width = 1440, height = 900, colorScheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url)) foreign.push(request.url());
  });
  await page.goto(`${server.url}/${file}`);
  return page;
}

const found = (page) => page.locator("#finder-hits a").evaluateAll((links) => links.map(({ href, textContent }) => ({ href, text: textContent })));

async function search(page, query) {
  await page.fill("#finder", query);
  await page.waitForSelector('#finder-hits[aria-busy="false"] a');
  return found(page);
}

async function picture(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) });
}

before(async () => {
  const { buildSite } = await import("../../docs/site/build.mjs");
  folder = mkdtempSync(join(tmpdir(), "throughline-docs-"));
  ({ pages } = await buildSite(folder));
  // The policy of the pages themselves, in their meta elements, is what is tested.
  server = await serve({ port: 0, mounts: { "/": folder }, headers: {} });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("the engine finds sections by words, identifiers and error codes, and a hit leads to its heading", async (context) => {
  const page = await open("guide.html");
  const begin = performance.now();
  await page.fill("#finder", "token budget");
  await page.waitForSelector("#finder-hits a");
  const first = performance.now() - begin;
  await page.waitForSelector('#finder-hits[aria-busy="false"] a');
  context.diagnostic(`first hit ${first.toFixed(0)} ms after the first key, all pages are searched after ${(performance.now() - begin).toFixed(0)} ms`);
  const budget = await search(page, "budget_infeasible");
  assert.ok(budget.some(({ href }) => href.endsWith("/errors.html#budget_infeasible")), JSON.stringify(budget.map(({ href }) => href)));
  const backup = await search(page, "how is a backup encrypted");
  assert.ok(backup.some(({ href }) => href.includes("/backup.html#encrypted")), JSON.stringify(backup.map(({ href }) => href)));
  const [type] = await search(page, "RecallOptions");
  assert.ok(type.href.endsWith("#RecallOptions"), type.href);
  await picture(page, "docs-search");
  assert.ok(backup.every(({ text }) => text.length > 10));
  
  const [{ href }] = await search(page, "how is a backup encrypted");
  await page.locator("#finder-hits a").first().click();
  await page.waitForURL(href);
  assert.equal(await page.locator(":target").count(), 1);
  await page.context().close();
});

test("once it is open the search needs no network", async () => {
  const page = await open("index.html");
  await search(page, "rolling summary");
  await page.context().setOffline(true);
  assert.ok((await search(page, "erase everything of a user")).length > 0);
  await page.context().close();
});

test("the search works by keyboard alone, and is told to screen readers", async () => {
  const page = await open("concepts.html", { width: 390, height: 844 });
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "finder");
  await page.keyboard.type("trust");
  await page.waitForSelector('#finder-hits[aria-busy="false"] a');
  assert.match(await page.textContent("#finder-status"), /^\d sections? found$/);
  assert.equal(await page.getAttribute("#finder-status", "role"), "status");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const [, second] = await found(page);
  assert.equal(await page.evaluate(() => document.activeElement.href), second.href);
  await page.keyboard.press("Escape");
  assert.deepEqual(await page.evaluate(() => [document.activeElement.id, document.querySelector(".found").hidden]), ["finder", true]);
  await page.keyboard.type("trust");
  await page.waitForSelector('#finder-hits[aria-busy="false"] a');
  const [best] = await found(page);
  await page.keyboard.press("Enter");
  await page.waitForURL(best.href);
  await page.context().close();
});

/** What has too little contrast to its background, of the texts of a page. Runs in the page. */
function faintTexts() {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const [red, green, blue] = numbers(colour).map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const backgroundOf = (element) => {
    for (let each = element; each !== null; each = each.parentElement) {
      const colour = globalThis.getComputedStyle(each).backgroundColor;
      const [, , , alpha = 1] = numbers(colour);
      if (alpha > 0.99) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const faint = new Set();
  const walker = document.createTreeWalker(document.body, globalThis.NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (walker.currentNode.textContent.trim() === "" || !element.checkVisibility()) continue;
    const [one, other] = [light(globalThis.getComputedStyle(element).color), light(backgroundOf(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) faint.add(`${element.tagName}.${element.className}: ${ratio.toFixed(2)}`);
  }
  return [...faint];
}

/** Controls without a name, and focus that does not show. Runs in the page. */
function namelessControls() {
  return [...document.querySelectorAll("a, button, input, nav, [tabindex='0']")].filter((element) => element.checkVisibility()).filter((element) => {
    const label = element.getAttribute("aria-label") ?? (element.labels?.[0]?.textContent || element.textContent);
    return label.trim() === "";
  }).map(({ outerHTML }) => outerHTML.slice(0, 100));
}

test("on phone and desktop, light and dark: nothing spills over, nothing is faint, everything has a name", async () => {
  const chosen = ["index.html", "concepts.html", "privacy.html", "errors.html", "api/index.html", "api/throughline.html"];
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 1440]) {
      const page = await open(chosen[0], { width, height: 800, colorScheme });
      for (const file of chosen) {
        await page.goto(`${server.url}/${file}`);
        const at = `${file}, ${width} wide, ${colorScheme}`;
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= globalThis.innerWidth), `${at} is wider than the window`);
        assert.deepEqual(await page.evaluate(faintTexts), [], at);
        assert.deepEqual(await page.evaluate(namelessControls), [], at);
        await picture(page, `docs-${file.replaceAll(/\W/g, "-")}-${width}-${colorScheme}`);
      }
      await page.context().close();
    }
  }
});

test("every page opens without an error, and asks nobody but its own host", async () => {
  const page = await open("index.html");
  for (const { file } of pages) await page.goto(`${server.url}/${file}`, { waitUntil: "load" });
  await page.context().close();
  assert.deepEqual(errors, []);
  assert.deepEqual(foreign, []);
});
