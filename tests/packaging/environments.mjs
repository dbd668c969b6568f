// Every environment that the package is shown to work in, none with a plugin or a setting for it. Each entry makes its app,
// runs it and answers with an outcome per mode.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { version as esbuildVersion } from "esbuild";
import { serve } from "../../scripts/serve.mjs";
import { inBrowser, lastJson, withServer } from "./apps.mjs";
import { extension } from "./extension.mjs";

const API_TYPES = new URL("../types/api.ts", import.meta.url);
const ESBUILD = fileURLToPath(new URL("../../node_modules/.bin/esbuild", import.meta.url));

/** What an app's build wrote, served as plain files, and opened. */
async function served(app, folder = ".") {
  const engines = readdirSync(join(app.folder, folder), { recursive: true }).filter((name) => name.endsWith(".wasm") && !name.includes("node_modules"));
  if (engines.length > 1) throw new Error(`The engine was written more than once: ${engines.join(", ")}`);
  const server = await serve({ port: 0, mounts: { "/": join(app.folder, folder) }, headers: {} });
  try {
    return await inBrowser(`${server.url}/`);
  } finally {
    await server.close();
  }
}

/** A page with one script, for bundlers that make no page. */
const pageOf = (script) => `<!doctype html><meta charset="utf-8"><title>throughline</title>${script}`;

/** The same with the engine in a worker of the app's own. `page`: the file that asks for the outcome. */
function inWorker(run, page = "page.js") {
  return (app) => {
    app.write(page, app.read(page).replace("/job.js", "/worker-job.js"));
    return run(app);
  };
}

/** Modes, and each once more with a worker. */
function alsoInWorker(modes, page) {
  return { ...modes, ...Object.fromEntries(Object.entries(modes).map(([mode, run]) => [`${mode}, worker`, inWorker(run, page)])) };
}

/** Vite, in every major alike. */
const vite = {
  package: "vite",
  modes: alsoInWorker({
    dev: (app) => withServer(app, "vite", (port) => ["--port", port, "--strictPort", "--host", "localhost"], inBrowser),
    build: async (app) => {
      await app.bin("vite", ["build"]);
      return served(app, "dist");
    },
  }),
};

/** Next with one of its bundlers: a page in the browser, one with the hooks, and one that is rendered on the server, of the same build. */
function nextModes(bundler, flags) {
  const start = (app, use) => withServer(app, "next", (port) => ["start", "-p", port], use);
  return {
    [`client component, ${bundler}`]: async (app) => {
      await app.bin("next", ["build", ...flags]);
      return start(app, (url) => inBrowser(`${url}client`));
    },
    [`\`throughline/react\`, ${bundler}`]: (app) => start(app, (url) => inBrowser(`${url}hooks`)),
    [`server component, ${bundler}`]: { isStored: false, run: (app) => start(app, async (url) => fromHtml(await (await fetch(url)).text())) },
  };
}

/** What prints its outcome. */
const printed = (name, args) => async (app) => lastJson(await app.run(name, args(app)));

/** What a test runner's test wrote. */
const written = (bin, args, env) => async (app) => {
  await app.bin(bin, args, env);
  return JSON.parse(app.read("outcome.json"));
};

export const ENVIRONMENTS = {
  "plain-module": {
    name: "Plain `<script type=\"module\">`", packages: false,
    modes: alsoInWorker({
      page: (app) => {
        // Workers have no import maps.
        app.write("memory-worker.js", `import "./node_modules/throughline/dist/worker/index.js";\n`);
        const map = { imports: { throughline: "./node_modules/throughline/dist/index.js", "throughline/": "./node_modules/throughline/dist/" } };
        map.imports["throughline/static-embedder"] = "./node_modules/throughline/dist/static-embedder.js";
        map.imports["throughline/client"] = "./node_modules/throughline/dist/client/index.js";
        app.write("index.html", pageOf(`<script type="importmap">${JSON.stringify(map)}</script><script type="module" src="./page.js"></script>`));
        return served(app);
      },
    }),
  },
  node: {
    name: "Node", packages: false, version: () => process.versions.node, isStored: false,
    modes: { import: printed(process.execPath, () => ["print.mjs"]), require: printed(process.execPath, () => ["print.cjs"]) },
  },
  // The repository's own, so that it is a part of `npm test`.
  esbuild: {
    name: "esbuild", packages: false, version: () => esbuildVersion,
    modes: {
      "split, ESM": async (app) => {
        await app.run(ESBUILD, ["page.js", "--bundle", "--splitting", "--format=esm", "--outdir=split"]);
        app.write("split/index.html", pageOf(`<script type="module" src="page.js"></script>`));
        return served(app, "split");
      },
      "one classic script": async (app) => {
        await app.run(ESBUILD, ["page.js", "--bundle", "--outfile=one/page.js", "--log-level=error"]);
        app.write("one/index.html", pageOf(`<script src="page.js"></script>`));
        return served(app, "one");
      },
    },
  },
  vite: { ...vite, name: "Vite" },
  "vite-7": { ...vite, name: "Vite, previous major" },
  webpack: {
    name: "webpack", package: "webpack",
    modes: alsoInWorker({
      build: async (app) => {
        await app.bin("webpack", ["./page.js", "--mode", "production"]);
        app.write("dist/index.html", pageOf(`<script src="main.js"></script>`));
        return served(app, "dist");
      },
    }),
  },
  rspack: {
    name: "rspack", package: "@rspack/core",
    modes: alsoInWorker({
      build: async (app) => {
        await app.bin("rspack", ["build", "--entry", "./page.js", "--mode", "production"]);
        app.write("dist/index.html", pageOf(`<script src="main.js"></script>`));
        return served(app, "dist");
      },
    }),
  },
  rollup: {
    name: "Rollup with its node-resolve", package: "rollup",
    modes: {
      build: async (app) => {
        await app.bin("rollup", ["page.js", "-p", "node-resolve", "-d", "dist", "-f", "es"]);
        app.write("dist/index.html", pageOf(`<script type="module" src="page.js"></script>`));
        return served(app, "dist");
      },
    },
  },
  parcel: {
    name: "Parcel", package: "parcel",
    modes: alsoInWorker({
      build: async (app) => {
        await app.bin("parcel", ["build", "index.html", "--no-cache"]);
        return served(app, "dist");
      },
    }),
  },
  next: {
    name: "Next", package: "next",
    modes: {
      ...nextModes("Turbopack", []),
      ...nextModes("webpack", ["--webpack"]),
      "client component, worker, Turbopack": inWorker(nextModes("Turbopack", [])["client component, Turbopack"], "app/client/page.js"),
      "client component, dev": (app) => withServer(app, "next", (port) => ["dev", "-p", port], (url) => inBrowser(`${url}client`)),
    },
  },
  sveltekit: {
    // Its development server gives out what is in src, and nothing beside it.
    name: "SvelteKit", package: "@sveltejs/kit", shared: "src",
    modes: {
      "page, dev": (app) => withServer(app, "vite", (port) => ["--port", port, "--strictPort", "--host", "localhost"], (url) => inBrowser(`${url}client`)),
      "page, build": async (app) => {
        await app.bin("vite", ["build"]);
        return withServer(app, "vite", (port) => ["preview", "--port", port, "--strictPort", "--host", "localhost"], (url) => inBrowser(`${url}client`));
      },
      "server load, build": {
        isStored: false,
        run: (app) => withServer(app, "vite", (port) => ["preview", "--port", port, "--strictPort", "--host", "localhost"], async (url) => fromHtml(await (await fetch(`${url}server`)).text())),
      },
    },
  },
  deno: {
    name: "Deno", package: "deno", isStored: false,
    modes: { import: printed("node_modules/@deno/linux-x64-glibc/deno", () => ["run", "--allow-read", "--no-lock", "print.mjs"]) },
  },
  bun: {
    name: "Bun", package: "bun", isStored: false,
    modes: {
      import: printed("node_modules/@oven/bun-linux-x64/bin/bun", () => ["run", "print.mjs"]),
      require: printed("node_modules/@oven/bun-linux-x64/bin/bun", () => ["run", "print.cjs"]),
    },
  },
  vitest: {
    name: "Vitest", package: "vitest", isStored: false,
    modes: Object.fromEntries(["node", "jsdom"].map((environment) => [environment, written("vitest", ["run", `--environment=${environment}`])])),
  },
  jest: {
    name: "Jest", package: "jest", isStored: false, needs: "`--experimental-vm-modules`, Jest's own switch for modules",
    modes: { node: written("jest", ["--transform={}"], { NODE_OPTIONS: "--experimental-vm-modules" }) },
  },
  // As wrangler does it, which wants a newer Node than the oldest that is supported here.
  workers: {
    name: "Cloudflare's workerd", package: "workerd", isStored: false,
    modes: {
      "bundled by esbuild": async (app) => {
        await app.run(ESBUILD, [
          "worker.js", "--bundle", "--format=esm", "--conditions=workerd,worker,browser", "--loader:.wasm=copy", "--asset-names=[name]", "--outdir=dist", "--log-level=error",
        ]);
        const serve = (port) => ["serve", "workerd.capnp", `--socket-addr=http=127.0.0.1:${port}`];
        return withServer(app, "node_modules/@cloudflare/workerd-linux-64/bin/workerd", serve, async (url) => (await fetch(`${url}run`)).json());
      },
    },
  },
  extension,
  typescript: {
    name: "TypeScript, `strict`", isCompiled: true,
    modes: {
      ...Object.fromEntries(["5.0", "5.4", "5.9", "7.0"].map((version) => [version, compiled(`typescript-${version}`, "api.ts")])),
      "with the SDKs of OpenAI, Anthropic and Google": compiled("typescript-5.9", "sdk.ts"),
    },
  },
};

/** Compiles a file of types, under the resolution of bundlers and that of Node. */
function compiled(compiler, file) {
  return async (app) => {
    app.write("api.ts", readFileSync(API_TYPES, "utf8"));
    // Declarations of libraries are checked too, ours with them; the SDKs' own are not ours to check.
    const options = { strict: true, noEmit: true, target: "es2022", lib: ["es2022", "dom", "dom.iterable"], types: [], skipLibCheck: file === "sdk.ts" };
    for (const [module, moduleResolution] of [["esnext", "bundler"], ["nodenext", "nodenext"]]) {
      app.write("tsconfig.json", JSON.stringify({ compilerOptions: { ...options, module, moduleResolution }, files: [file] }));
      await app.run(process.execPath, [`node_modules/${compiler}/bin/tsc`, "-p", "tsconfig.json"]);
    }
    return {};
  };
}

/** The outcome in a page that was rendered on a server. */
function fromHtml(html) {
  const [, text] = /<pre[^>]*>(\{.*?\})<\/pre>/s.exec(html) ?? [];
  if (text === undefined) return { error: `no outcome in the page: ${html.slice(0, 300)}` };
  return JSON.parse(text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&gt;", ">").replaceAll("&lt;", "<").replaceAll("&amp;", "&"));
}
