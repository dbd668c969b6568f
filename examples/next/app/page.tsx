"use client";

import { useEffect, useState, type FormEvent } from "react";

interface Message {
  role: string;
  content: string;
}

/** One conversation per browser, until "New chat" is pressed. */
function conversationOf(isNew: boolean): string {
  const known = isNew ? null : localStorage.getItem("conversation");
  const id = known ?? crypto.randomUUID();
  localStorage.setItem("conversation", id);
  return id;
}

export default function Page() {
  const [conversationId, setConversationId] = useState<string>();
  const [messages, setMessages] = useState<Message[]>([]);
  const [isAnswering, setIsAnswering] = useState(false);
  const [note, setNote] = useState("");

  useEffect(() => {
    const id = conversationOf(false);
    const controller = new AbortController();
    fetch(`/api/chat?conversationId=${id}`, { signal: controller.signal })
      .then((response) => response.json())
      .then((entries: { message: Message }[]) => {
        setMessages(entries.map(({ message }) => message));
        setConversationId(id);
      })
      .catch(() => controller.signal.aborted || setNote("The chat could not be loaded. Reload the page."));
    return () => controller.abort();
  }, []);

  async function ask(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const question = String(new FormData(form).get("question"));
    form.reset();
    setNote("");
    setIsAnswering(true);
    const before = [...messages, { role: "user", content: question }];
    let content = "";
    try {
      setMessages([...before, { role: "assistant", content: "…" }]);
      const response = await fetch("/api/chat", { method: "POST", body: JSON.stringify({ conversationId, question }) });
      if (!response.ok || response.body === null) throw new Error();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        content += read.value;
        setMessages([...before, { role: "assistant", content }]);
      }
    } catch {
      setMessages(content === "" ? before : [...before, { role: "assistant", content }]);
      setNote("The answer broke off. What you said is kept.");
    } finally {
      setIsAnswering(false);
    }
  }

  function begin() {
    setConversationId(conversationOf(true));
    setMessages([]);
    setNote("");
  }

  return (
    <main>
      <h1>A chat that remembers</h1>
      <ol>
        {messages.map(({ role, content }, index) => (
          <li key={index} className={role}>
            {content}
          </li>
        ))}
      </ol>
      <p role="status">{note}</p>
      <form onSubmit={(event) => void ask(event)}>
        <input name="question" aria-label="Your message" autoComplete="off" required />
        <button disabled={conversationId === undefined || isAnswering}>Send</button>
        <button type="button" disabled={isAnswering} onClick={begin}>
          New chat
        </button>
      </form>
    </main>
  );
}
