// Looks for markers in the files of a browser's profile.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { MARKERS, floats, isVector, marker } from "./markers.js";

/** Every spelling of every marker. Firefox writes texts in keys with each code raised by one. */
function needles(seed) {
  return Array.from({ length: MARKERS }, (_, index) => {
    if (isVector(index)) return [Buffer.from(floats(seed, index).buffer)];
    const word = Buffer.from(marker(seed, index));
    const little = Buffer.from(marker(seed, index), "utf16le");
    return [word, word.map((code) => code + 1), little, Buffer.from(little).swap16()];
  });
}

/** Every file of a folder that can be read, with its path in it. */
export function* filesIn(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    let bytes;
    try {
      bytes = readFileSync(path);
    } catch {
      continue; // a running browser removes files
    }
    yield { path: path.slice(folder.length), bytes };
  }
}

/** Which markers are anywhere in a folder, and where. */
export function markersIn(folder, seed) {
  const found = new Map();
  const all = needles(seed);
  for (const { path, bytes } of filesIn(folder)) {
    all.forEach((spellings, index) => {
      if (!found.has(index) && spellings.some((spelling) => bytes.includes(spelling))) found.set(index, path);
    });
  }
  return [...found];
}
