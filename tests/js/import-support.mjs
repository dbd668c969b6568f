// What the tests of the importers share: an engine that keeps what is asked of it, exports in small, and zips.
import { gzipSync, deflateRawSync, crc32 as zlibCrc } from "node:zlib";
import { MemoryError } from "throughline";
import { importFiles } from "../../dist/import/importer.js";

/** A stand-in for the engine that keeps branches, sources and hashes, and remembers every call. */
export class RecordingEngine {
  conversations = new Map();
  calls = [];
  /** How often everything was erased. */
  erasures = 0;

  async call(method, request) {
    // Each import asks this first; it stores nothing.
    if (method === "erasures") return this.erasures;
    this.calls.push([method, request]);
    return structuredClone(this[method](structuredClone(request)));
  }

  /** Tests import one file at a time: nothing has to wait. */
  exclusive(name, signal, work) {
    return work();
  }

  stored(id) {
    const found = this.conversations.get(id);
    if (found === undefined) throw new MemoryError("not_found", "there is no conversation with this id");
    return found;
  }

  getConversation({ id }) {
    const { messages, ...view } = this.stored(id);
    return { ...view, messageCount: messages.size };
  }

  createConversation({ id, erasures, ...rest }) {
    if (erasures !== this.erasures) throw new MemoryError("aborted", "everything was erased while this was imported");
    this.conversations.set(id, { id, remember: true, ...rest, messages: new Map(), activeLeaf: null });
    return this.getConversation({ id });
  }

  updateConversation({ id, ...changes }) {
    Object.assign(this.stored(id), changes);
  }

  deleteConversation({ id }) {
    this.conversations.delete(id);
  }

  append({ conversationId, messages, parentIds, activate, imported }) {
    const conversation = this.stored(conversationId);
    if (imported !== true) throw new MemoryError("invalid_argument", "an import must say so");
    const kept = new Map(conversation.messages);
    let leaf = conversation.activeLeaf;
    const answers = messages.map((text, index) => {
      const raw = JSON.parse(text);
      const parentId = parentIds[index];
      const known = kept.get(raw.id);
      if (known !== undefined && known.text !== text) throw new MemoryError("conflict", "the id is taken");
      if (parentId !== null && !kept.has(parentId)) throw new MemoryError("invalid_argument", "a parent is not stored");
      if (known === undefined) {
        kept.set(raw.id, { text, raw, parentId, seq: kept.size + 1 });
        if (activate) leaf = raw.id;
      }
      return { id: raw.id, seq: kept.get(raw.id).seq, durable: false };
    });
    conversation.messages = kept;
    conversation.activeLeaf = leaf;
    return answers;
  }

  setActiveLeaf({ conversationId, messageId }) {
    const conversation = this.stored(conversationId);
    if (!conversation.messages.has(messageId)) throw new MemoryError("not_found", "there is no message with this id");
    conversation.activeLeaf = messageId;
  }

  tree({ id }) {
    const active = new Set(this.active(id).map((raw) => raw.id));
    return this.all(id).map(({ raw, seq }) => ({ id: raw.id, seq, active: active.has(raw.id) }));
  }

  history({ conversationId, all }) {
    if (all !== true) throw new MemoryError("invalid_argument", "every branch is wanted");
    return [...this.stored(conversationId).messages.values()].map(({ text }) => text);
  }

  /** Messages of the active branch, oldest first. */
  active(id) {
    const { messages, activeLeaf } = this.stored(id);
    const path = [];
    for (let at = activeLeaf; at !== null; at = messages.get(at).parentId) path.unshift(messages.get(at).raw);
    return path;
  }

  all(id) {
    return [...this.stored(id).messages.values()];
  }

  ids() {
    return [...this.conversations.keys()];
  }
}

/** Imports into an engine. Objects become a JSON file, texts a file as they are. */
export function importInto(engine, input, options = {}) {
  return importFiles(engine, toInput(input), options);
}

function toInput(input) {
  if (typeof input === "string") return new File([input], "export");
  if (input instanceof Blob || input instanceof Uint8Array || input instanceof ReadableStream) return input;
  if (Array.isArray(input) && input.length > 0 && input.every((each) => each instanceof Blob)) return input;
  return new File([JSON.stringify(input)], "export");
}

/** Imports into a fresh engine. */
export async function imported(input, options) {
  const engine = new RecordingEngine();
  const report = await importInto(engine, input, options);
  return { engine, report };
}

/** What a message shows. */
export function shown(raw) {
  if (typeof raw.content === "string") return raw.content;
  return (raw.content ?? raw.parts ?? []).map((part) => part.text ?? part.output ?? "").join("\n");
}

/**
 * A zip of `{ name: text or bytes }`. `lie` changes what is declared of an entry's unpacked size; entries of which
 * `isLocked` says so are marked as encrypted.
 */
export function zipOf(files, { lie = (size) => size, store = false, isLocked = () => false } = {}) {
  const locals = [];
  const centrals = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content);
    const packed = store ? bytes : deflateRawSync(bytes, { level: 9 });
    const path = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(isLocked(name) ? 0x801 : 0x800, 2);
    common.writeUInt16LE(store ? 0 : 8, 4);
    common.writeUInt32LE(crcOf(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(lie(bytes.length), 18);
    common.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, path, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    centrals.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), common, tail, path]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(centrals.length, 8);
  end.writeUInt16LE(centrals.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return new Uint8Array(Buffer.concat([...locals, directory, end]));
}

export function gzipOf(text) {
  return new Uint8Array(gzipSync(text, { level: 9 }));
}

function crcOf(bytes) {
  if (typeof zlibCrc === "function") return zlibCrc(bytes);
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ -1) >>> 0;
}

/** A ChatGPT node. */
export function node(id, parent, role, content, extra = {}) {
  const { metadata = {}, children = [], ...message } = extra;
  const body = typeof content === "string" ? { content_type: "text", parts: [content] } : content;
  const time = 1_700_000_000 + Number(/\d+/.exec(id)?.[0] ?? 0);
  return [id, { id, parent, children, message: { id, author: { role }, create_time: time, content: body, status: "finished_successfully", weight: 1, end_turn: true, recipient: "all", metadata, ...message } }];
}

/** A ChatGPT conversation of nodes; the last one is current. */
export function chatGpt(id, nodes, extra = {}) {
  const mapping = Object.fromEntries([["root", { id: "root", parent: null, children: [], message: null }], ...nodes]);
  return { title: `Title of ${id}`, create_time: 1_700_000_000.5, update_time: 1_700_000_900.5, mapping, current_node: nodes.at(-1)?.[0], conversation_id: id, id, default_model_slug: "gpt-5", is_archived: false, is_do_not_remember: false, ...extra };
}

/** A plain one: a question and its answer. */
export function smallChat(id, text = "What is the port?") {
  return chatGpt(id, [node("m1", "root", "user", text), node("m2", "m1", "assistant", `You asked: ${text}`)]);
}
