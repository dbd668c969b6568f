import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { countTokens, isMemoryError } from "throughline";
import { vocabularyBytes } from "../../dist/vocabularies.js";

const file = new URL("../../dist/vocabularies/o200k_base.bin.gz", import.meta.url);
const withVocabulary = { skip: !existsSync(file) && "the vocabularies are not built" };

test("a model's name leads to its encoding", withVocabulary, async () => {
  const exact = {
    o200k_base: ["gpt-4o", "gpt-4o-mini-2024-07-18", "gpt-4.1-nano", "gpt-5.1", "o1", "o3-mini", "o4-mini", "chatgpt-4o-latest", "GPT-4O"],
    cl100k_base: ["gpt-4", "gpt-4-turbo", "gpt-4-0613", "gpt-3.5-turbo", "text-embedding-3-small", "text-embedding-ada-002"],
  };
  // These words take another number of tokens in each encoding.
  const text = "안녕하세요 세계";
  for (const [encoding, models] of Object.entries(exact)) {
    const expected = await countTokens(text, encoding);
    for (const model of models) assert.deepEqual(await countTokens(text, model), expected, model);
  }
  assert.notDeepEqual(await countTokens(text, "o200k_base"), await countTokens(text, "cl100k_base"));
  for (const model of ["claude-sonnet-4-5", "gemini-2.5-pro", "llama-3.1-8b", "ours", "constructor"]) {
    assert.equal((await countTokens(text, model)).exact, false, model);
  }
});

test("known counts are exact", withVocabulary, async () => {
  assert.deepEqual(await countTokens("hello world"), { tokens: 2, exact: true });
  assert.deepEqual(await countTokens("<|endoftext|>", "gpt-4o"), { tokens: 7, exact: true });
  assert.deepEqual(await countTokens("", "cl100k_base"), { tokens: 0, exact: true });
  assert.deepEqual(await countTokens("hello world", "gpt-4"), { tokens: 2, exact: true });
});

test("a vocabulary may be given as packed bytes, plain bytes or an address", withVocabulary, async () => {
  const packed = readFileSync(file);
  const plain = new Uint8Array(gunzipSync(packed));
  for (const source of [undefined, packed, plain, file, file.href]) assert.deepEqual(await vocabularyBytes("o200k_base", source), plain);
});

test("a model without a public tokenizer is estimated", async () => {
  const { tokens, exact } = await countTokens("The quick brown fox jumps over the lazy dog.", "claude-sonnet-4-5");
  assert.equal(exact, false);
  assert.ok(tokens >= 8 && tokens <= 30, `${tokens}`);
  assert.equal((await countTokens("hello", "estimate")).exact, false);
});

test("unusable arguments are refused", async () => {
  await assert.rejects(countTokens(5), (error) => isMemoryError(error, "invalid_argument"));
  await assert.rejects(countTokens("x", ""), (error) => isMemoryError(error, "invalid_argument"));
});
