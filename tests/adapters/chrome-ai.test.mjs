// The browser's built-in model, with an object of the documented shape.
/* global Event, EventTarget */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, memoryStorage } from "throughline";
import { chromeAiAvailability, createChromeAi } from "throughline/chrome-ai";
import { WORDS, context, failsWith, generateRequest, piecesOf } from "./checks.mjs";

/** A `LanguageModel` that answers with how often it was asked, and counts its sessions. */
function builtIn({ availability = "available", fail, window = { contextWindow: 6_000 } } = {}) {
  const sessions = [];
  const api = {
    availability: async (options) => (api.asked = options, availability),
    async create(options) {
      if (fail?.create) throw fail.create;
      if (options.signal?.aborted) throw options.signal.reason;
      if (options.monitor) {
        const source = new EventTarget();
        options.monitor(source);
        for (const loaded of [0, 0.5, 1]) source.dispatchEvent(Object.assign(new Event("downloadprogress"), { loaded, total: 1 }));
      }
      const target = new EventTarget();
      const session = Object.assign(target, {
        ...window, options, prompts: [], isDestroyed: false,
        async prompt(input, settings) {
          session.prompts.push({ input, settings });
          if (fail?.prompt) throw fail.prompt;
          return '{"facts":[]}';
        },
        promptStreaming(input, { signal }) {
          session.prompts.push({ input });
          return new ReadableStream({
            async start(controller) {
              if (session.isFull) return controller.error(named("QuotaExceededError"));
              controller.enqueue("answer ");
              await new Promise((resolve) => setTimeout(resolve, 3));
              if (signal.aborted) return controller.error(signal.reason);
              if (fail?.stream) return controller.error(fail.stream);
              controller.enqueue(String(session.prompts.length));
              controller.close();
            },
          });
        },
        destroy: () => (session.isDestroyed = true),
      });
      sessions.push(session);
      return session;
    },
  };
  return { api, sessions };
}

const named = (name) => Object.assign(new Error(WORDS), { name });

test("availability is told, also where there is no such model", async () => {
  assert.equal(await chromeAiAvailability(), "unsupported");
  await assert.rejects(createChromeAi(), failsWith("model_failed", { retryable: false, details: { reason: "unsupported" } }));
  const { api } = builtIn({ availability: "downloadable" });
  assert.equal(await chromeAiAvailability({ api, languages: ["de", "en"] }), "downloadable");
  assert.deepEqual(api.asked.expectedInputs, [{ type: "text", languages: ["de", "en"] }]);
  await assert.rejects(createChromeAi({ api: builtIn({ availability: "unavailable" }).api }), failsWith("model_failed", { details: { reason: "unavailable" } }));
});

test("the download is shown, the window is read, and the session that told it is let go", async () => {
  const { api, sessions } = builtIn({ availability: "downloadable" });
  const shares = [];
  const model = await createChromeAi({ api, onDownload: (share) => shares.push(share) });
  assert.deepEqual(shares, [0, 0.5, 1]);
  assert.equal(model.contextWindow, 6_000);
  assert.ok(sessions[0].isDestroyed);
  assert.equal((await createChromeAi(builtIn({ window: { inputQuota: 9_216 } }))).contextWindow, 9_216);
  await assert.rejects(createChromeAi(builtIn({ fail: { create: named("NotAllowedError") } })), failsWith("model_failed", { retryable: false, message: /clicks/ }));
  await assert.rejects(createChromeAi({ ...builtIn(), signal: AbortSignal.abort() }), failsWith("aborted"));
});

test("as a language model: a session of its own for each call, held to the schema, on the device", async () => {
  const { api, sessions } = builtIn();
  const { languageModel } = await createChromeAi({ api });
  assert.deepEqual([languageModel.remote, languageModel.contextWindow], [false, 6_000]);
  const request = generateRequest();
  assert.equal(await languageModel.generate(request), '{"facts":[]}');
  const [, session] = sessions;
  assert.deepEqual(session.options.initialPrompts, [{ role: "system", content: "Find facts." }]);
  assert.equal(session.prompts[0].input, WORDS);
  assert.equal(session.prompts[0].settings.responseConstraint, request.schema);
  assert.ok(session.isDestroyed);
  const quota = await createChromeAi(builtIn({ fail: { prompt: named("QuotaExceededError") } }));
  await assert.rejects(quota.languageModel.generate(request), failsWith("model_failed", { retryable: false, message: /does not fit/ }));
  const broken = await createChromeAi(builtIn({ fail: { prompt: named("UnknownError") } }));
  await assert.rejects(broken.languageModel.generate(request), failsWith("model_failed", { retryable: true }));
  await assert.rejects(languageModel.generate(generateRequest({ signal: AbortSignal.abort() })), failsWith("aborted"));
});

test("one session while contexts grow, a new one after a compaction, an overflow or a failure", async () => {
  const { api, sessions } = builtIn();
  const chat = (await createChromeAi({ api })).chat();
  const user = (content) => ({ role: "user", content });
  const assistant = (content) => ({ role: "assistant", content });
  const first = chat.send(context([user("found: 1\n\none?")]));
  assert.deepEqual(await piecesOf(first), ["answer ", "1"]);
  // Later the question stands without what was found for it.
  const history = [user("one?"), assistant("answer 1")];
  await chat.send(context([...history, user("two?")])).finished;
  assert.equal(sessions.length, 2);
  assert.deepEqual(sessions[1].prompts.map(({ input }) => input), ["found: 1\n\none?", "two?"]);
  history.push(user("two?"), assistant("answer 2"));
  await chat.send(context([...history, user("three?")], "Be terse. Summary.")).finished;
  assert.equal(sessions.length, 3);
  assert.ok(sessions[1].isDestroyed);
  assert.deepEqual(sessions[2].options.initialPrompts, [{ role: "system", content: "Be terse. Summary." }, ...history]);
  history.push(user("three?"), assistant("answer 1"));
  sessions[2].dispatchEvent(new Event("contextoverflow"));
  await chat.send(context([...history, user("four?")], "Be terse. Summary.")).finished;
  assert.equal(sessions.length, 4);
  const controller = new AbortController();
  history.push(user("four?"), assistant("answer 1"));
  const stopped = chat.send(context([...history, user("five?")], "Be terse. Summary."), { signal: controller.signal });
  await assert.rejects(async () => {
    for await (const piece of stopped) if (piece === "answer ") controller.abort();
  }, failsWith("aborted"));
  assert.ok(sessions[3].isDestroyed, "nobody knows what it has read");
  await chat.send(context([...history, user("five?")], "Be terse. Summary.")).finished;
  assert.equal(sessions.length, 5);
});

test("a session that is full where the context is not is begun anew; a context that does not fit is told", async () => {
  const { api, sessions } = builtIn();
  const chat = (await createChromeAi({ api })).chat();
  await chat.send(context([{ role: "user", content: "one?" }])).finished;
  sessions[1].isFull = true;
  const history = [{ role: "user", content: "one?" }, { role: "assistant", content: "answer 1" }];
  assert.deepEqual(await piecesOf(chat.send(context([...history, { role: "user", content: "two?" }]))), ["answer ", "1"]);
  assert.equal(sessions.length, 3);
  assert.deepEqual([sessions[1].isDestroyed, sessions[2].isDestroyed], [true, false]);
  const small = (await createChromeAi(builtIn({ fail: { stream: named("QuotaExceededError") } }))).chat();
  await assert.rejects(small.send(context([{ role: "user", content: WORDS }])).finished, failsWith("model_failed", { retryable: false, message: /does not fit/ }));
});

test("an abort is told, what is no question is refused, and the session closes", async () => {
  const { api, sessions } = builtIn();
  const chat = (await createChromeAi({ api })).chat();
  const controller = new AbortController();
  const answer = chat.send(context([{ role: "user", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] }]), { signal: controller.signal });
  await new Promise((resolve) => setTimeout(resolve, 1));
  controller.abort();
  await assert.rejects(answer.finished, failsWith("aborted"));
  assert.ok(sessions.every(({ isDestroyed }) => isDestroyed));
  assert.equal(sessions[1].prompts[0].input, "a\nb");
  await assert.rejects(chat.send(context([{ role: "assistant", content: "x" }])).finished, failsWith("invalid_argument"));
  await assert.rejects(chat.send(context([{ role: "tool", content: "x" }])).finished, failsWith("invalid_argument"));
  await chat.send(context([{ role: "user", content: "again" }])).finished;
  chat.close();
  assert.ok(sessions.at(-1).isDestroyed);
});

test("a memory whose model is in the browser, from append to answer", async () => {
  const { api, sessions } = builtIn();
  const model = await createChromeAi({ api });
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", languageModel: model.languageModel });
  const { id } = await memory.conversations.create();
  const chat = model.chat();
  for (const text of ["The port is 8471.", "Which port?"]) {
    await memory.append(id, { role: "user", content: text });
    const built = await memory.buildContext({ conversationId: id, window: model.contextWindow, profile: "prompt-api", destination: "local" });
    await memory.append(id, (await chat.send(built).finished).message);
  }
  const chats = sessions.filter(({ prompts }) => prompts.some(({ settings }) => settings === undefined));
  assert.equal(chats.length, 1, "one session for the whole chat");
  await memory.close();
});
