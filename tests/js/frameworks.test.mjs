// What docs/frameworks.md gives to every framework, run as it stands there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { transform } from "esbuild";
import { createMemory, memoryStorage } from "throughline";

const page = readFileSync(new URL("../../docs/frameworks.md", import.meta.url), "utf8");
const [, first] = /```ts\n(.*?)```/s.exec(page);
const { code } = await transform(first, { loader: "ts" });
const { watchConversation } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

test("a watched conversation is shown at once and after every change, until it is let go; a failure is told", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  await memory.conversations.create({ id: "c" });
  const shown = [];
  const until = async (words) => {
    for (let tries = 0; JSON.stringify(shown.at(-1)) !== JSON.stringify(words); tries += 1) {
      assert.ok(tries < 500, `${JSON.stringify(shown.at(-1))} in place of ${JSON.stringify(words)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const end = watchConversation(memory, "c", (entries) => shown.push(entries.map(({ message }) => message.content)), assert.fail);
  await until([]);
  await memory.append("c", [{ id: "a", role: "user", content: "one" }, { id: "b", role: "assistant", content: "two" }]);
  await until(["one", "two"]);
  const stream = await memory.stream("c", { id: "s", role: "assistant", content: "" });
  stream.write("three");
  await stream.complete();
  await until(["one", "two", "three"]);
  await memory.edit("c", "b", { id: "b2", role: "assistant", content: "2" });
  await until(["one", "2"]);
  await memory.setActiveLeaf("c", "s");
  await until(["one", "two", "three"]);
  await memory.remove("c", "s");
  await until(["one", "two"]);
  end();
  const { length } = shown;
  await memory.append("c", { role: "user", content: "unseen" });
  await memory.settled();
  assert.equal(shown.length, length);
  const failure = await new Promise((resolve) => watchConversation(memory, "none", assert.fail, resolve));
  assert.equal(failure.code, "not_found");
  await memory.close();
});
