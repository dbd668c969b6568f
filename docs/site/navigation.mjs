// Which pages there are and where each stands in the navigation. A file put into docs/ is a page at once.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/toolchain.mjs";

/** What is in docs/ and not named here is a recipe. */
const GROUPS = [
  { name: "Start", sources: ["README.md", "docs/guide.md", "docs/concepts.md", "docs/environments.md"] },
  { name: "Recipes", sources: [] },
  { name: "Facts", sources: ["docs/privacy.md", "docs/comparison.md", "docs/memory.md", "docs/formats.md", "docs/backup.md", "docs/reliability.md"] },
  { name: "Reference", sources: [] },
  { name: "Project", sources: ["ARCHITECTURE.md", "BENCHMARKS.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"] },
];
const NAMED = new Set(GROUPS.flatMap(({ sources }) => sources));

/** Names of the groups, in order. */
export const GROUP_NAMES = GROUPS.map(({ name }) => name);

/**
 * The pages that are written by hand.
 *
 * @returns {{ source: string, file: string, group: string, text: string }[]} `source`: from the root of the repository;
 * `file`: the page's address on the site.
 */
export function writtenPages() {
  return GROUPS.flatMap(({ name, sources }) => [...sources, ...(name === "Recipes" ? recipes() : [])]
    .filter((source) => existsSync(join(ROOT, source)))
    .map((source) => ({ source, file: fileOf(source), group: name, text: readFileSync(join(ROOT, source), "utf8") })));
}

function recipes() {
  return readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`).filter((source) => !NAMED.has(source)).sort();
}

function fileOf(source) {
  return source === "README.md" ? "index.html" : `${source.replace(/^docs\//, "").replace(/\.md$/, "").toLowerCase()}.html`;
}
