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

/** A question that took so long is not asked again: what else the machine does in between matters little to it. */
const LONG_MS = 20;

/**
 * Asks every question `repeats` times and keeps the shortest time of each: what else the machine does in between is left
 * out, the differences between questions are not.
 *
 * @returns {Promise<{ times: ReturnType<typeof summary>, answers: unknown[] }>}
 */
export async function askAll(questions, repeats, ask) {
  const times = [];
  const answers = [];
  for (const question of questions) {
    let best = Infinity;
    let found;
    for (let repeat = 0; repeat < repeats && (repeat === 0 || best < LONG_MS); repeat += 1) {
      const [ms, answer] = await timed(() => ask(question));
      best = Math.min(best, ms);
      found = answer;
    }
    times.push(best);
    answers.push(found);
  }
  return { times: summary(times), answers };
}
