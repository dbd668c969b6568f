/** A message of assistant-ui, as the runtime gives it and as it is stored. */

type Fields = Readonly<Record<string, unknown>>;

/** What the adapter reads of assistant-ui's `ThreadMessage`; everything else of it comes back as it was. */
export interface AnyThreadMessage {
  readonly id: string;
  readonly role: "system" | "user" | "assistant";
  readonly content: readonly unknown[];
  readonly createdAt: Date;
}

/** Where a stored message has what makes it a `ThreadMessage` again. */
const FIELD = "assistantUi";

/**
 * The message as a UIMessage of the AI SDK, which the engine reads, with what else there is of it beside. Its content is
 * kept apart only where it is more than text.
 */
export function toStoredMessage(message: AnyThreadMessage): Fields {
  const { id, role, content, createdAt, ...rest } = message;
  const parts = content.map(toPart);
  const isPlain = content.every((part) => isPlainText(part));
  return { id, role, parts, [FIELD]: { ...rest, createdAt: createdAt.toISOString(), ...(!isPlain && { content }) } };
}

/** A `ThreadMessage` again, or `undefined` for a message that another app or format stored. */
export function fromStoredMessage(stored: Fields): AnyThreadMessage | undefined {
  const { id, role, parts } = stored;
  const extra = stored[FIELD];
  if (!isFields(extra) || typeof id !== "string" || !Array.isArray(parts)) return undefined;
  const { createdAt, content = parts, ...rest } = extra;
  const date = new Date(typeof createdAt === "string" ? createdAt : Number.NaN);
  const known = { id, role: role as AnyThreadMessage["role"], content: content as unknown[], createdAt: Number.isNaN(date.getTime()) ? new Date(0) : date };
  return { ...rest, ...known };
}

/** A message of any other format, as text. */
export function threadMessageOf(id: string, role: "system" | "user" | "assistant", text: string): AnyThreadMessage {
  const common = { id, createdAt: new Date(0), content: [{ type: "text", text }] };
  if (role === "user") return { ...common, role, attachments: [], metadata: { custom: {} } } as AnyThreadMessage;
  if (role === "system") return { ...common, role, metadata: { custom: {} } } as AnyThreadMessage;
  const metadata = { unstable_state: null, unstable_annotations: [], unstable_data: [], steps: [], custom: {} };
  return { ...common, role, status: { type: "complete", reason: "stop" }, metadata } as AnyThreadMessage;
}

function toPart(part: unknown): Fields {
  if (!isFields(part)) return { type: "text", text: "" };
  const { type, text, toolCallId, toolName, args, result, isError } = part;
  if (type === "tool-call") {
    const call = { type: `tool-${String(toolName)}`, toolCallId, input: args };
    if (result === undefined) return { ...call, state: "input-available" };
    return isError === true ? { ...call, state: "output-error", errorText: JSON.stringify(result) } : { ...call, state: "output-available", output: result };
  }
  if (type === "text" || type === "reasoning") return { type, text };
  if (type === "image") return { type: "file", mediaType: "image/*", url: part["image"] };
  if (type === "file") return { type, mediaType: part["mimeType"], url: part["data"], ...(typeof part["filename"] === "string" && { filename: part["filename"] }) };
  return { type: "data-assistant-ui", data: part };
}

function isPlainText(part: unknown): boolean {
  return isFields(part) && part["type"] === "text" && Object.keys(part).every((name) => name === "type" || name === "text");
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
