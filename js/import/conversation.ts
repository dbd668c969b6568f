/** The neutral shape that every app's conversations are read into, before they are stored. */

import type { ImportSkipReason, ImportSource } from "../types.js";
import { isWellFormed } from "../arguments.js";
import { ContentHash, contentHash } from "../content-hash.js";
import { timeMs } from "./import-time.js";
import { withoutBlanks } from "./json-value.js";
import { MessageTree, type TreeNode } from "./message-tree.js";

/** A message that is ready to be stored. */
export interface ImportedMessage {
  /** Its id, also in `raw`. */
  id: string;
  /** The message before it in its branch; `null`: it begins the conversation. */
  parentId: string | null;
  /** The object to store as JSON text, in a format that the engine reads. */
  raw: string;
  /** Hash of what it says: metadata and times may change from one export to the next. */
  hash: string;
  /** It is in the branch that the app showed last. */
  isActive: boolean;
}

/** A conversation that is ready to be stored. */
export interface ImportedConversation {
  /** `<app>:<its own id>`. */
  id: string;
  /** The app that it is of. */
  source: ImportSource;
  /** The title that the app gave; `undefined`: none. */
  title: string | undefined;
  /** False where its user said so: temporary, or "do not remember". */
  remember: boolean;
  /** When the app made it, milliseconds since 1970; `undefined`: unknown. */
  createdAt: number | undefined;
  /** The active branch from its beginning, then the others; parents before children. */
  messages: ImportedMessage[];
  /** The newest message of the branch that the app showed last. */
  activeLeafId: string;
  /** Hash of what is said, of the title, of the branches and of `remember`. */
  contentHash: string;
}

/** An entry that becomes no conversation. */
export class Skip extends Error {
  constructor(readonly reason: ImportSkipReason, message: string) {
    super(message);
  }
}

/** What an app's reader says of a conversation. */
export interface ConversationFacts {
  source: ImportSource;
  /** The app's own id; empty: a hash of what does not change when it grows, `identity`. */
  ownId: string;
  /** What tells the conversation apart where it has no id. Default: all of its messages. */
  identity?: readonly string[];
  title?: unknown;
  remember?: boolean;
  /** When it was made, as the app writes it. Default: the time of the first message that has one. */
  createdAt?: unknown;
  /** Node that the app showed last. Default: the newest leaf. */
  currentId?: string | undefined;
}

/** Characters; in bytes at most three times as many, and the engine takes 512. */
const LONGEST_ID = 150;

/** A conversation of the nodes of a tree. Nodes without a raw object are left out, their children move up. */
export function conversationOf(facts: ConversationFacts, nodes: readonly TreeNode[]): ImportedConversation {
  const tree = new MessageTree(nodes, facts.currentId);
  const kept = tree.visible();
  if (kept.length === 0) throw new Skip("empty", "It has no message that says anything.");
  const ids = new Map<TreeNode, string>();
  const messages: ImportedMessage[] = [];
  const taken = new Set<string>();
  const twins = new Map<string, number>();
  // The active branch first: stored in one go, it needs no other call to become active.
  const inOrder = [...kept.filter(({ isActive }) => isActive), ...kept.filter(({ isActive }) => !isActive)];
  for (const { node, parent, isActive } of inOrder) {
    const parentId = parent === undefined ? null : (ids.get(parent) ?? null);
    const hash = saidHash(node.raw ?? {});
    const id = ownMessageId(node, taken) ?? numbered(contentHash(parentId ?? "", hash), twins);
    taken.add(id);
    ids.set(node, id);
    messages.push({ id, parentId, raw: JSON.stringify({ ...node.raw, id }), hash, isActive });
  }
  const title = typeof facts.title === "string" && facts.title.trim() !== "" ? facts.title.slice(0, 500) : undefined;
  const remember = facts.remember ?? true;
  const active = messages.filter((message) => message.isActive);
  const activeLeafId = (active.at(-1) ?? messages.at(-1))?.id ?? "";
  const hash = new ContentHash().add(title ?? "").add(String(remember)).add(activeLeafId);
  for (const message of messages) hash.add(message.parentId ?? "").add(message.hash);
  const ownId = facts.ownId.length > LONGEST_ID || !isWellFormed(facts.ownId) ? contentHash(facts.ownId) : facts.ownId;
  const identity = facts.identity ?? messages.map((message) => message.hash);
  return {
    id: `${facts.source}:${ownId === "" ? contentHash(...identity) : ownId}`,
    source: facts.source,
    title,
    remember,
    createdAt: timeMs(facts.createdAt) ?? inOrder.find(({ node }) => node.time !== undefined)?.node.time,
    messages,
    activeLeafId,
    contentHash: hash.digest(),
  };
}

/** What of a stored message is not what it says. */
const BESIDES: ReadonlySet<string> = new Set(["id", "metadata", "created_at", "createdAt", "timestamp"]);

/** The hash of what a message to store says. */
export function saidHash(raw: Readonly<Record<string, unknown>>): string {
  const hash = new ContentHash();
  for (const [name, value] of Object.entries(raw)) {
    if (!BESIDES.has(name)) hash.add(name).add(typeof value === "string" ? value : JSON.stringify(value));
  }
  return hash.digest();
}

/** Twins (siblings that say the same and have no ids) are numbered. */
function numbered(id: string, twins: Map<string, number>): string {
  const number = (twins.get(id) ?? 0) + 1;
  twins.set(id, number);
  return number === 1 ? id : `${id}.${number}`;
}

/** The app's id of a message, where it can be one here too. */
function ownMessageId(node: TreeNode, taken: ReadonlySet<string>): string | undefined {
  const { ownId } = node;
  if (ownId === "" || ownId.startsWith("seq:") || ownId.length > LONGEST_ID || !isWellFormed(ownId) || taken.has(ownId)) return undefined;
  return ownId;
}

/** Facts about a message for its `metadata`; those that say nothing are left out. */
export function metadata(source: ImportSource, fields: Record<string, unknown>): Record<string, unknown> {
  return { importedFrom: source, ...withoutBlanks(fields) };
}
