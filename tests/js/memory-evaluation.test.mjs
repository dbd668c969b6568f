// The labelled conversations of tests/evaluation on the built package, with the scripted models and without vectors. The
// floors are what was measured, less a little: what falls below them is a loss that somebody has to explain. The whole
// evaluation is `npm run eval:memory`.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { before, describe, test } from "node:test";
import { evaluate } from "../evaluation/evaluation.mjs";
import { labelledUsers, tells } from "../evaluation/labelled-set.mjs";
import { KINDS } from "../evaluation/probes.mjs";
import { remoteModel } from "../evaluation/remote-model.mjs";
import { figures } from "../evaluation/retrieval.mjs";
import { scriptedModel } from "../evaluation/scripted-model.mjs";
import { tables } from "../evaluation/tables.mjs";

describe("the labelled set", () => {
  test("names only facts, messages and kinds that are there, and every fact is recognised by its own words and no trap's", () => {
    for (const user of labelledUsers()) {
      assert.ok(user.facts.size > 5 && user.traps.length > 5, user.id);
      for (const label of [...user.facts.values(), ...user.traps]) assert.ok(tells(label.fact, label), label.fact);
      for (const fact of user.facts.values()) assert.ok(user.traps.every((trap) => !tells(fact.fact, trap)), fact.id);
      for (const { fact, message, kind } of user.probes) {
        assert.ok(fact === undefined || user.facts.has(fact), `${user.id}: ${fact}`);
        assert.ok(message === undefined || user.places.has(message), `${user.id}: ${message}`);
        assert.ok(KINDS.includes(kind), `${user.id}: ${kind}`);
        assert.ok(kind === "abstention" || fact !== undefined || message !== undefined, `${user.id}: a probe about nothing`);
      }
    }
  });
});

describe("what a model proposes, and what becomes of it", () => {
  let report;
  before(async () => {
    report = await evaluate({});
  });
  const run = (name) => report.runs[`engine, words, ${name} model`];
  const atLeast = (share, floor, what) => assert.ok(share >= floor, `${what}: ${share.toFixed(3)}, at least ${floor}`);
  const kinds = ({ probes }, ...names) => probes.filter(({ kind }) => names.includes(kind));
  const held = (probes) => probes.filter(({ holds }) => holds).length / probes.filter(({ holds }) => holds !== undefined).length;

  test("of what a careful model proposes nearly all that is true is remembered, with the message that said it", () => {
    const { extraction: e } = run("careful");
    atLeast(e.knownFound / e.wanted, 0.93, "recall of what is remembered");
    atLeast(e.usedFound / e.wanted, 0.85, "recall of what is used");
    atLeast(e.usedRight / e.used, 0.9, "precision of what is used");
    assert.equal(e.quoteRight, e.knownRight);
    assert.equal(e.categoryRight, e.knownRight);
    assert.equal(e.twice, 0);
  });

  test("of what a careless model takes for facts little is used", () => {
    const { extraction: e } = run("careless");
    atLeast(e.usedRight / e.used, 0.87, "precision of what is used");
    const known = e.traps.filter(({ kind, known: isKnown }) => ["sensitive", "tool"].includes(kind) && isKnown);
    assert.deepEqual(known, []);
    const used = (...names) => e.traps.filter(({ kind, used: isUsed }) => names.includes(kind) && isUsed).length;
    assert.equal(used("sensitive", "tool", "quoted", "secret", "joked", "transient", "hypothetical", "third_person"), 0);
  });

  test("weeks later, in a new conversation, what is needed is there", () => {
    for (const [name, floor] of [["careful", 0.98], ["careless", 0.95], ["no", 0.73]]) {
      atLeast(held(run(name).probes), floor, `${name} model`);
    }
    const without = report.runs["engine, words, no model"];
    for (const name of ["no memory", "sliding window, 20 messages"]) {
      assert.ok(held(report.baselines[name].probes) < held(without.probes), name);
    }
    atLeast(held(kinds(without, "exact")), 1, "exact things, without any model");
  });

  test("what was updated, forgotten or erased, or is over, is not told as remembered", () => {
    const { probes, extraction } = run("careful");
    assert.deepEqual(extraction.stale.filter(({ how }) => how === "expiring"), []);
    assert.equal(kinds({ probes }, "expired").filter(({ staleFact }) => staleFact).length, 0);
    assert.equal(kinds({ probes }, "forgotten", "erased").filter(({ staleFact }) => staleFact).length, 0);
    assert.ok(kinds({ probes }, "erased").every(({ staleText }) => !staleText));
    assert.ok(kinds({ probes }, "update").filter(({ staleFact }) => staleFact).length <= 1);
  });

  test("memory costs a fraction of the full context, and a question about nothing brings little", () => {
    const tokens = (probes) => probes.reduce((sum, probe) => sum + probe.tokens, 0);
    const full = report.baselines["full context"].probes;
    assert.ok(tokens(report.runs["engine, words, no model"].probes) < 0.35 * tokens(full));
    assert.ok(kinds(run("careful"), "abstention").filter(({ injected }) => injected).length <= 2);
    for (const purpose of ["extract", "judge"]) assert.ok(run("careful").usage[purpose].calls > 0, purpose);
  });

  test("messages are found among those of all", () => {
    const { exact, update, fact } = report.retrieval.messages.words.ranks;
    const at = (ranks, place) => figures(ranks).recall[place];
    atLeast(at(exact, 2), 0.98, "exact things, recall@5");
    atLeast(at(update, 3), 0.6, "new values, recall@10");
    atLeast(at(fact, 3), 0.6, "told facts, recall@10");
    assert.equal(report.retrieval.facts.words.outdated, 0);
    atLeast(figures(Object.values(report.retrieval.facts.words.ranks).flat()).recall[3], 0.42, "facts, recall@10");
    assert.deepEqual(report.retrieval.decay.filter(({ searched, injected }) => !searched || !injected), []);
  });

  test("the tables show every run", () => {
    const markdown = tables(report);
    for (const name of [...Object.keys(report.runs), ...Object.keys(report.baselines)]) assert.ok(markdown.includes(name), name);
  });
});

/** Words of the instructions by which a server, which is not told the purpose, knows it. */
const ASKED_BY = { extract: "You find facts", judge: "consistent", audit: "look" };

/** A server as OpenAI's: `answer(number, body)` gives `{ status, headers, body }` for a request, or nothing for a right answer. */
async function fakeServer(user, answer = () => undefined) {
  const scripted = scriptedModel(user, "careful");
  const requests = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text);
    requests.push({ url: request.url, authorization: request.headers.authorization, body });
    const wrong = answer(requests.length, body);
    if (wrong !== undefined) {
      response.writeHead(wrong.status, wrong.headers);
      return void response.end(wrong.body);
    }
    const [{ content: system }, ...messages] = body.messages;
    const purpose = Object.keys(ASKED_BY).find((each) => system.includes(ASKED_BY[each]));
    const content = scripted.generate({ purpose, system, messages, schema: body.response_format?.json_schema?.schema });
    response.end(JSON.stringify({ choices: [{ finish_reason: "stop", message: { role: "assistant", content } }] }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { requests, url: `http://127.0.0.1:${server.address().port}/v1/`, close: () => server.close() };
}

const asked = (model) => model.generate({ system: "You find facts", messages: [{ role: "user", content: "hello" }], schema: { type: "object" }, maxTokens: 50 });

describe("a real model", () => {
  const [user] = labelledUsers(["mara"]);

  test("is asked in OpenAI's form, with its key and the schema, and measured in the same way", async () => {
    const { requests, url, close } = await fakeServer(user);
    const model = remoteModel({ url, name: "tiny", key: "k-1", contextWindow: 8_000 });
    const { runs, trouble } = await evaluate({ users: ["mara"], remote: { name: "tiny", model } });
    close();
    const { extraction, usage, errors } = runs["engine, words, tiny model"];
    assert.equal(extraction.proposed, 0, "what a real model proposed is not known");
    assert.ok(extraction.knownFound >= 9, String(extraction.knownFound));
    assert.equal(requests.length, Object.values(usage).reduce((sum, { calls }) => sum + calls, 0));
    for (const request of requests) {
      assert.deepEqual([request.url, request.authorization, request.body.model, request.body.temperature], ["/v1/chat/completions", "Bearer k-1", "tiny", 0]);
      assert.ok(request.body.max_tokens > 0 && request.body.messages[0].role === "system");
    }
    assert.deepEqual([trouble, errors], [{}, {}]);
  });

  test("that is busy, limits its rate, breaks off or knows no schemas is asked again, and the figures are the same", async () => {
    const inTurn = [
      { status: 429, headers: { "retry-after": "0" } },
      { status: 503, headers: { "retry-after": "Thu, 01 Jan 2015 00:00:00 GMT" } },
      undefined,
      { status: 200, body: JSON.stringify({ choices: [{ finish_reason: "length", message: { content: '{"facts": [' } }] }) },
      { status: 200, body: "<html>" },
      { status: 200, body: JSON.stringify({ choices: [] }) },
      { status: 200, body: JSON.stringify({ choices: [{ message: { refusal: "I cannot help with that." } }] }) },
    ];
    const server = await fakeServer(user, (number, body) => (body.response_format?.type === "json_schema" ? { status: 400, body: "json_schema is not supported" } : inTurn[number - 1]));
    const model = remoteModel({ url: server.url, name: "tiny", contextWindow: 8_000 });
    const { runs, trouble } = await evaluate({ users: ["mara"], remote: { name: "tiny", model } });
    server.close();
    const { extraction, errors } = runs["engine, words, tiny model"];
    assert.ok(extraction.knownFound >= 9, String(extraction.knownFound));
    assert.deepEqual([trouble["400"], trouble["503"]], [1, 1]);
    assert.ok(errors.model_output_invalid === undefined && Object.keys(errors).length === 1, JSON.stringify(errors));
    const { authorization, body } = server.requests.at(-1);
    assert.deepEqual([authorization, body.response_format], [undefined, { type: "json_object" }]);
  });

  test("that refuses the key, or every form, is told with the status and without the key", async () => {
    for (const [status, count] of [[401, 1], [400, 3], [429, 6]]) {
      const server = await fakeServer(user, () => ({ status, headers: { "retry-after": "0" }, body: "no k-secret" }));
      const model = remoteModel({ url: server.url, name: "tiny", key: "k-secret", contextWindow: 8_000 });
      await assert.rejects(asked(model), (error) => error.status === status && !error.message.includes("k-secret"));
      assert.equal(server.requests.length, count);
      server.close();
    }
  });

  test("that does not answer is left when the engine gives up", async () => {
    const server = await fakeServer(user, () => ({ status: 429, headers: { "retry-after": "3600" } }));
    const model = remoteModel({ url: server.url, name: "tiny", contextWindow: 8_000 });
    const controller = new AbortController();
    const answer = model.generate({ system: "", messages: [], maxTokens: 1, signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 50);
    await assert.rejects(answer, /enough/);
    server.close();
  });
});
