/**
 * An embedder that costs little and gives the same vectors everywhere: each word adds to a few places of the vector that
 * its hash chooses. Texts with words in common are near each other; it knows nothing of meaning.
 */
export function hashingEmbedder(dimensions = 384) {
  return {
    id: "bench-hashing",
    dimensions,
    maxBatchSize: 256,
    embed: (texts) => texts.map((text) => vectorOf(text, dimensions)),
  };
}

function vectorOf(text, dimensions) {
  const vector = new Float32Array(dimensions);
  for (const word of text.toLowerCase().split(/[^\p{L}\p{N}]+/u)) {
    let hash = 2_166_136_261;
    for (let at = 0; at < word.length; at += 1) hash = Math.imul(hash ^ word.charCodeAt(at), 16_777_619);
    for (let place = 0; place < 8; place += 1) {
      hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_519);
      vector[(hash >>> 1) % dimensions] += hash & 1 ? 1 : -1;
    }
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
