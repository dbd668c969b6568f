/**
 * The messages of a context by the format that was asked for, as discriminated unions: by `role`, parts by `type`. They say
 * what the package writes and what a provider takes; a message that came in the same format comes back as it was given, with
 * whatever fields it had. For the formats that are not here (`openai-responses`, `langchain`, `ai-sdk`), name the library's own
 * type: `buildContext<ModelMessage>(...)`.
 */

/** A part of a message in OpenAI's chat format. */
export type OpenAIContentPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string; detail?: "auto" | "low" | "high" } }
  | { type: "input_audio"; input_audio: { data: string; format: "wav" | "mp3" } }
  | { type: "file"; file: { file_data?: string; file_id?: string; filename?: string } };

/** A call of a function in OpenAI's chat format; `arguments` is JSON text. */
export interface OpenAIToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A text part in OpenAI's chat format. */
export interface OpenAITextPart {
  type: "text";
  text: string;
}

/** A message in OpenAI's chat format, by `role`. */
export type OpenAIMessage =
  | { role: "system" | "developer"; content: string | OpenAITextPart[]; name?: string }
  | { role: "user"; content: string | OpenAIContentPart[]; name?: string }
  | { role: "assistant"; content?: string | OpenAITextPart[] | null; tool_calls?: OpenAIToolCall[]; name?: string }
  | { role: "tool"; tool_call_id: string; content: string | OpenAITextPart[] };

/** Where Anthropic finds an image or a document. */
export type AnthropicSource =
  | { type: "base64"; media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp"; data: string }
  | { type: "url"; url: string };

/** A part of a tool's result in Anthropic's format. */
export type AnthropicResultBlock = { type: "text"; text: string } | { type: "image"; source: AnthropicSource };

/** A block of a message in Anthropic's format, by `type`. */
export type AnthropicContentBlock =
  | { type: "text"; text: string }
  | { type: "image"; source: AnthropicSource }
  | { type: "tool_use"; id: string; name: string; input: unknown }
  | { type: "tool_result"; tool_use_id: string; content?: string | AnthropicResultBlock[]; is_error?: boolean }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string };

/** A message in Anthropic's format. */
export interface AnthropicMessage {
  role: "user" | "assistant";
  content: string | AnthropicContentBlock[];
}

/** A part of Gemini's `contents`: the one field that is there says which. */
export interface GeminiPart {
  /** Text; with `thought`, the model's own. */
  text?: string;
  /** The text is a thought. */
  thought?: boolean;
  /** Bytes in base64. */
  inlineData?: { mimeType: string; data: string };
  /** A file that was uploaded. */
  fileData?: { mimeType?: string; fileUri: string };
  /** A call of a function. */
  functionCall?: { id?: string; name: string; args?: Record<string, unknown> };
  /** Its result. */
  functionResponse?: { id?: string; name: string; response: Record<string, unknown> };
}

/** A message in Gemini's format. */
export interface GeminiContent {
  role: "user" | "model";
  parts: GeminiPart[];
}

/** The message of each format that has a type here. */
export interface MessageOfFormat {
  openai: OpenAIMessage;
  anthropic: AnthropicMessage;
  gemini: GeminiContent;
}
