// What the libraries of local models give is what the adapters take, by the libraries' own types.
import { pipeline } from "@huggingface/transformers";
import { CreateMLCEngine, type MLCEngineInterface } from "@mlc-ai/web-llm";
import { createMemory } from "throughline";
import { createChromeAi } from "throughline/chrome-ai";
import { transformersEmbedder } from "throughline/transformers";
import { webLlmChat, webLlmLanguageModel } from "throughline/webllm";

export async function local(worker: MLCEngineInterface): Promise<void> {
  const engine = await CreateMLCEngine("m");
  const builtIn = await createChromeAi({ api: LanguageModel, onDownload: (share) => share.toFixed(2) });
  const embedder = transformersEmbedder({
    load: () => pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2", { dtype: "q8" }),
    model: "Xenova/all-MiniLM-L6-v2",
    dimensions: 384,
  });
  const memory = await createMemory({ embedder, languageModel: webLlmLanguageModel({ engine, contextWindow: 4_096 }) });
  const built = await memory.buildContext({ conversationId: "c", profile: "webllm", window: builtIn.contextWindow });
  await webLlmChat({ engine: worker }).send(built).finished;
  await builtIn.chat().send(built).finished;
}

// @ts-expect-error the embedder loads the pipeline itself
transformersEmbedder({ model: "m", dimensions: 384 });
