// All code in the README, in docs/ and in the comments of the source: whole programs run, everything else is checked against the declarations of the
// package. A program is a block that imports nothing but the package, keeps its memory with memoryStorage() and uses nothing
// of the app. Names that a block does not declare are the app's own, but for `memory`, `chat` and the like and what the
// package exports.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "node:test";
import ts from "typescript";
import { errorPage } from "../../docs/site/error-codes.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const pages = ["README.md", ...readdirSync(`${root}docs`).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`)];
const LANGUAGES = new Set(["js", "mjs", "ts", "jsx", "tsx"]);
const sources = readdirSync(`${root}js`, { recursive: true }).filter((name) => /(?<!\.d)\.ts$/.test(name)).map((name) => `js/${name.replaceAll("\\", "/")}`);
const commentsOf = (source) => readFileSync(root + source, "utf8").split("\n").filter((line) => /^\s*\*( |$)/.test(line)).map((line) => line.replace(/^\s*\* ?/, "")).join("\n");
// The page of error codes is made from the source, and has an example of its own.
const texts = [
  ...pages.map((page) => [page, readFileSync(root + page, "utf8")]),
  ["docs/errors.md", errorPage([])],
  ...sources.map((source) => [source, commentsOf(source)]),
];
const blocks = texts.flatMap(([page, text]) =>
  [...text.matchAll(/^```(\w+)[^\n]*\n([\s\S]*?)^```/gm)]
    .filter(([, language]) => LANGUAGES.has(language))
    .map(([, language, code], index) => ({ name: `${page}, block ${index + 1}`, file: `${page.replaceAll(/\W/g, "-")}-${index + 1}`, language, code })));
const importsOf = (code) => [...code.matchAll(/^(?:import|export)\b[^"']*["']([^"']+)["']/gm)].map(([, name]) => name);
const isOwn = (name) => name === manifest.name || name.startsWith(`${manifest.name}/`);
const isProgram = ({ code }) => importsOf(code).length > 0 && importsOf(code).every(isOwn) && code.includes("memoryStorage()");
const typedEntries = Object.entries(manifest.exports).filter(([, target]) => target.types !== undefined).map(([path, target]) => ({ name: `${manifest.name}${path.slice(1)}`, file: target.default }));

/** Not known here: names, modules and elements of the app and of other libraries. */
const OF_THE_APP = new Set([2304, 2307, 2503, 2552, 2580, 2582, 2591, 2686, 2792, 7016, 7026, 18004]);
const OPTIONS = {
  target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"], types: [], jsx: ts.JsxEmit.Preserve,
  strict: true, noImplicitAny: false, noEmit: true, skipLibCheck: true,
};

/** What blocks may use without declaring it: an open memory, and all that the package exports. */
async function surroundings() {
  const values = await Promise.all(typedEntries.map(async ({ name, file }) => {
    const names = await import(`${root}${file}`).then((module) => Object.keys(module), () => []);
    return names.filter((each) => each !== "default").map((each) => [each, `typeof import("${name}").${each}`]);
  }));
  const declared = new Map([
    ["memory", 'import("throughline").Memory'], ["chat", 'import("throughline").Conversation'],
    ["context", 'import("throughline").Context'], ["question", "string"], ["signal", "AbortSignal"], ...values.flat(),
  ]);
  return `export {};\ndeclare global {\n${[...declared].map(([name, type]) => `  const ${name}: ${type};`).join("\n")}\n}\n`;
}

/** A page without a bundler names the package's files; these are its entries. */
function withEntries(code) {
  return typedEntries.reduce((text, { name, file }) => text.replaceAll(`"${file.replace("./dist/", "./throughline/")}"`, `"${name}"`), code);
}

/** A block as a module. What cannot stand alone, such as the fields of an object, stands in an expression. */
function asModule({ code: given }, fileName) {
  const code = withEntries(given);
  const isWhole = (text) => ts.createSourceFile(fileName, text, ts.ScriptTarget.ES2023).parseDiagnostics.length === 0;
  const labelled = /^\s*\w+: [{([]/.test(code);
  const wrapped = `({\n${code}\n});`;
  return `${labelled && isWhole(wrapped) ? wrapped : code}\nexport {};\n`;
}

function faultsOf(files) {
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, getSourceFile, readFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  host.getSourceFile = (path, ...rest) => (files.has(path) ? ts.createSourceFile(path, files.get(path), OPTIONS.target) : getSourceFile(path, ...rest));
  const program = ts.createProgram([...files.keys()], OPTIONS, host);
  return [...files.keys()].flatMap((path) => {
    const source = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((fault) => ({ path, fault }));
  });
}

/** Elements of the app's page, which JavaScript takes for what they are. */
const OF_ITS_PAGE = /possibly 'null'|on type '(?:HTML)?Element'/;

function isOfTheApp({ code, messageText }) {
  const text = ts.flattenDiagnosticMessageText(messageText, " ");
  if (code === 2307) return !new RegExp(`'${manifest.name}['/]`).test(text);
  return OF_THE_APP.has(code) || OF_ITS_PAGE.test(text);
}

const pathOf = ({ file, language }) => `${root}docs/code/${file}.${/x$/.test(language) ? "tsx" : "ts"}`;
const faults = faultsOf(new Map([
  ...blocks.map((block) => [pathOf(block), asModule(block, pathOf(block))]),
  [`${root}docs/code/surroundings.d.ts`, await surroundings()],
]));

test("all code fits the package's declarations", () => {
  const told = faults.filter(({ fault }) => !isOfTheApp(fault)).map(({ path, fault }) => {
    const { line } = ts.getLineAndCharacterOfPosition(fault.file, fault.start);
    return `${path.slice(root.length + 10)}, line ${line + 1}: ${ts.flattenDiagnosticMessageText(fault.messageText, "\n")} (${fault.code})`;
  });
  assert.deepEqual(told, []);
});

/** Runs a program as a module of the package itself, so that its entries are found. */
async function run({ file, code }) {
  const path = `${root}dist/documented-${file}.mjs`;
  writeFileSync(path, code);
  try {
    return (await promisify(execFile)(process.execPath, [path], { timeout: 60_000 })).stdout;
  } finally {
    rmSync(path, { force: true });
  }
}

test("the README's example runs, and shows what it promises", async () => {
  const example = blocks.find(({ name }) => name === "README.md, block 1");
  assert.ok(isProgram(example), "the README begins with no program");
  assert.ok(example.code.trim().split("\n").length <= 25);
  const shown = await run(example);
  assert.match(shown, /^\d+ system \d+, memory \d+, episodes 0, summary 0, notes 0, recent \d+, documents 0, retrieved \d+, question \d+\n$/);
  assert.ok(Number(/memory (\d+)/.exec(shown)[1]) > 0, shown);
});

/** What uses something of the app (a key, a model) cannot run here; tests/adapters/recipes.test.mjs runs those of docs/models.md. */
const isRecipe = (block) => faults.some(({ path }) => path === pathOf(block)) || block.name.startsWith("docs/models.md");
const programs = blocks.filter((block) => isProgram(block) && !isRecipe(block) && block.name !== "README.md, block 1");
for (const program of programs) test(`${program.name} runs`, () => run(program));

test("every entry of the package has an example", () => {
  const imported = new Set(blocks.flatMap(({ code }) => importsOf(code)));
  for (const { name } of typedEntries) assert.ok(imported.has(name), `no page of docs/ has a block that imports "${name}"`);
});
