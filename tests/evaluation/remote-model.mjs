// A real model behind an OpenAI-compatible address, where one is named. Nothing else of the evaluation uses the network.

/**
 * @param {{ url: string, name: string, key?: string, contextWindow: number }} options `url` is the base, e.g. of a local
 * server: `http://127.0.0.1:8080/v1`. `key` is sent as a bearer token.
 */
export function remoteModel({ url, name, key, contextWindow }) {
  const address = `${url.replace(/\/$/, "")}/chat/completions`;
  const headers = { "content-type": "application/json", ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
  const generate = async ({ system, messages, schema, maxTokens, signal }) => {
    const format = schema === undefined ? {} : { response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } } };
    const body = { model: name, messages: [{ role: "system", content: system }, ...messages], max_tokens: maxTokens, temperature: 0, ...format };
    const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal });
    if (!response.ok) throw new Error(`The model answered with status ${response.status}.`);
    const { choices } = await response.json();
    return choices?.[0]?.message?.content ?? "";
  };
  return { contextWindow, generate, proposals: [] };
}
