// A real model behind an OpenAI-compatible address, where one is named. Nothing else of the evaluation uses the network.

/** How often a request is tried, and the longest wait that a server may ask for. */
const TRIES = 6;
const LONGEST_WAIT_MS = 60_000;
const FIRST_WAIT_MS = 500;

/** What a server answers where it cannot be asked in this form, or with this key: trying again is of no use. */
const isFinal = (status) => status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);

const sleep = (ms, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
});

/** The wait that `Retry-After` asks for (seconds, or a date), else twice that of the try before. */
function waitOf(header, attempt) {
  const seconds = Number(header ?? "x");
  const told = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header ?? "") - Date.now();
  return Math.min(LONGEST_WAIT_MS, Number.isFinite(told) ? Math.max(0, told) : FIRST_WAIT_MS * 2 ** attempt);
}

/** The answer's text. One that was cut off or refused is told as such: the engine keeps nothing of it. */
function textOf({ choices }) {
  const choice = choices?.[0];
  if (choice === undefined) throw new Error("The model's answer has no choices.");
  if (choice.finish_reason === "length") throw new Error("The model's answer was cut off; raise --model-window, or take a model that answers shorter.");
  const { content, refusal } = choice.message ?? {};
  if (typeof refusal === "string" && refusal !== "") throw new Error("The model refused to answer.");
  return Array.isArray(content) ? content.map(({ text }) => text ?? "").join("") : (content ?? "");
}

/** How an answer's form is asked for: by a schema, as any JSON, or by the prompt alone; the first that the server takes. */
const FORMATS = [
  (schema) => ({ response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } } }),
  () => ({ response_format: { type: "json_object" } }),
  () => ({}),
];

/**
 * @param {{ url: string, name: string, key?: string, contextWindow: number }} options `url` is the base, e.g. of a local
 * server: `http://127.0.0.1:8080/v1`. `key` is sent as a bearer token and stands in no error. Answers with status 429 and
 * 5xx, and connections that fail, are tried again, as late as `Retry-After` says. `trouble` counts what went wrong by status.
 */
export function remoteModel({ url, name, key, contextWindow }) {
  const address = `${url.replace(/\/$/, "")}/chat/completions`;
  const headers = { "content-type": "application/json", ...(key === undefined || key === "" ? {} : { authorization: `Bearer ${key}` }) };
  const trouble = {};
  let format = 0;

  const send = async (body, signal) => {
    for (let attempt = 0; ; attempt += 1) {
      let response;
      try {
        response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal });
        if (response.ok) return textOf(await response.json());
      } catch (error) {
        if (signal?.aborted || attempt + 1 >= TRIES || response?.ok) throw error;
      }
      const status = response?.status ?? "no answer";
      trouble[status] = (trouble[status] ?? 0) + 1;
      await response?.body?.cancel();
      if (isFinal(status) || attempt + 1 >= TRIES) throw Object.assign(new Error(`The model's server answered with status ${status}.`), { status });
      await sleep(waitOf(response?.headers.get("retry-after"), attempt), signal);
    }
  };

  const generate = async ({ system, messages, schema, maxTokens, signal }) => {
    const body = { model: name, messages: [{ role: "system", content: system }, ...messages], max_tokens: maxTokens, temperature: 0 };
    if (schema === undefined) return send(body, signal);
    for (;;) {
      try {
        return await send({ ...body, ...FORMATS[format](schema) }, signal);
      } catch (error) {
        if (![400, 422].includes(error.status) || format + 1 >= FORMATS.length) throw error;
        format += 1;
      }
    }
  };
  return { contextWindow, generate, proposals: [], trouble };
}
