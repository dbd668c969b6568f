import { MemoryError } from "../../errors.js";
import { visibleEntries } from "../visible-entries.js";
import { CappedRecords } from "./capped-records.js";
import type { CheckedToolsOptions, MemoryTool, ToolMemory } from "./memory-tool.js";
import { RECORDS_NOTE, shownMessage, type ShownMessage } from "./search-memory.js";
import { ToolArguments } from "./tool-arguments.js";

const NAME = "recall_range";
const LONGEST_ID = 512;
const LAST_POSITION = 0xffff_ffff;
/** Messages that are read at once. */
const PAGE = 200;

/** The tool that reads on around what was found. */
export function recallRangeTool(memory: ToolMemory, options: CheckedToolsOptions): MemoryTool {
  return {
    name: NAME,
    description:
      "Reads messages of an earlier conversation in order, word for word. Use it after search_memory to see what was said before " +
      "or after a message that was found. Where not everything fits, the answer says from which position to read on.",
    inputSchema: {
      type: "object",
      properties: {
        conversationId: { type: "string", minLength: 1, maxLength: LONGEST_ID, description: "As search_memory gave it." },
        from: { type: "integer", minimum: 1, maximum: LAST_POSITION, description: "First position to read, inclusive." },
        to: { type: "integer", minimum: 1, maximum: LAST_POSITION, description: "Last position to read, inclusive." },
      },
      required: ["conversationId", "from", "to"],
      additionalProperties: false,
    },
    readOnly: true,
    execute: async (input, { signal } = {}) => {
      const given = new ToolArguments(NAME, input, ["conversationId", "from", "to"]);
      const conversationId = given.text("conversationId", LONGEST_ID);
      const from = given.integer("from", 1, LAST_POSITION);
      const to = given.integer("to", from, LAST_POSITION);
      await checkReadable(memory, conversationId, options, signal);
      const records = new CappedRecords(options.maxResultTokens, options.tokenizer);
      const end = Math.min(to, from + PAGE - 1);
      const entries = await visibleEntries(memory, { conversationId, from, to: end }, options.destination, signal);
      const messages: ShownMessage[] = [];
      let next = end < to && entries.length > 0 ? end + 1 : undefined;
      for (const entry of entries) {
        const message = shownMessage(entry);
        if (message.text === "") continue;
        // Only what would fit into no answer is shown in part.
        const taken = messages.length === 0 ? await records.take(message) : await records.takeWhole(message);
        if (taken === undefined) {
          next = entry.seq;
          break;
        }
        messages.push(taken);
      }
      return JSON.stringify({ note: RECORDS_NOTE, conversationId, messages, ...(next !== undefined && { readOnFrom: next }) });
    },
  };
}

/** A model may read what it could find. What may not be read is told like what is not there. */
async function checkReadable(memory: ToolMemory, id: string, options: CheckedToolsOptions, signal: AbortSignal | undefined): Promise<void> {
  const { remember, parentId, projectId } = await memory.conversations.get(id, signal && { signal });
  const isOpen = remember && parentId === null && (options.projectId === undefined || options.projectId === projectId);
  if (isOpen || id === options.conversationId) return;
  throw new MemoryError("not_found", `${NAME}: there is no conversation with this id; search_memory gives the ids.`);
}
