// What a release needs beside `npm publish`; used by .github/workflows/release.yml.
//
// node scripts/release.mjs check v1.2.3    the tag, package.json, Cargo.toml and the changelog's newest heading agree
// node scripts/release.mjs notes v1.2.3    prints what the changelog says about that version, and the hash of the engine in dist/

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { hashOf, toolsOfBuild } from "./reproduce.mjs";
import { ROOT, Stop, main } from "./toolchain.mjs";

/** What is wrong with releasing this tag, a sentence each; none where nothing is. */
export function problems(tag, { manifest, cargo, changelog }) {
  const found = [];
  const version = tag.replace(/^v/, "");
  if (!/^v\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(tag)) found.push(`The tag "${tag}" is no version like v1.2.3.`);
  if (manifest.version !== version) found.push(`package.json has version ${manifest.version}, and the tag is ${tag}.`);
  const [, crate] = /^version = "(.*)"$/m.exec(cargo) ?? [];
  if (crate !== version) found.push(`Cargo.toml has version ${crate}, and the tag is ${tag}.`);
  const [, newest, date] = /^## (\S+), (.+)$/m.exec(changelog) ?? [];
  if (newest !== version) found.push(`The newest heading of CHANGELOG.md is of version ${newest}.`);
  else if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) found.push(`CHANGELOG.md says "${date}" where the date of ${version} belongs.`);
  return found;
}

/** The part of the changelog that is about one version, without its heading. */
export function notes(tag, changelog) {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((each) => each.startsWith(`${tag.replace(/^v/, "")},`));
  if (section === undefined) throw new Stop(`CHANGELOG.md has nothing about ${tag}.`);
  return section.slice(section.indexOf("\n") + 1).trim();
}

/** What the notes say about the file that the sources must give again, wherever they are built with the same tools. */
export function fingerprint(hash, tools) {
  return `\`dist/engine.wasm\`: SHA-256 \`${hash}\`, built with ${tools}. SECURITY.md says how to build it again.`;
}

function read(name) {
  return readFileSync(join(ROOT, name), "utf8");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(() => {
    const [command, tag = ""] = process.argv.slice(2);
    if (command === "notes") return void console.log(`${notes(tag, read("CHANGELOG.md"))}\n\n${fingerprint(hashOf(join(ROOT, "dist/engine.wasm")), toolsOfBuild())}`);
    if (command !== "check") throw new Stop("Say `check` or `notes`, and the tag.");
    const found = problems(tag, { manifest: JSON.parse(read("package.json")), cargo: read("Cargo.toml"), changelog: read("CHANGELOG.md") });
    if (found.length > 0) throw new Stop(found.join("\n"));
    console.log(`${tag} can be released.`);
  });
}
