// Runs the browser tests of storage on both of Chromium's IndexedDB back ends: the one it uses now, and SQLite, which it
// is moving new stores to. They differ in limits and in what they do when a store is full or damaged.
//
//   node scripts/test-browser-store.mjs [leveldb|sqlite] [--costs]
//
// Needs wasm-bindgen-test-runner (of the version in Cargo.toml) on the PATH, and chromedriver there or in CHROMEDRIVER.
import { spawnSync } from "node:child_process";

const backEnds = { leveldb: "webdriver.json", sqlite: "webdriver-sqlite.json" };
const given = process.argv.slice(2);
const wanted = given.filter((argument) => argument in backEnds);
const files = given.includes("--costs")
  ? ["store_costs"]
  : ["store_browser", "store_browser_faults", "store_browser_page", "store_browser_service_worker"];

for (const backEnd of wanted.length > 0 ? wanted : Object.keys(backEnds)) {
  console.log(`IndexedDB on ${backEnd}`);
  const { status } = spawnSync(
    "cargo",
    [
      "test", "--target", "wasm32-unknown-unknown", "--features", "wasm",
      ...files.flatMap((file) => ["--test", file]),
      ...(given.includes("--costs") ? ["--", "--nocapture"] : []),
    ],
    {
      stdio: "inherit",
      env: { CHROMEDRIVER: "chromedriver", ...process.env, WASM_BINDGEN_TEST_WEBDRIVER_JSON: backEnds[backEnd] },
    },
  );
  if (status !== 0) process.exit(status ?? 1);
}
