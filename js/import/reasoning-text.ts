/**
 * Open WebUI's `<details>` blocks: reasoning and tool calls that it keeps inside the visible text of an answer.
 */

/** A piece of such a text, in order. */
export type TextPiece =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "tool"; id: string; name: string; input: string; output: string | undefined };

const OPENING = /<details\b([^<>]*)>/g;
const CLOSING = "</details>";

/** The text split at its blocks. A block that does not end, or is of another kind, is text. */
export function textPieces(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  let from = 0;
  const say = (until: number): void => {
    const said = text.slice(from, until);
    if (said.trim() !== "") pieces.push({ kind: "text", text: said });
  };
  OPENING.lastIndex = 0;
  for (let match = OPENING.exec(text); match !== null; match = OPENING.exec(text)) {
    const attributes = attributesOf(match[1] ?? "");
    const kind = attributes.get("type");
    if (kind !== "reasoning" && kind !== "tool_calls") continue;
    const end = text.indexOf(CLOSING, OPENING.lastIndex);
    if (end < 0) break;
    say(match.index);
    const inside = text.slice(OPENING.lastIndex, end);
    if (kind === "reasoning") pieces.push({ kind: "reasoning", text: reasoningText(inside) });
    else pieces.push(toolPiece(attributes));
    from = end + CLOSING.length;
    OPENING.lastIndex = from;
  }
  say(text.length);
  return pieces.map((piece) => (piece.kind === "text" && pieces.length > 1 ? { ...piece, text: piece.text.trim() } : piece));
}

function toolPiece(attributes: ReadonlyMap<string, string>): TextPiece {
  return {
    kind: "tool",
    id: attributes.get("id") ?? "",
    name: attributes.get("name") ?? "",
    input: attributes.get("arguments") ?? "",
    output: attributes.get("done") === "false" ? undefined : attributes.get("result"),
  };
}

/** Without its heading, and without the signs that quote each line. */
function reasoningText(inside: string): string {
  const body = inside.replace(/^\s*<summary>[^<]*<\/summary>/, "").trim();
  const lines = body.split("\n");
  return lines.every((line) => line.startsWith(">") || line === "") ? lines.map((line) => line.replace(/^> ?/, "")).join("\n") : body;
}

function attributesOf(text: string): Map<string, string> {
  return new Map([...text.matchAll(/(?<![a-z_])([a-z_]+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, withoutEntities(value)]));
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", "#39": "'" };

/** HTML's entities as the characters that they stand for; unknown ones as they are. */
export function withoutEntities(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]+);/gi, (whole, name: string) => {
    const known = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined;
    if (known !== undefined) return known;
    if (!name.startsWith("#")) return whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
  });
}
