// The app that tests/adapters/assistant-ui.test.mjs drives: assistant-ui's local runtime with a model that answers by itself.

import { createElement as h, useEffect, useMemo } from "react";
import { createRoot } from "react-dom/client";
import { AssistantRuntimeProvider, useLocalRuntime } from "@assistant-ui/core/react";
import { createMemory } from "throughline";
import { threadHistory } from "throughline/assistant-ui";

const model = {
  async *run({ messages }) {
    const text = messages.at(-1).content.map((part) => part.text).join("");
    yield { content: [{ type: "text", text: "Heard: " }] };
    yield { content: [{ type: "text", text: `Heard: ${text}` }] };
  },
};

function App({ memory, conversationId }) {
  const history = useMemo(() => threadHistory(memory, { conversationId }), [memory, conversationId]);
  const runtime = useLocalRuntime(model, { adapters: { history } });
  useEffect(() => {
    globalThis.runtime = runtime;
  }, [runtime]);
  return h(AssistantRuntimeProvider, { runtime }, h("p", null, "shown"));
}

globalThis.show = async (conversationId) => {
  globalThis.memory ??= await createMemory({ userId: "ada", tokenizer: "estimate" });
  globalThis.mounted?.unmount();
  globalThis.runtime = undefined;
  globalThis.mounted = createRoot(document.getElementById("root"));
  globalThis.mounted.render(h(App, { memory: globalThis.memory, conversationId }));
};
globalThis.texts = () => globalThis.runtime?.thread.getState().messages.map(({ role, content }) => `${role}: ${content.map((part) => part.text).join("")}`);
document.title = "ready";
