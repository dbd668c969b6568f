import { after } from "next/server";
import { isMemoryError, type MessageStream } from "throughline";
import { memories } from "../../../lib/memories";
import { WINDOW, chatModel } from "../../../lib/model";
import { userOf } from "../../../lib/user";

/** The engine needs Node: it reads its WebAssembly from a file, and the database through a socket. */
export const runtime = "nodejs";
/** Seconds for the answer and the work behind it, where the host ends functions. */
export const maxDuration = 120;

/** What was said, for a page that is opened. */
export async function GET(request: Request): Promise<Response> {
  const conversationId = new URL(request.url).searchParams.get("conversationId") ?? "";
  const { memory, release } = await memories.use(userOf(request));
  try {
    return Response.json(await memory.history(conversationId, { withStatus: true }));
  } catch (error) {
    return isMemoryError(error, "not_found") ? Response.json([]) : refused(error);
  } finally {
    release();
  }
}

/** `{ conversationId, question }`: streams the answer as text. */
export async function POST(request: Request): Promise<Response> {
  const { conversationId, question } = (await request.json()) as { conversationId: string; question: string };
  const { memory, release } = await memories.use(userOf(request));
  // Summaries, facts and vectors follow the response; where the host ends the process, runJobs of throughline/postgres goes on.
  after(() => memory.settled().finally(release));
  try {
    await memory.conversations.create({ id: conversationId }).catch(unlessThere);
    // The question is stored before anything can fail.
    await memory.append(conversationId, { role: "user", content: question });
    const context = await memory.buildContext({ conversationId, system: "You are a helpful assistant. Be brief.", ...WINDOW });
    const answer = chatModel.send(context, { signal: request.signal });
    const pieces = answer[Symbol.asyncIterator]();
    // What fails before an answer begins is told by the response's status.
    const first = await pieces.next();
    const saved = await memory.stream(conversationId, { role: "assistant", content: "" });
    const told = tell(saved, first, pieces, async () => {
      const { message, usage } = await answer.finished;
      await saved.complete(message);
      await memory.reportUsage(conversationId, usage);
    });
    return new Response(bytesOf(told), { headers: { "content-type": "text/plain; charset=utf-8" } });
  } catch (error) {
    return refused(error);
  }
}

/** The pieces of the answer, each stored as it passes; of one that breaks off, what arrived is kept. */
async function* tell(saved: MessageStream, first: IteratorResult<string>, pieces: AsyncIterator<string>, complete: () => Promise<void>): AsyncGenerator<string> {
  try {
    for (let piece = first; !piece.done; piece = await pieces.next()) {
      saved.write(piece.value);
      yield piece.value;
    }
    await complete();
  } finally {
    // Changes nothing once it is complete.
    await saved.abort();
  }
}

function bytesOf(pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}

function unlessThere(error: unknown): void {
  if (!isMemoryError(error, "conflict")) throw error;
}

function refused(error: unknown): Response {
  if (!isMemoryError(error)) throw error;
  return Response.json({ code: error.code, message: error.message }, { status: error.retryable ? 503 : 400 });
}
