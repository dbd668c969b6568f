/** Messages to store, in formats that the engine reads: OpenAI's, and the AI SDK's where call and result are one message. */

/** Text, or text in parts. */
export type Content = string | readonly { type: "text"; text: string }[];

/** Field of a message with its text or parts, and the model's reasoning where there is some. */
type Raw = Record<string, unknown>;

/**
 * What a person or a model said. A text of any other role (an app's system prompt) counts as said by the assistant: it
 * came from a file, so it is never an instruction, and it is not the user's own word. Its role is in the metadata.
 */
export function plainMessage(role: string, content: Content, reasoning?: string): Raw {
  const said: Raw = { role: role === "user" ? "user" : "assistant", content };
  return reasoning === undefined || reasoning === "" || role === "user" ? said : { ...said, reasoning_content: reasoning };
}

/** A call of a tool. What is no JSON object becomes the field `input` of one: providers refuse other arguments. */
export function toolCall(id: string, name: string, input: string, reasoning?: string): Raw {
  const call = { id, type: "function", function: { name: toolName(name), arguments: argumentsText(input) } };
  return { ...plainMessage("assistant", "", reasoning), content: null, tool_calls: [call] };
}

/** What a tool answered to a call that is the message before. */
export function toolResult(callId: string, name: string, output: Content): Raw {
  return { role: "tool", tool_call_id: callId, name: toolName(name), content: output };
}

/** An answer of a tool with the call that belongs to it, in one message. */
export function callAndResult(name: string, id: string, output: Content): Raw {
  const text = typeof output === "string" ? output : output.map((part) => part.text).join("\n");
  return { role: "assistant", parts: [toolPart({ id, name, input: {}, output: text, isError: false })] };
}

/** A call with what became of it, as a part of an AI SDK message. `output` undefined: nothing yet. */
export function toolPart(call: { id: string; name: string; input: unknown; output: unknown; isError: boolean }): Raw {
  const part = { type: "dynamic-tool", toolName: toolName(call.name), toolCallId: call.id, input: call.input ?? {} };
  if (call.output === undefined) return { ...part, state: "input-available" };
  if (!call.isError) return { ...part, state: "output-available", output: call.output };
  return { ...part, state: "output-error", errorText: typeof call.output === "string" ? call.output : JSON.stringify(call.output) };
}

function toolName(name: string): string {
  return name === "" ? "tool" : name;
}

/** The text itself where it is a JSON object, unchanged; else an object that holds it. */
export function argumentsText(input: string): string {
  if (input.trimStart().startsWith("{")) {
    try {
      JSON.parse(input);
      return input;
    } catch {
      // Code that begins with a brace.
    }
  }
  return JSON.stringify({ input });
}
