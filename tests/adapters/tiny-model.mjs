// A real embedding model, small enough to check by hand: a table with a vector for each word. As a folder of files that
// transformers.js loads: the tokenizer, the configuration, and the graph in ONNX.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The words that it knows; what is none of them is `[UNK]`. */
const WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "port", "is", "free", "green", "tea", "choir", "8471"];
/** Numbers of a vector. */
export const DIMENSIONS = 5;

/** The numbers of a word: the same for each run, different for each word, exact in 32 bits. */
const vectorOfWord = (id) => Array.from({ length: DIMENSIONS }, (_, column) => (((id + 3) * (column + 7) * 37) % 64 - 31) / 32);

/** What the model says of a text: the mean of its words' vectors, with those of the marks around it, at length 1. */
export function vectorOf(text) {
  const words = text.toLowerCase().match(/[a-z0-9]+|[^a-z0-9\s]/g) ?? [];
  return directionOf(["[CLS]", ...words, "[SEP]"]);
}

/** What it says of one of its marks alone, at length 1. */
export function vectorOfMark(mark) {
  return directionOf([mark]);
}

function directionOf(words) {
  const vectors = words.map((word) => vectorOfWord(WORDS.includes(word) ? WORDS.indexOf(word) : WORDS.indexOf("[UNK]")));
  const sums = Array.from({ length: DIMENSIONS }, (_, column) => vectors.reduce((sum, vector) => sum + vector[column], 0));
  const length = Math.hypot(...sums);
  return sums.map((sum) => sum / length);
}

/** Writes the model's folder. */
export function writeTinyModel(folder) {
  mkdirSync(join(folder, "onnx"), { recursive: true });
  const json = (name, value) => writeFileSync(join(folder, name), JSON.stringify(value));
  json("config.json", { model_type: "bert", architectures: ["BertModel"], hidden_size: DIMENSIONS, vocab_size: WORDS.length });
  json("tokenizer_config.json", { tokenizer_class: "BertTokenizer", pad_token: "[PAD]", unk_token: "[UNK]", cls_token: "[CLS]", sep_token: "[SEP]", model_max_length: 512 });
  json("tokenizer.json", tokenizer());
  writeFileSync(join(folder, "onnx", "model.onnx"), graph());
}

function tokenizer() {
  const special = WORDS.slice(0, 4).map((content, id) => ({ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false }));
  const mark = (id) => ({ SpecialToken: { id, type_id: 0 } });
  return {
    version: "1.0", truncation: null, padding: null, added_tokens: special,
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [mark("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, mark("[SEP]")],
      pair: [mark("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, mark("[SEP]"), { Sequence: { id: "B", type_id: 1 } }, mark("[SEP]")],
      special_tokens: Object.fromEntries(["[CLS]", "[SEP]"].map((id) => [id, { id, ids: [WORDS.indexOf(id)], tokens: [id] }])),
    },
    decoder: null,
    model: { type: "WordLevel", unk_token: "[UNK]", vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])) },
  };
}

// ONNX is a Protocol Buffers format: https://onnx.ai/onnx/repo-docs/IR.html. Fields by their numbers in onnx.proto.

/** The graph: `last_hidden_state` is the row of the table for each of `input_ids`. */
function graph() {
  const [float, int64] = [1, 7];
  const rows = new Float32Array(WORDS.flatMap((_, id) => vectorOfWord(id)));
  const table = message([1, WORDS.length], [1, DIMENSIONS], [2, float], [8, "table"], [9, new Uint8Array(rows.buffer)]);
  const lookUp = message([1, "table"], [1, "input_ids"], [2, "last_hidden_state"], [4, "Gather"]);
  const inputs = ["input_ids", "attention_mask"].map((name) => [11, value(name, int64, ["batch", "sequence"])]);
  const output = value("last_hidden_state", float, ["batch", "sequence", DIMENSIONS]);
  const body = message([1, lookUp], [2, "tiny"], [5, table], ...inputs, [12, output]);
  return message([1, 8], [7, body], [8, message([1, ""], [2, 13])]);
}

/** An input or output: its name, its type, and its sides, each a number or a name. */
function value(name, type, sides) {
  const shape = message(...sides.map((side) => [1, message([typeof side === "number" ? 1 : 2, side])]));
  return message([1, name], [2, message([1, message([1, type], [2, shape])])]);
}

/** Fields, each a number and its value: an integer, a text, or bytes. */
function message(...fields) {
  return Buffer.concat(fields.flatMap(([number, content]) => {
    if (typeof content === "number") return [varint(number << 3), varint(content)];
    const bytes = Buffer.from(content);
    return [varint((number << 3) | 2), varint(bytes.length), bytes];
  }));
}

function varint(number) {
  const bytes = [];
  for (; number > 127; number >>>= 7) bytes.push((number & 127) | 128);
  return Buffer.from([...bytes, number]);
}
