// js/engine-glue.d.ts is written by hand against what src/wasm exports: here the two are compared.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as glue from "../../dist/engine-glue.js";

const declared = readFileSync(new URL("../../js/engine-glue.d.ts", import.meta.url), "utf8");

function declaredMembers(name) {
  const body = new RegExp(`export class ${name} \\{\\n(.*?)\\n\\}`, "s").exec(declared)[1];
  return [...body.matchAll(/^ {2}(static )?(\w+)\(/gm)].map(([, isStatic, member]) => ({ member, isStatic: isStatic !== undefined }));
}

for (const name of ["Engine", "TokenCounter", "MemoryStoreHandle"]) {
  test(`the compiled engine has ${name} with every declared member`, () => {
    assert.equal(typeof glue[name], "function", `${name} is not exported`);
    for (const { member, isStatic } of declaredMembers(name)) {
      if (member === "constructor") continue;
      assert.equal(typeof (isStatic ? glue[name] : glue[name].prototype)[member], "function", `${name}.${member} is missing`);
    }
  });
}

test("the compiled engine has every declared function", () => {
  for (const name of ["default", "__wbg_reset_state", "estimateTokens", "validateContext"]) assert.equal(typeof glue[name], "function", name);
});

test("the engine's classes have no member that is not declared", () => {
  for (const name of ["Engine", "TokenCounter", "MemoryStoreHandle"]) {
    const members = Object.getOwnPropertyNames(glue[name].prototype).filter((member) => !member.startsWith("__") && member !== "constructor");
    const known = new Set(declaredMembers(name).map(({ member }) => member));
    assert.deepEqual(members.filter((member) => !known.has(member)), []);
  }
});
