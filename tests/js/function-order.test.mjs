// The build puts functions that look alike beside each other: only their names, and with them their order, may change.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withOrderedNames } from "../../scripts/function-order.mjs";

const SMALL = [0, 0x41, 9, 0x0b]; // i32.const 9
const SMALLER = [0, 0x41, 7, 0x0b]; // i32.const 7
/** Answers 5 after many no-operations. */
const long = (length) => [0, ...Array(length).fill(1), 0x41, 5, 0x0b];

test("small functions come first by their bytes, then others by name, the largest last; nothing else changes", async () => {
  const wasm = moduleOf([
    { name: "z", body: long(300) },
    { name: "a", body: long(15_000) },
    { name: "b", body: SMALL },
    { name: "y", body: long(400) },
    { name: "c", body: SMALLER },
  ]);
  const ordered = withOrderedNames(wasm);
  const compiled = await WebAssembly.compile(ordered);
  assert.deepEqual(namesOf(compiled), ["3", "4", "1", "2", "0"]);
  const { exports } = await WebAssembly.instantiate(compiled);
  assert.deepEqual([0, 1, 2, 3, 4].map((at) => exports[`f${at}`]()), [5, 5, 9, 5, 7]);
  assert.deepEqual(withOrderedNames(ordered), ordered);
});

/** A module whose functions take nothing and answer a number; each is exported as `f` and its position. */
function moduleOf(functions) {
  const section = (id, ...bytes) => [id, ...leb(bytes.length), ...bytes];
  const named = (text) => [text.length, ...Buffer.from(text)];
  const exported = functions.flatMap((_, at) => [...named(`f${at}`), 0, at]);
  const bodies = functions.flatMap(({ body }) => [...leb(body.length), ...body]);
  const names = functions.flatMap(({ name }, at) => [at, ...named(name)]);
  return Buffer.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, 1, 0x60, 0, 1, 0x7f),
    ...section(3, functions.length, ...functions.map(() => 0)),
    ...section(7, functions.length, ...exported),
    ...section(10, functions.length, ...bodies),
    ...section(0, ...named("name"), 1, ...leb(names.length + 1), functions.length, ...names),
  ]);
}

function namesOf(module) {
  const [section] = WebAssembly.Module.customSections(module, "name");
  const bytes = [...new Uint8Array(section)].slice(3);
  return Array.from({ length: bytes.length / 3 }, (_, at) => String.fromCharCode(bytes[at * 3 + 2]));
}

function leb(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb(value >> 7)];
}
