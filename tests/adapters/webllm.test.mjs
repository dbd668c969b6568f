// Models of WebLLM, with an engine that answers from a script.
import assert from "node:assert/strict";
import { test } from "node:test";
import { webLlmChat, webLlmLanguageModel } from "throughline/webllm";
import { WORDS, context, failsWith, generateRequest, piecesOf } from "./checks.mjs";
import { completion } from "./provider-server.mjs";

const question = context([{ role: "user", content: WORDS }]);
const tick = () => new Promise((resolve) => setTimeout(resolve, 2));

/** An engine that does one thing at a time, as WebLLM's does, and can be interrupted. */
function engineOf(...answers) {
  const state = { requests: [], interrupts: 0, running: 0, most: 0 };
  let interrupted = false;
  const create = async (request) => {
    const answer = answers[Math.min(state.requests.length, answers.length - 1)];
    state.requests.push(request);
    if (answer instanceof Error) throw answer;
    interrupted = false;
    return (async function* () {
      state.most = Math.max(state.most, (state.running += 1));
      for (const chunk of completion(answer).slice(0, -1)) {
        await tick();
        if (interrupted) break;
        yield chunk;
      }
      state.running -= 1;
    })();
  };
  return { state, engine: { chat: { completions: { create } }, interruptGenerate: () => { state.interrupts += 1; interrupted = true; } } };
}

test("a context is sent with its system text first, and the answer arrives in pieces", async () => {
  const { engine, state } = engineOf(["Two ", "eggs"]);
  const answer = webLlmChat({ engine, body: { temperature: 0 } }).send(question, { maxTokens: 9 });
  assert.deepEqual(await piecesOf(answer), ["Two ", "eggs"]);
  const { message, usage } = await answer.finished;
  assert.deepEqual(message, { role: "assistant", content: "Two eggs" });
  assert.equal(usage.provider, "webllm");
  assert.deepEqual(state.requests[0], { messages: [{ role: "system", content: "Be terse." }, ...question.messages], max_tokens: 9, stream: true, stream_options: { include_usage: true }, temperature: 0 });
});

test("as a language model it stays on the device and is held to the schema", async () => {
  const { engine, state } = engineOf(['{"facts":[]}']);
  const model = webLlmLanguageModel({ engine, contextWindow: 4_096 });
  assert.deepEqual([model.remote, model.contextWindow], [false, 4_096]);
  const request = generateRequest();
  assert.equal(await model.generate(request), '{"facts":[]}');
  assert.deepEqual(state.requests[0].response_format, { type: "json_object", schema: JSON.stringify(request.schema) });
});

test("calls of one engine wait for each other; an abort stops only the call that it is for", async () => {
  const { engine, state } = engineOf(["a", "b", "c", "d"]);
  const chat = webLlmChat({ engine });
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const answers = [first, second, third].map(({ signal }) => chat.send(question, { signal }).finished);
  const results = Promise.allSettled(answers);
  await tick();
  second.abort();
  await assert.rejects(answers[1], failsWith("aborted"));
  assert.equal(state.interrupts, 0, "the one that runs is left alone");
  await tick();
  first.abort();
  const [one, , three] = await results;
  assert.equal(one.reason.code, "aborted");
  assert.equal(three.value.text, "abcd");
  assert.equal(state.interrupts, 1);
  assert.equal(state.most, 1);
  assert.equal(state.requests.length, 2, "what was aborted while waiting never began");
});

test("what does not fit, and what fails, is told without the prompt", async () => {
  const tooLong = Object.assign(new Error(`too long: ${WORDS}`), { name: "ContextWindowSizeExceededError" });
  const { engine } = engineOf(tooLong, Object.assign(new Error(WORDS), { name: "DeviceLostError" }), ["fine"]);
  const chat = webLlmChat({ engine });
  await assert.rejects(chat.send(question).finished, failsWith("model_failed", { retryable: false, message: /smaller window/ }));
  await assert.rejects(chat.send(question).finished, failsWith("model_failed", { retryable: true, details: { reason: "DeviceLostError" } }));
  assert.equal((await chat.send(question).finished).text, "fine");
});
