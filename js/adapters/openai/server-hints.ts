/** Servers of the OpenAI protocol, and what to look at where one cannot be reached: a browser does not tell a page why. */

/** OpenAI's own address. */
export const OPENAI = "https://api.openai.com/v1";

/** Local servers by their default port, and how each lets a page in. */
const LOCAL_SERVERS: Readonly<Record<string, string>> = {
  11434: "Is Ollama running (ollama serve), and may this page use it? Set OLLAMA_ORIGINS to the page's origin and start it again.",
  1234: "Is LM Studio's server running, and is CORS enabled in its settings (lms server start --cors)?",
  8080: "Is llama-server running, and does its --cors-origins, where it is set, name this page's origin?",
  8000: "Is vLLM running, and does its --allowed-origins, where it is set, name this page's origin?",
};
const OTHER = "Is the server running, is the address right, and does it allow this page's origin (CORS)?";
const MIXED = "A page from https cannot reach an http address of the network: use https, or localhost.";

/** A sentence or two. */
export function unreachableServer(url: URL): string {
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname) || url.hostname.endsWith(".localhost");
  if (isLocal) return LOCAL_SERVERS[url.port] ?? OTHER;
  return url.protocol === "http:" && globalThis.location?.protocol === "https:" ? MIXED : OTHER;
}
