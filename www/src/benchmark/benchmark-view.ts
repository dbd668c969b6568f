/** The benchmark's page: start, progress, stop, a table that fills, and the whole of it as text. */

import { button, element, fill } from "../element.ts";
import { formatNumber, tellError } from "../wording.ts";
import { benchmarkRows, benchmarkText, type BenchmarkResult } from "./benchmark-report.ts";
import { runBenchmark } from "./benchmark-run.ts";

const SIZES = [1_000, 3_000, 10_000];

/** Fills a place with the benchmark. It runs when it is asked to. */
export function mountBenchmark(root: HTMLElement): void {
  new BenchmarkView(root);
}

class BenchmarkView {
  readonly #size = element("select", { id: "benchmark-size" }, ...SIZES.map((size) => element("option", { value: size }, `${formatNumber(size)} messages`)));
  readonly #run = button("Run", () => void this.#start(), { class: "primary", id: "benchmark-run" });
  readonly #stop = button("Stop", () => this.#running?.abort(), { id: "benchmark-stop", hidden: true });
  readonly #copy = button("Copy as text", () => this.#copyText(), { id: "benchmark-copy", hidden: true });
  readonly #bar = element("progress", { class: "race-progress", "aria-label": "Benchmark", value: 0, hidden: true });
  readonly #words = element("p", { class: "fine", role: "status", id: "benchmark-words" });
  readonly #rows = element("dl", { class: "benchmark-rows", id: "benchmark-rows" });
  #running: AbortController | null = null;
  #result: Partial<BenchmarkResult> = {};

  constructor(root: HTMLElement) {
    root.append(
      element("h2", {}, "How fast is it here?"),
      element("p", { class: "race-intro" },
        "This browser, this machine. A conversation is made up, stored, searched and erased again, in a database of its own; your chats are not touched. The engine runs in a worker, so the page stays alive."),
      element("div", { class: "actions benchmark-actions" }, element("label", {}, element("span", { class: "visually-hidden" }, "Size"), this.#size), this.#run, this.#stop, this.#copy),
      this.#bar, this.#words, this.#rows,
    );
  }

  async #start(): Promise<void> {
    if (this.#running) return;
    const running = (this.#running = new AbortController());
    this.#result = {};
    this.#show();
    fill(this.#rows);
    try {
      await runBenchmark(Number(this.#size.value), ({ result, share, words }) => {
        this.#result = result;
        this.#bar.value = share;
        this.#words.textContent = running.signal.aborted ? "Stopping" : words;
        this.#showRows();
      }, running.signal);
    } catch (error) {
      this.#words.textContent = running.signal.aborted ? "Stopped. The benchmark's database was erased." : tellError(error).words;
    } finally {
      this.#running = null;
      this.#show();
    }
  }

  #show(): void {
    const isRunning = this.#running !== null;
    this.#run.disabled = this.#size.disabled = isRunning;
    this.#stop.hidden = this.#bar.hidden = !isRunning;
    this.#copy.hidden = isRunning || benchmarkRows(this.#result).length === 0;
  }

  #showRows(): void {
    fill(this.#rows, ...benchmarkRows(this.#result).map(({ id, label, value, how }) =>
      element("div", { class: "benchmark-row", "data-row": id },
        element("dt", {}, label),
        element("dd", {}, element("b", {}, value), element("span", { class: "fine" }, how)))));
  }

  #copyText(): void {
    navigator.clipboard.writeText(benchmarkText(this.#result)).then(
      () => (this.#words.textContent = "Copied"),
      () => (this.#words.textContent = "This browser does not let the page copy."),
    );
  }
}
