// Gives a module's functions names in the order in which they pack best: gzip sees 32 KB back, so what is alike is to stand
// together. Small functions go by their bytes, the others by their names, that is by module and type; the largest, which
// fill its window alone, come last. `wasm-opt --reorder-functions-by-name` then puts them in this order.

const SMALL_BYTES = 250;
const LARGE_BYTES = 10_000;
const IMPORT_SECTION = 2;
const CODE_SECTION = 10;
const HEADER_BYTES = 8;

/** The module with new names, and nothing else changed. `wasm` has to have names. */
export function withOrderedNames(wasm) {
  const sections = sectionsOf(wasm);
  const imported = functionImports(sections.find(({ id }) => id === IMPORT_SECTION)?.body);
  const bodies = functionBodies(sections.find(({ id }) => id === CODE_SECTION).body);
  const names = functionNames(sections.find((section) => customName(section) === "name")?.body);
  const functions = bodies.map((body, at) => ({ index: imported + at, body, name: names.get(imported + at) ?? "" }));
  functions.sort(compare);
  const kept = sections.filter((section) => customName(section) !== "name").map(({ whole }) => whole);
  return Buffer.concat([wasm.subarray(0, HEADER_BYTES), ...kept, nameSection(functions)]);
}

function compare(one, other) {
  const [kind, otherKind] = [sizeClass(one), sizeClass(other)];
  if (kind !== otherKind) return kind - otherKind;
  if (kind === 0) return Buffer.compare(one.body, other.body) || one.index - other.index;
  if (kind === 2) return one.body.length - other.body.length || one.index - other.index;
  return one.name < other.name ? -1 : Number(one.name > other.name) || one.index - other.index;
}

function sizeClass({ body }) {
  return body.length < SMALL_BYTES ? 0 : body.length > LARGE_BYTES ? 2 : 1;
}

function sectionsOf(wasm) {
  const sections = [];
  for (let at = HEADER_BYTES; at < wasm.length; ) {
    const [length, start] = number(wasm, at + 1);
    sections.push({ id: wasm[at], body: wasm.subarray(start, start + length), whole: wasm.subarray(at, start + length) });
    at = start + length;
  }
  return sections;
}

function customName({ id, body }) {
  return id === 0 ? text(body, 0)[0] : undefined;
}

function functionBodies(code) {
  let [count, at] = number(code, 0);
  const bodies = [];
  for (; count > 0; count--) {
    const [length, start] = number(code, at);
    at = start + length;
    bodies.push(code.subarray(start, at));
  }
  return bodies;
}

/** How many of the imports are functions: they have the first indices. */
function functionImports(section) {
  if (section === undefined) return 0;
  let [count, at] = number(section, 0);
  let functions = 0;
  for (; count > 0; count--) {
    [, at] = text(section, at);
    [, at] = text(section, at);
    const kind = section[at++];
    if (kind === 0) {
      functions++;
      [, at] = number(section, at);
    } else if (kind === 3) {
      at += 2;
    } else {
      throw new Error("Only functions and globals are imported by the engine: teach scripts/function-order.mjs the others.");
    }
  }
  return functions;
}

function functionNames(section) {
  const names = new Map();
  if (section === undefined) return names;
  for (let [, at] = text(section, 0); at < section.length; ) {
    const kind = section[at];
    const [length, start] = number(section, at + 1);
    at = start + length;
    if (kind !== 1) continue;
    let [count, place] = number(section, start);
    for (; count > 0; count--) {
      const [index, after] = number(section, place);
      const [name, next] = text(section, after);
      names.set(index, name);
      place = next;
    }
  }
  return names;
}

function nameSection(functions) {
  const digits = String(functions.length).length;
  const names = functions.map(({ index }, rank) => [index, String(rank).padStart(digits, "0")]).sort(([one], [other]) => one - other);
  const entries = names.flatMap(([index, name]) => [...leb(index), name.length, ...Buffer.from(name)]);
  const map = [...leb(names.length), ...entries];
  const body = [4, ...Buffer.from("name"), 1, ...leb(map.length), ...map];
  return Buffer.from([0, ...leb(body.length), ...body]);
}

function text(bytes, at) {
  const [length, start] = number(bytes, at);
  return [bytes.toString("utf8", start, start + length), start + length];
}

/** An unsigned LEB128 number, and where it ends. */
function number(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return [value, at];
  }
}

function leb(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
  return [...bytes, value];
}
