// The texts of a context's messages in OpenAI's format.

export function textOf({ messages }) {
  return messages.map(({ content }) => (typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n"))).join("\n");
}
