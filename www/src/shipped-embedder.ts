/** The embedder that ships with the package. Its table (3.2 MB) is fetched when the first text is to be embedded. */

import type { Embedder } from "throughline";
import { createStaticEmbedder } from "throughline/static-embedder";

/** What the memory must know before the table is there. */
const SHIPPED = { id: "static-minilm-256", dimensions: 256, maxBatchSize: 256, maxInputTokens: 512 };

/** The shipped embedder; a failed download is tried again with the next text. */
export function shippedEmbedder(): Embedder {
  let loading: ReturnType<typeof createStaticEmbedder> | null = null;
  return {
    ...SHIPPED,
    embed: async (texts, { signal }) => {
      loading ??= createStaticEmbedder();
      const embedder = await loading.catch((error: unknown) => {
        loading = null;
        throw error;
      });
      if (embedder.id !== SHIPPED.id) throw new Error(`The shipped embedder is ${embedder.id}, expected ${SHIPPED.id}.`);
      return embedder.embed(texts, { signal });
    },
  };
}
