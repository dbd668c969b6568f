// Packs a static embedding table (int8 rows with one scale each, and its vocabulary) into the one file that
// js/static-embedder.ts reads: node scripts/pack-static-embedder.mjs <model folder> [output file]
//
// The folder holds static_minilm_256.i8, static_minilm_256.scale.f32 and vocab.txt. Rows become int4: per row the scale
// with the least squared error. Nothing random, so the same folder gives the same bytes. The whole is gzipped, which
// saves a quarter.
//
// Layout, little-endian: magic "TLSTATIC", u32 version (1), u32 rows, u32 dimensions, u32 bytes of vocabulary, u32
// checksum of all that follows, u32 zero; then f32 scales, one per row; then the rows, two dimensions a byte, the even
// one in the low half, value = (half - 8) x scale; then the vocabulary, UTF-8, one token a line, padded with zeros to a
// multiple of four.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const DIMENSIONS = 256;
const VERSION = 1;
const HEADER_BYTES = 32;

/** The checksum of js/static-embedder.ts: over 32-bit words, so that four megabytes take a millisecond or two. */
function checksum(bytes) {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
  let sum = 0x811c9dc5;
  for (let position = 0; position < words.length; position += 1) {
    sum = Math.imul(sum ^ words[position], 0x01000193);
    sum ^= sum >>> 15;
  }
  return sum >>> 0;
}

/** The row in whole numbers from -8 to 7, and their scale. */
function quantiseRow(values) {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  let best = { error: Infinity, scale: 0, halves: values.map(() => 0) };
  for (let step = 0; largest > 0 && step <= 40; step += 1) {
    const scale = (largest / 7.5) * (1 - step / 80);
    const halves = values.map((value) => Math.max(-8, Math.min(7, Math.round(value / scale))));
    const error = values.reduce((sum, value, position) => sum + (value - halves[position] * scale) ** 2, 0);
    if (error < best.error) best = { error, scale, halves };
  }
  return best;
}

function pack(folder) {
  const int8 = readFileSync(join(folder, "static_minilm_256.i8"));
  const scaleBytes = readFileSync(join(folder, "static_minilm_256.scale.f32"));
  const vocabulary = readFileSync(join(folder, "vocab.txt"));
  const rows = int8.length / DIMENSIONS;
  const lines = vocabulary.toString("utf8").trimEnd().split("\n").length;
  if (scaleBytes.length !== rows * 4 || lines !== rows) {
    throw new Error(`${rows} rows, ${scaleBytes.length / 4} scales and ${lines} tokens do not fit together`);
  }
  const vocabularyBytes = Math.ceil(vocabulary.length / 4) * 4;
  const packed = new Uint8Array(HEADER_BYTES + rows * 4 + (rows * DIMENSIONS) / 2 + vocabularyBytes);
  const view = new DataView(packed.buffer);
  for (let row = 0; row < rows; row += 1) {
    const rowScale = scaleBytes.readFloatLE(row * 4);
    const values = Array.from({ length: DIMENSIONS }, (_, column) => int8.readInt8(row * DIMENSIONS + column) * rowScale);
    const { scale, halves } = quantiseRow(values);
    view.setFloat32(HEADER_BYTES + row * 4, scale, true);
    const start = HEADER_BYTES + rows * 4 + (row * DIMENSIONS) / 2;
    for (let pair = 0; pair < DIMENSIONS / 2; pair += 1) {
      packed[start + pair] = (halves[2 * pair] + 8) | ((halves[2 * pair + 1] + 8) << 4);
    }
  }
  packed.set(vocabulary, packed.length - vocabularyBytes);
  packed.set(new TextEncoder().encode("TLSTATIC"));
  [VERSION, rows, DIMENSIONS, vocabulary.length].forEach((value, field) => view.setUint32(8 + field * 4, value, true));
  view.setUint32(24, checksum(packed.subarray(HEADER_BYTES)), true);
  return packed;
}

const [folder, output] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node scripts/pack-static-embedder.mjs <model folder> [output file]");
  process.exitCode = 2;
} else {
  const file = output ?? fileURLToPath(new URL("../assets/static-minilm/static-minilm-256.bin", import.meta.url));
  const packed = pack(folder);
  const zipped = gzipSync(packed, { level: 9 });
  writeFileSync(file, zipped);
  console.log(`${file}: ${packed.length} bytes, ${zipped.length} gzipped`);
}
