// The shipped static embedder. Compares with the int8 table it was packed from where that folder is present: the
// environment variable THROUGHLINE_MODELS, else ../shared/models beside the project.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { createStaticEmbedder } from "../../dist/static-embedder.js";
import { WordPiece } from "../../dist/word-piece.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ASSET = join(ROOT, "assets/static-minilm/static-minilm-256.bin");
const MODEL = join(process.env.THROUGHLINE_MODELS ?? join(ROOT, "../shared/models"), "static-minilm");

const TEXTS = [
  "Let's run the API on port 8080 and keep Postgres on 5432.",
  "We decided against Redis because the team does not want another service to operate.",
  "My daughter starts school in September, so mornings will be hectic.",
  "TypeError: Cannot read properties of undefined (reading 'map') at src/index.ts:42",
  "Könnten wir das Café am Flussufer nehmen? Es öffnet um 9 Uhr.",
  "회의는 내일 오후 세 시에 시작합니다",
  "明日の会議は三時からです。",
  "ok",
  "I adopted a puppy last week and she chews on everything!",
  "👍🏽 sounds good",
];

const dot = (a, b) => a.reduce((sum, value, position) => sum + value * b[position], 0);
const length = (vector) => Math.sqrt(dot(vector, vector));

function isCode(code, retryable = false) {
  return (error) => error instanceof Error && error.code === code && error.retryable === retryable && Symbol.for("throughline.MemoryError") in error;
}

describe("the static embedder", () => {
  let embedder;
  before(async () => {
    embedder = await createStaticEmbedder();
  });

  test("declares the shape that createMemory takes", () => {
    assert.equal(embedder.id, "static-minilm-256");
    assert.equal(embedder.dimensions, 256);
    assert.ok(embedder.maxBatchSize >= 1 && embedder.maxInputTokens >= 1);
  });

  test("answers with one unit vector per text, in order, the same every time", async () => {
    const vectors = await embedder.embed(TEXTS);
    assert.equal(vectors.length, TEXTS.length);
    for (const vector of vectors) {
      assert.ok(vector instanceof Float32Array && vector.length === 256);
      assert.ok(Math.abs(length(vector) - 1) < 1e-5);
    }
    for (const [position, text] of TEXTS.entries()) {
      assert.deepEqual((await embedder.embed([text]))[0], vectors[position]);
    }
  });

  test("has no direction for a text without words, and none for no texts", async () => {
    const vectors = await embedder.embed(["", " \n\t ", "\u0000\u200b\ufffd", "\ud800"]);
    for (const vector of vectors) assert.ok(vector.every((value) => value === 0));
    assert.deepEqual(await embedder.embed([]), []);
  });

  test("puts texts of like meaning nearer than unrelated ones", async () => {
    const pairs = [
      ["I love my dog", "my puppy is adorable", "the server listens on port 8080"],
      ["The database migration failed", "an SQL schema upgrade error", "we had pasta for dinner"],
      ["She plays the violin in an orchestra", "he is a musician and performs concerts", "compile the code with optimisation"],
    ];
    for (const texts of pairs) {
      const [anchor, like, unlike] = await embedder.embed(texts);
      assert.ok(dot(anchor, like) > dot(anchor, unlike) + 0.1, texts[0]);
    }
  });

  test("does not care about case, accents, or white space", async () => {
    const [a, b] = await embedder.embed(["The CAFÉ  opens\tat nine", "the cafe opens at nine"]);
    assert.deepEqual(a, b);
  });

  test("survives any text", async () => {
    const texts = ["x".repeat(1_000_000), "a ".repeat(500_000), "\ud83d", "𝕳𝖊𝖑𝖑𝖔", "ﷺ".repeat(1_000), "[CLS] [SEP] ##ing"];
    for (const vector of await embedder.embed(texts)) {
      assert.ok(vector.every(Number.isFinite) && length(vector) < 1.00001);
    }
  });

  test("lets the event loop run during a long batch, and stops when aborted", async () => {
    const texts = Array.from({ length: 6_000 }, (_, position) => `${TEXTS[position % TEXTS.length]} ${position}`);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    await embedder.embed(texts);
    clearInterval(timer);
    assert.ok(turns >= 3, `${turns} timer turns`);
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 5);
    await assert.rejects(embedder.embed(texts, { signal: controller.signal }), isCode("aborted"));
    await assert.rejects(embedder.embed(["ok"], { signal: AbortSignal.abort() }), isCode("aborted"));
  });

  test("refuses what is not an array of strings", async () => {
    for (const unusable of [undefined, "text", [1], [undefined]]) {
      await assert.rejects(embedder.embed(unusable), isCode("invalid_argument"));
    }
  });

  test("takes about a tenth of a millisecond per message", async (context) => {
    const texts = Array.from({ length: 2_000 }, (_, position) => `${TEXTS[position % TEXTS.length]} and ${position} more words`);
    await embedder.embed(texts);
    const start = process.cpuUsage();
    await embedder.embed(texts);
    const { user, system } = process.cpuUsage(start);
    const perMessageMs = (user + system) / 1_000 / texts.length;
    context.diagnostic(`${perMessageMs.toFixed(3)} ms of CPU per message`);
    assert.ok(perMessageMs < 1);
  });

  test("equals the int8 table it was packed from, to a cosine of .99 and more", async (context) => {
    if (!existsSync(MODEL)) {
      context.skip("the model's folder is not here: give it as THROUGHLINE_MODELS");
      return;
    }
    const int8 = readFileSync(join(MODEL, "static_minilm_256.i8"));
    const scales = readFileSync(join(MODEL, "static_minilm_256.scale.f32"));
    const tokenizer = new WordPiece(readFileSync(join(MODEL, "vocab.txt"), "utf8"));
    const vectors = await embedder.embed(TEXTS);
    const cosines = TEXTS.map((text, position) => {
      const sum = new Float64Array(256);
      for (const token of tokenizer.tokenize(text, 512)) {
        for (let d = 0; d < 256; d += 1) sum[d] += int8.readInt8(token * 256 + d) * scales.readFloatLE(token * 4);
      }
      return dot(vectors[position], sum) / length(sum);
    });
    context.diagnostic(`cosines: ${cosines.map((cosine) => cosine.toFixed(4)).join(" ")}`);
    for (const cosine of cosines) assert.ok(cosine >= 0.98, String(cosine));
    assert.ok(cosines.reduce((sum, cosine) => sum + cosine) / cosines.length >= 0.99);
  });
});

describe("loading", () => {
  const packed = readFileSync(ASSET);
  const plain = gunzipSync(packed);

  test("takes bytes of any kind, gzipped or not, an address, and nothing", async () => {
    const url = new URL("../../assets/static-minilm/static-minilm-256.bin", import.meta.url);
    const unaligned = new Uint8Array(plain.length + 1);
    unaligned.set(plain, 1);
    const sources = [packed, new Uint8Array(plain), new Uint8Array(plain).buffer, unaligned.subarray(1), url, url.href, undefined];
    const [expected] = await (await createStaticEmbedder()).embed(["the same"]);
    for (const source of sources) {
      const embedder = await createStaticEmbedder(source === undefined ? {} : { source });
      assert.deepEqual((await embedder.embed(["the same"]))[0], expected);
    }
  });

  test("refuses a damaged, cut, foreign or newer file", async () => {
    const flipped = new Uint8Array(plain);
    flipped[2_000_000] ^= 1;
    const newer = new Uint8Array(plain);
    newer[8] = 2;
    const page = new TextEncoder().encode("<!doctype html><title>Not found, but status 200</title>");
    for (const source of [flipped, newer, page, plain.subarray(0, 3_000_000), packed.subarray(0, 1_000), new Uint8Array()]) {
      await assert.rejects(createStaticEmbedder({ source }), isCode("embedding_failed"));
    }
  });

  test("fetches over HTTP, and tells what a retry can help from what it cannot", async () => {
    const server = createServer((request, response) => {
      const isThere = request.url === "/table";
      response.writeHead(isThere || request.url === "/page" ? 200 : 404);
      response.end(isThere ? packed : "<!doctype html>");
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const base = `http://127.0.0.1:${server.address().port}`;
    try {
      const embedder = await createStaticEmbedder({ source: `${base}/table` });
      assert.equal((await embedder.embed(["hello"]))[0].length, 256);
      await assert.rejects(createStaticEmbedder({ source: `${base}/missing` }), isCode("embedding_failed", true));
      await assert.rejects(createStaticEmbedder({ source: `${base}/page` }), isCode("embedding_failed"));
    } finally {
      server.close();
      server.closeAllConnections();
    }
    await assert.rejects(createStaticEmbedder({ source: `${base}/table` }), isCode("embedding_failed", true));
  });

  test("refuses an unusable source, a missing file, and goes no further when aborted", async () => {
    await assert.rejects(createStaticEmbedder({ source: "no address" }), isCode("invalid_argument"));
    await assert.rejects(createStaticEmbedder({ source: new URL("./nothing.bin", import.meta.url) }), isCode("embedding_failed", true));
    await assert.rejects(createStaticEmbedder({ signal: AbortSignal.abort() }), isCode("aborted"));
  });
});

describe("WordPiece", () => {
  const vocabulary = ["[UNK]", "play", "##ing", "##ed", "the", "!", "$", "5", "日", "本", "cafe", "##s", "a", "##ᆫ", "naive"].join("\n");
  const tokens = (text, limit = 100) => new WordPiece(`${vocabulary}\n`).tokenize(text, limit).map((token) => vocabulary.split("\n")[token]);

  test("cuts words into the longest known pieces", () => {
    assert.deepEqual(tokens("Playing the cafes, played!"), ["play", "##ing", "the", "cafe", "##s", "[UNK]", "play", "##ed", "!"]);
  });
  test("an unknown part makes the whole word unknown", () => {
    assert.deepEqual(tokens("playxing ing"), ["[UNK]", "[UNK]"]);
  });
  test("splits symbols and CJK, folds accents, drops control characters", () => {
    assert.deepEqual(tokens("$5!日本"), ["$", "5", "!", "日", "本"]);
    assert.deepEqual(tokens("CAFÉ na\u00efve t\u200bhe pl\u0007ay"), ["cafe", "naive", "the", "play"]);
  });
  test("a word of more than a hundred characters is unknown, and the limit is kept", () => {
    assert.deepEqual(tokens("play".padEnd(101, "s")), ["[UNK]"]);
    assert.deepEqual(tokens("play".padEnd(100, "s")).length, 97);
    assert.deepEqual(tokens("the playing the", 2), ["the", "play"]);
  });
});
