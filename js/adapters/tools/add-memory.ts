import { aborted } from "../../errors.js";
import type { MemoryTool, MemoryToolsOptions, ToolMemory } from "./memory-tool.js";
import { ToolArguments } from "./tool-arguments.js";

const NAME = "add_memory";
const LONGEST_FACT = 1_000;
const CATEGORIES = ["preference", "identity", "project", "constraint", "style", "decision"];

/**
 * The tool that keeps something about the user. That a model calls it is not the user's word: a page that the model read can
 * have told it to. So it waits for approval, unless the app asks the user here and now.
 */
export function addMemoryTool(memory: ToolMemory, { confirm, onFact }: MemoryToolsOptions): MemoryTool {
  return {
    name: NAME,
    description:
      "Remembers one durable fact about the user for later conversations: a preference, who they are, a project, a constraint or " +
      "a decision. Only what the user said themselves, in one sentence; never passwords, keys or passing states. " +
      (confirm === undefined ? "It is used once the user has approved it." : "The user is asked first."),
    inputSchema: {
      type: "object",
      properties: {
        fact: { type: "string", minLength: 1, maxLength: LONGEST_FACT, description: "The fact in one sentence, e.g. \"Prefers metric units\"." },
        category: { type: "string", enum: CATEGORIES, description: "What kind of fact it is. Default preference." },
      },
      required: ["fact"],
      additionalProperties: false,
    },
    readOnly: false,
    execute: async (input, { signal } = {}) => {
      const given = new ToolArguments(NAME, input, ["fact", "category"]);
      const category = given.oneOf("category", CATEGORIES);
      const fact = { fact: given.text("fact", LONGEST_FACT), ...(category !== undefined && { category }) };
      if (signal?.aborted === true) throw aborted(signal);
      if (confirm !== undefined && !(await confirm(fact, { signal }))) return JSON.stringify({ status: "declined", note: "The user does not want this to be remembered." });
      const suggested = confirm === undefined;
      const added = await memory.facts.add({ ...fact, ...(suggested && { suggested }), ...(signal && { signal }) });
      onFact?.(added);
      const note = added.status === "active" ? "It is remembered." : "It waits for the user's approval.";
      return JSON.stringify({ status: added.status, id: added.id, note });
    },
  };
}
