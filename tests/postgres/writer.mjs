// A process that appends for ever, and tells its parent what was acknowledged: `node writer.mjs ADDRESS USER [notifications]`.
import { createMemory } from "throughline";
import { postgresStorage } from "throughline/postgres";

const [connectionString, userId, notifications] = process.argv.slice(2);
const storage = postgresStorage({ connectionString, notifications: notifications !== undefined });
const memory = await createMemory({ userId, storage, tokenizer: "estimate" });
const { id: conversationId } = await memory.conversations.create();
for (let number = 0; ; number += 1) {
  const id = `m${number}`;
  await memory.append(conversationId, { id, role: "user", content: `Message ${number}` });
  process.send({ id });
}
