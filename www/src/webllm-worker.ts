/**
 * Runs WebLLM beside the page. Its own policy, sent with this file, lets it load models from where WebLLM has them, and
 * nothing from elsewhere.
 */

import { MLCEngine } from "@mlc-ai/web-llm";
import type { FromWebLlm, ToWebLlm } from "./webllm-messages.ts";
import { tellRequests } from "./worker-requests.ts";

const scope = globalThis as unknown as { onmessage: ((event: MessageEvent<ToWebLlm>) => void) | null; postMessage(message: FromWebLlm): void };
const engine = new MLCEngine({
  initProgressCallback: ({ progress, text }) => scope.postMessage({ progress: { share: progress, words: text } }),
});

const tellRest = tellRequests((called) => scope.postMessage({ called }));

scope.onmessage = ({ data }) => {
  if ("load" in data) void load(data.load);
  else if ("interrupt" in data) void engine.interruptGenerate();
  else void answer(data.id, data.request);
};

async function load(model: string): Promise<void> {
  try {
    await engine.reload(model);
    scope.postMessage({ isLoaded: true });
  } catch (error) {
    await tellRest();
    scope.postMessage({ notLoaded: error instanceof Error ? error.message : String(error) });
  }
}

async function answer(id: number, request: object): Promise<void> {
  try {
    const chunks = (await engine.chat.completions.create(request as never)) as unknown as AsyncIterable<unknown>;
    for await (const chunk of chunks) scope.postMessage({ id, chunk });
    scope.postMessage({ id, end: true });
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    scope.postMessage({ id, failed: { name, message } });
  }
}
