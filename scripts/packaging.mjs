// `npm run test:packaging`: the packed tarball in tiny apps of every bundler and runtime, each installed, built, run and taken
// away again, and a table of what was seen. Names of environments as arguments run only those. What it downloads from the
// package registry it says; tests/packaging has the apps.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "./build.mjs";
import { Stop, ensureChromium, ensurePackages, main, say } from "./toolchain.mjs";

/**
 * Runs environments, and answers with a row for each mode of each.
 *
 * @param {string[]} names Of tests/packaging/environments.mjs.
 */
export async function testPackaging(names) {
  const { ENVIRONMENTS } = await import("../tests/packaging/environments.mjs");
  const { pack } = await import("../tests/packaging/apps.mjs");
  const folder = mkdtempSync(join(tmpdir(), "throughline-tarball-"));
  try {
    const tarball = await pack(folder);
    const rows = [];
    for (const name of names) rows.push(...(await testEnvironment(name, ENVIRONMENTS[name], tarball)));
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function testEnvironment(template, environment, tarball) {
  const { makeApp, wrong } = await import("../tests/packaging/apps.mjs");
  const { name, packages, shared, modes, needs = "nothing" } = environment;
  const row = { name, version: "", needs };
  let app;
  try {
    app = await makeApp(tarball, { template, packages, shared });
    row.version = environment.version?.() ?? (environment.package === undefined ? "" : app.version(environment.package));
    const rows = [];
    for (const [mode, entry] of Object.entries(modes)) rows.push({ ...row, mode, ...(await runMode(app, environment, entry, wrong)) });
    return rows;
  } catch (error) {
    return [{ ...row, mode: "install", failure: error.message }];
  } finally {
    app?.remove();
  }
}

async function runMode(app, environment, entry, wrong) {
  const { run = entry, isStored = environment.isStored ?? true } = entry;
  const begin = Date.now();
  const seconds = () => (Date.now() - begin) / 1_000;
  try {
    const outcome = await run(app);
    if (environment.isCompiled) return { outcome, seconds: seconds() };
    return { isStored, outcome, failure: wrong(outcome, { isStored }), seconds: seconds() };
  } catch (error) {
    return { failure: error.message, seconds: seconds() };
  }
}

/** The rows as a table in Markdown. */
export function table(rows) {
  const lines = rows.map(({ name, version, mode, needs, failure, isStored, outcome }) => {
    const { bytes, came } = outcome ?? {};
    const files = came === undefined ? "" : Object.entries(came).map(([file, how]) => `${file} ${how}`).join(", ");
    const cells = [
      `${name}${version === "" ? "" : ` ${version}`}`, mode, failure === undefined ? "works" : "fails", needs,
      isStored === undefined ? "" : isStored ? "IndexedDB" : "memory", files, bytes === undefined ? "" : `${(bytes / 1e6).toFixed(1)} MB`,
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return ["| environment | mode | result | needs | storage | how files came | downloaded |", "|---|---|---|---|---|---|---|", ...lines].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(async () => {
    await ensurePackages();
    const { ENVIRONMENTS } = await import("../tests/packaging/environments.mjs");
    const known = Object.keys(ENVIRONMENTS);
    const names = process.argv.length > 2 ? process.argv.slice(2) : known;
    const unknown = names.find((name) => !known.includes(name));
    if (unknown !== undefined) throw new Stop(`There is no environment "${unknown}". There are ${known.join(", ")}; none: all.`);
    const { browser } = await ensureChromium();
    process.env.CHROME_PATH ??= browser;
    await build();
    const rows = [];
    for (const name of names) {
      say(`${name} ...`);
      const some = await testPackaging([name]);
      for (const { mode, failure, seconds = 0 } of some) say(`  ${mode}: ${failure === undefined ? "works" : `fails. ${failure}`} (${seconds.toFixed(1)} s)`);
      rows.push(...some);
    }
    console.log(`\n${table(rows)}`);
    const failed = rows.filter(({ failure }) => failure !== undefined).length;
    console.log(`\n${rows.length - failed} passed, ${failed} failed`);
    if (failed > 0) process.exitCode = 1;
  });
}
