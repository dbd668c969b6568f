// Draws the inspector's parts with the example's style: docs/inspector.png, and phone and dark ones into a folder that is named.
//
//   node tests/adapters/look.mjs [folder]

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openSite } from "./site.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const styles = `${readFileSync(join(root, "docs/inspector.css"), "utf8")}
  body { margin: 0; background: light-dark(#fff, #11151b); } main { display: grid; gap: 1.5rem; padding: 1.5rem; max-width: 46rem; margin: auto; }`;
const LOOKS = [
  { name: "inspector", width: 820, colorScheme: "light", to: join(root, "docs") },
  { name: "inspector-dark", width: 820, colorScheme: "dark" },
  { name: "inspector-phone", width: 375, colorScheme: "light" },
  { name: "inspector-phone-dark", width: 375, colorScheme: "dark" },
];

const site = await openSite({ entry: "react-page.mjs", styles });
try {
  for (const { name, width, colorScheme, to = process.argv[2] } of LOOKS) {
    if (to === undefined) continue;
    const context = await site.browser.newContext({ viewport: { width, height: 900 }, colorScheme, deviceScaleFactor: 1 });
    const page = await site.openPage({ context });
    await page.evaluate(() => globalThis.render("look", { userId: "look", id: "c" }));
    await page.waitForSelector("[data-memory=ready]", { state: "attached" });
    await page.evaluate(fill);
    await page.getByText("Ship the importer").first().waitFor();
    await page.locator("details[data-section=retrieved] > summary").click();
    await page.locator("[data-level=conversation] > details > summary").click();
    await page.getByRole("button", { name: "Edit: Prefers short answers" }).focus();
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 500)));
    const path = join(to, `${name}.png`);
    await page.screenshot({ path, fullPage: true });
    console.log(path, await page.evaluate(() => document.documentElement.scrollWidth <= globalThis.innerWidth ? "fits" : "too wide"));
    await context.close();
  }
} finally {
  await site.close();
}

/** Runs in the page: something of everything. */
async function fill() {
  const { memory } = globalThis;
  await memory.conversations.create({ id: "c" });
  const talk = (topic) => [{ role: "user", content: `About ${topic}: ${"and so on ".repeat(60)}` }, { role: "assistant", content: `Done with ${topic}. ${"as planned ".repeat(60)}` }];
  await memory.append("c", [{ role: "user", content: "Which port is free?" }, { role: "assistant", content: "8471 is free." }, ...["boats", "trains", "planes", "cars", "bikes"].flatMap(talk)]);
  await memory.facts.add({ fact: "Prefers short answers", pinned: true });
  await memory.facts.add({ fact: "Wants dashboards with five colours at most, and says so in long sentences that take several lines on a phone", localOnly: true });
  await memory.facts.add({ fact: "Works on the importer", suggested: true });
  await memory.compact("c", { force: true });
}
