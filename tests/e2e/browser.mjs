// Starts a headless Chromium for the end-to-end tests. `npm test` names it in CHROME_PATH.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { chromium } from "playwright-core";

const SWITCHES = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** How it is started. */
export function browserOptions(switches = []) {
  return {
    executablePath: process.env.CHROME_PATH ?? "/usr/bin/chromium",
    // Chromium's sandbox cannot be used by root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [...SWITCHES, ...switches],
  };
}

/** A browser; close it when done. With `keepPages`, pages that are left stay in its cache, as they do for people. */
export function launchBrowser(switches = [], { keepPages = false } = {}) {
  return chromium.launch({ ...browserOptions(switches), ignoreDefaultArgs: keepPages ? ["--disable-back-forward-cache"] : [] });
}

/** Waits until an async predicate of the page is true. `waitForFunction` does not wait for promises: to it every promise is true. */
export async function eventually(page, predicate, limitMs = 30_000) {
  const end = performance.now() + limitMs;
  while (!(await page.evaluate(predicate))) {
    assert.ok(performance.now() < end, `not true within ${limitMs} ms: ${predicate}`);
    await pause(20);
  }
}
