// How the benchmark takes time. The pages are cross-origin isolated, so the clock has steps of 5 microseconds.

/** Milliseconds of a call, whose answer may be a promise. */
export async function timed(call) {
  const begin = performance.now();
  const answer = call();
  // A promise that is not there must not cost a turn of the event loop.
  if (answer instanceof Promise) {
    const value = await answer;
    return [performance.now() - begin, value];
  }
  return [performance.now() - begin, answer];
}

/** Median, 95th percentile and mean. */
export function summary(times) {
  const sorted = Float64Array.from(times).sort();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { runs: sorted.length, p50: at(0.5), p95: at(0.95), mean: sorted.reduce((sum, time) => sum + time, 0) / sorted.length };
}

/** Questions that take so long in the median are asked once: what else the machine does matters little to them. */
const LONG_MS = 20;

/** One list of questions takes no longer than this, if at least so many of it were asked. */
const BUDGET_MS = 60_000;
const LEAST_ASKED = 20;

/**
 * Asks all questions, `repeats` times over, and keeps the shortest time of each: what else the machine does in between is
 * left out, the differences between questions are not. Where they take too long, only the first of them are asked.
 *
 * @returns {Promise<{ times: ReturnType<typeof summary>, answers: unknown[] }>} As many answers as questions were asked.
 */
export async function askAll(questions, repeats, ask) {
  const best = [];
  const answers = [];
  const end = performance.now() + BUDGET_MS;
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    if (repeat > 0 && (answers.length < questions.length || summary(best).p50 > LONG_MS)) break;
    for (const [place, question] of questions.entries()) {
      if (place >= LEAST_ASKED && performance.now() > end) break;
      const [ms, answer] = await timed(() => ask(question));
      best[place] = Math.min(best[place] ?? Infinity, ms);
      answers[place] = answer;
    }
  }
  return { times: summary(best), answers };
}
