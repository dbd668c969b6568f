import { indexes } from "../indexes.mjs";

export const settings = "LexicalIndex: plain BM25, defaults";

/** Texts of one sealed segment. */
const SEGMENT = 4_096;

export async function open() {
  const { Words } = await indexes();
  return engine(Words, new Words());
}

function engine(Words, index) {
  return {
    add: (_number, text) => index.add(text),
    search: (text, limit) => index.search(text, limit),
    // As the engine stores it: sealed segments, made of the texts as they come, never of the whole index.
    save: (texts) => slices(texts).map((some) => index.seal(some)),
    load: (segments) => {
      const restored = new Words();
      for (const segment of segments) restored.attach(segment);
      return engine(Words, restored);
    },
    free: () => index.free(),
  };
}

function slices(texts) {
  return Array.from({ length: Math.ceil(texts.length / SEGMENT) }, (_, at) => texts.slice(at * SEGMENT, (at + 1) * SEGMENT));
}
