// What is drawn on a server first and then taken over by the page, in tests/adapters/react.test.mjs.

import { createElement as h } from "react";
import { MemoryProvider, useConversation, useFacts, useMemory } from "throughline/react";

function Page() {
  const { status } = useMemory();
  const { facts, status: factStatus } = useFacts();
  const { status: chatStatus } = useConversation("c");
  return h("main", { "data-memory": status, "data-facts": factStatus, "data-chat": chatStatus }, `${facts.length} facts`);
}

export function Hydrated({ open }) {
  return h(MemoryProvider, { open }, h(Page));
}
