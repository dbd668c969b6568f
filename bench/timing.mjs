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

/**
 * Asks all questions, `repeats` times over, and keeps the shortest time of each: what else the machine does in between is
 * left out, the differences between questions are not.
 *
 * @returns {Promise<{ times: ReturnType<typeof summary>, answers: unknown[] }>}
 */
export async function askAll(questions, repeats, ask) {
  const best = questions.map(() => Infinity);
  const answers = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    if (repeat > 0 && summary(best).p50 > LONG_MS) break;
    for (const [place, question] of questions.entries()) {
      const [ms, answer] = await timed(() => ask(question));
      best[place] = Math.min(best[place], ms);
      answers[place] = answer;
    }
  }
  return { times: summary(best), answers };
}
