// `npm run test:long`: the tests that take longer than anybody waits for before a commit. Names of parts as arguments run only
// those. `--runs N` sets how much of each is run, `--seed N` where it begins; what fails prints how to replay it. `--list` prints
// the names, as JSON.

import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { nodeTest, testEngines } from "./engines.mjs";
import { testIdbFaults } from "./idb-faults.mjs";
import { Stop, ensureChromium, main, run, say } from "./toolchain.mjs";

/** By name: what it is, how many runs it has by default, how it is run. */
const PARTS = {
  crash: {
    say: "Browsers killed while they write, and the model of a power cut",
    runs: 50,
    run: ({ runs, seed }) => testEngines({ runs, seed }),
  },
  "clean-starts": {
    say: "Storage that lost nothing is never called damaged, in both of Chromium's back ends",
    runs: 1_000,
    run: ({ runs, seed }) => testBrowser("clean-starts", { RUNS: String(runs), SEED: String(seed) }),
  },
  tabs: {
    say: "Two tabs and a worker that summarise one conversation at once, in both of Chromium's back ends",
    runs: 1_000,
    run: ({ runs }) => testBrowser("tabs", { ROUNDS: String(runs) }, "summarise one conversation at once"),
  },
  upgrades: {
    say: "Killed behind each write of the upgrade of the oldest release's data, in both of Chromium's back ends",
    runs: 10,
    run: ({ runs }) => testBrowser("releases", { KILLS: String(runs) }, "killed in an upgrade"),
  },
  client: {
    say: "What is tested of an engine in a page, of one in a worker",
    runs: 1,
    run: async () => {
      for (const name of ["stream", "trees", "erasure", "tabs"]) await testBrowser(name, { THROUGH_WORKER: "1" });
    },
  },
  demo: {
    say: "The demo under axe by all rules in both themes and sizes, and under 100,000 nested quotes and lists",
    runs: 1,
    run: () => testBrowser("demo-safety", { DEMO_SAFETY: "whole" }),
  },
  leaks: {
    say: "Memories opened and closed, in the page and through a worker, and nothing left",
    runs: 200,
    run: ({ runs }) => testBrowser("leaks", { CYCLES: String(runs) }),
  },
  sync: {
    say: "Two devices and a server, or a sealed log, with random work, partitions and cuts",
    runs: 500,
    run: ({ runs, seed }) => run(process.execPath, ["--test", "tests/js/sync-random.test.mjs", "tests/js/sync-sealed.test.mjs"], { env: { SYNC_SEEDS: String(runs), SYNC_FIRST: String(seed) } }),
  },
  erasure: {
    say: "Erasing at any moment of what else is under way",
    runs: 1_000,
    run: ({ runs }) => run("cargo", ["test", "--test", "erasure_races"], { env: { ERASURE_SEEDS: String(runs) } }),
  },
  callbacks: {
    say: "Callbacks that do anything at random: no message is lost between the window and the summary",
    runs: 10_000,
    run: ({ runs, seed }) => run("cargo", ["test", "--test", "callback_faults"], { env: { CALLBACK_SEEDS: String(runs), CALLBACK_FIRST: String(seed) } }),
  },
  simulation: {
    say: "The engine over a simulated disk with faults, against a plain model",
    runs: 10_000,
    run: ({ runs, seed }) => simulation(runs, { SIMULATION_SEEDS: String(runs), SIMULATION_FIRST: String(seed) }, "engines_on"),
  },
  bits: {
    say: "Changed bits in what is made from messages: no answer is another, no summary says what nobody said",
    runs: 1_000,
    run: ({ runs, seed }) => simulation(runs, { SIMULATION_FLIPS: String(runs), SIMULATION_FIRST: String(seed) }, "a_changed_bit"),
  },
  "idb-faults": {
    say: "A thousand faults of IndexedDB over ten thousand operations, for each seed and both back ends",
    runs: 10,
    run: ({ runs, seed }) => testIdbFaults({ runs, seed }),
  },
};

/** The tests of one file in Chromium, all or those whose name has `only` in it. */
async function testBrowser(name, env, only = "") {
  const { browser } = await ensureChromium();
  await build();
  await nodeTest([`--test-name-pattern=${only}`, `tests/e2e/${name}.test.mjs`], { CHROME_PATH: browser, ...env });
}

/** Many runs are worth an optimised build. */
function simulation(runs, env, only) {
  const build = runs > 500 ? { CARGO_PROFILE_DEV_OPT_LEVEL: "3" } : {};
  return run("cargo", ["test", "--test", "simulation", only], { env: { ...build, ...env } });
}

await main(async () => {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { runs: { type: "string" }, seed: { type: "string" }, list: { type: "boolean" } } });
  if (values.list) return console.log(JSON.stringify(Object.keys(PARTS)));
  const unknown = positionals.find((name) => !(name in PARTS));
  if (unknown !== undefined) throw new Stop(`There is no part "${unknown}". The parts are ${Object.keys(PARTS).join(", ")}; none: all.`);
  for (const [name, part] of Object.entries(PARTS)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    console.log(`\n## ${part.say}`);
    const begin = Date.now();
    await part.run({ runs: Number(values.runs ?? part.runs), seed: Number(values.seed ?? 1) });
    say(`${name}: done in ${((Date.now() - begin) / 60_000).toFixed(1)} min`);
  }
});
