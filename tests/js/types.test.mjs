// The public types: what they promise compiles, what they forbid does not, and nothing in them is `any`. They are read from
// the declarations of every entry in package.json, as a user's editor does.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import typescript from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));
const dist = join(root, "dist");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { ModuleKind, ModuleResolutionKind, ScriptTarget, SyntaxKind } = typescript;

const STRICT = {
  strict: true, noEmit: true, target: ScriptTarget.ES2022, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true,
  lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"], types: [], skipLibCheck: false,
};
const NODE_NEXT = { ...STRICT, module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext };
const BUNDLER = { ...STRICT, module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler };

/** The declarations of every entry that has types. */
const entries = Object.values(manifest.exports).flatMap((target) => (typeof target === "object" && existsSync(join(root, target.types)) ? [join(root, target.types)] : []));

function problems(program) {
  return typescript.getPreEmitDiagnostics(program).filter((each) => !isAbsentPeer(each)).map((each) => {
    const place = each.file === undefined ? "" : `${relative(root, each.file.fileName)}:${each.file.getLineAndCharacterOfPosition(each.start).line + 1} `;
    return `${place}${typescript.flattenDiagnosticMessageText(each.messageText, " ")}`;
  });
}

/** A library that an adapter works with is the app's: its types are not installed here. */
function isAbsentPeer({ code, messageText }) {
  const [, name] = /Cannot find module '((?:@[^/']+\/)?[^/']+)/.exec(typescript.flattenDiagnosticMessageText(messageText, " ")) ?? [];
  return code === 2307 && name !== undefined && manifest.peerDependenciesMeta?.[name]?.optional === true;
}

/** Every `any` that is written in a declaration; what is inferred as `any` is written too. */
function writtenAny(file) {
  const found = [];
  const walk = (node) => {
    if (node.kind === SyntaxKind.AnyKeyword) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      found.push(`${relative(root, file.fileName)}:${line + 1} ${file.text.split("\n")[line].trim()}`);
    }
    typescript.forEachChild(node, walk);
  };
  walk(file);
  return found;
}

for (const [how, options] of Object.entries({ NodeNext: NODE_NEXT, Bundler: BUNDLER })) {
  test(`what the types promise and forbid, under module resolution ${how}`, () => {
    assert.deepEqual(problems(typescript.createProgram([join(root, "tests/types/api.ts")], options)), []);
  });
}

test("the declarations of every entry compile in themselves, and none has an any", () => {
  assert.ok(entries.length >= 3);
  const program = typescript.createProgram(entries, NODE_NEXT);
  assert.deepEqual(problems(program), []);
  const reachable = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(dist));
  assert.ok(reachable.length > 15);
  assert.deepEqual(reachable.flatMap(writtenAny), []);
});

test("every declaration that a user can name says what it is", () => {
  const program = typescript.createProgram(entries, NODE_NEXT);
  const checker = program.getTypeChecker();
  const silent = [];
  for (const entry of entries) {
    for (const symbol of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)))) {
      const target = symbol.flags & typescript.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      if (target.getDocumentationComment(checker).length === 0) silent.push(`${relative(root, entry)}: ${symbol.name}`);
    }
  }
  assert.deepEqual(silent, []);
});
