"use client";

import { useEffect } from "react";
import { createMemory } from "throughline";
import { MemoryProvider, useConversation } from "throughline/react";
import { outcome } from "../../job.js";

const WORDS = "Shown by a hook";

async function open() {
  const memory = await createMemory({ userId: `packaging-${crypto.randomUUID()}` });
  await memory.conversations.create({ id: "c" });
  return memory;
}

function Chat() {
  const { entries, append, status, error } = useConversation("c");
  useEffect(() => {
    if (status === "failed") globalThis.outcome = { error: error.message };
    if (status === "ready") void append({ id: "m", role: "user", content: WORDS });
  }, [status]);
  useEffect(() => {
    if (entries.length === 0) return;
    globalThis.started ??= outcome().then((result) => {
      const shown = document.querySelector("li")?.textContent;
      globalThis.outcome = shown === WORDS ? result : { error: `the list shows ${shown}` };
    });
  }, [entries]);
  return <ol>{entries.map(({ seq, message }) => <li key={seq}>{message.content}</li>)}</ol>;
}

export default function Page() {
  return <MemoryProvider open={open}><Chat /></MemoryProvider>;
}
