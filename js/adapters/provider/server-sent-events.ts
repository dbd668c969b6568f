import type { Deadline } from "./deadline.js";

/**
 * The data of each server-sent event of a stream. Lines end in LF, CRLF or CR; comments and other fields than `data` are
 * skipped (https://html.spec.whatwg.org/multipage/server-sent-events.html). An event that the stream ends in is given too:
 * servers forget the last empty line.
 */
export async function* readEvents(stream: ReadableStream<Uint8Array>, deadline: Deadline): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const lines = new Lines();
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await deadline.race(reader.read());
      deadline.touch();
      for (const line of done ? lines.end(decoder.decode()) : lines.add(decoder.decode(value, { stream: true }))) {
        if (line !== "") {
          const text = dataOf(line);
          if (text !== undefined) data.push(text);
        } else if (data.length > 0) {
          const event = data.join("\n");
          data = [];
          yield event;
        }
      }
      if (done) break;
    }
    if (data.length > 0) yield data.join("\n");
  } finally {
    // Whoever stops reading wants no more of it.
    void reader.cancel().catch(() => undefined);
  }
}

function dataOf(line: string): string | undefined {
  if (line === "data") return "";
  if (!line.startsWith("data:")) return undefined;
  return line.charAt(5) === " " ? line.slice(6) : line.slice(5);
}

/** Lines of a text that comes in pieces. */
class Lines {
  #rest: string[] = [];
  #endsInReturn = false;

  add(piece: string): string[] {
    if (piece === "") return [];
    const text = this.#endsInReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#endsInReturn = piece.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    const last = lines.pop() as string;
    if (lines.length > 0) {
      lines[0] = this.#rest.join("") + (lines[0] as string);
      this.#rest = [];
    }
    this.#rest.push(last);
    return lines;
  }

  end(piece: string): string[] {
    const lines = [...this.add(piece), this.#rest.join("")];
    this.#rest = [];
    return lines;
  }
}
