/** What a raw message says, in words, whichever of the formats it has: for models that are shown old messages. */

/** Who speaks, and what they say. */
export interface SpokenMessage {
  role: "system" | "user" | "assistant" | "tool";
  /** Its texts, and calls and results of tools in short; without reasoning and media. May be empty. */
  text: string;
}

type Fields = Readonly<Record<string, unknown>>;

const ROLES: Readonly<Record<string, SpokenMessage["role"]>> = {
  system: "system", developer: "system", SystemMessage: "system",
  user: "user", human: "user", HumanMessage: "user",
  assistant: "assistant", model: "assistant", ai: "assistant", AIMessage: "assistant", AIMessageChunk: "assistant", function_call: "assistant",
  tool: "tool", function: "tool", ToolMessage: "tool", function_call_output: "tool",
};

/** Kinds of parts that nobody said. */
const UNSPOKEN = /^(?:reasoning|thinking|redacted_thinking|step-start)$/;

/** Reads a message of any format that `append` takes. */
export function spokenMessage(message: object): SpokenMessage {
  const outer = message as Fields;
  const { data, kwargs, id } = outer;
  // LangChain's stored form, and the JSON of its classes.
  const inner = isFields(data) ? data : isFields(kwargs) ? kwargs : outer;
  const name = text(inner["role"]) ?? (Array.isArray(id) ? text(id.at(-1)) : undefined) ?? text(outer["type"]) ?? "";
  const calls = [inner["tool_calls"], inner["function_call"]].flatMap((each) => (Array.isArray(each) ? (each as unknown[]) : [each]));
  const body = inner["content"] ?? inner["parts"] ?? (isPart(outer) ? [outer] : undefined);
  const texts = [bodyText(body), ...calls.map((call) => (isFields(call) ? callText(call) : ""))];
  return { role: ROLES[name] ?? "user", text: texts.filter((each) => each !== "").join("\n") };
}

function isPart({ type }: Fields): boolean {
  return type === "function_call" || type === "function_call_output";
}

function bodyText(body: unknown): string {
  if (typeof body === "string") return body;
  if (isFields(body)) return partText(body);
  if (!Array.isArray(body)) return "";
  const texts = (body as unknown[]).map((part) => (typeof part === "string" ? part : isFields(part) ? partText(part) : ""));
  return texts.filter((each) => each !== "").join("\n");
}

function partText(part: Fields): string {
  const type = text(part["type"]) ?? "";
  if (UNSPOKEN.test(type) || part["thought"] === true) return "";
  if (typeof part["text"] === "string") return part["text"];
  const { functionCall, functionResponse } = part;
  if (isFields(functionCall)) return callText(functionCall);
  if (isFields(functionResponse)) return resultText(functionResponse["response"]);
  if (type === "tool_result") return resultText(part["content"]);
  const results = part["output"] ?? part["result"];
  const call = part["input"] ?? part["args"] ?? part["arguments"];
  return [call === undefined ? "" : callText(part), results === undefined ? "" : resultText(results)].filter((each) => each !== "").join("\n");
}

function callText(call: Fields): string {
  const called = isFields(call["function"]) ? call["function"] : call;
  const name = text(called["name"]) ?? text(called["toolName"]) ?? text(called["type"])?.replace(/^tool-/, "") ?? "a tool";
  return `[calls ${name}: ${jsonText(called["input"] ?? called["args"] ?? called["arguments"] ?? {})}]`;
}

function resultText(result: unknown): string {
  return `[result: ${Array.isArray(result) ? bodyText(result) : jsonText(result)}]`;
}

function jsonText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
