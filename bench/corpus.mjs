// The benchmark's messages and questions: made up from a seed, the same on every machine and for every engine.
//
// Prose of made-up words: stems of syllables with Zipf frequencies and English endings between real function words, in
// conversations that each have their topics. Into some messages one thing is planted that occurs nowhere else. Questions
// are of two kinds: words that somebody remembers of one message (some left out, some in another form, filler around
// them), and the planted things.

import { PLANTED, plantedThing } from "./planted.mjs";
import { Random } from "./random.mjs";

/** Messages of one conversation. */
export const CONVERSATION_MESSAGES = 500;
/** Words that a message must have to be asked for. */
const ASKED_CONTENT = 4;
const STEMS = 14_000;
const TOPICS = 300;
const TOPIC_STEMS = 80;
const FUNCTION_WORDS = (
  "the of and to a in that it is was for on you he be with as by at have are this not but had his they from she which or we an there her were " +
  "one do been all their has would will what if can when so no said who more about up them some could him into its then two out time like only " +
  "my did other me your over just these new also people any than first now very where after most should because each before must through back " +
  "how even well such here between both against under might still never"
).split(" ");
const ENDINGS = ["", "", "", "", "s", "s", "ed", "ing", "er", "ly"];
const OPENERS = ["what did we say about", "where was the", "do you remember the", "which one was about", "when did I mention", "the message with", "tell me again about", "what was that", ""];

/**
 * @param {{ size: number, seed?: number, questions?: number, perClass?: number, texts?: string[] }} options `texts`: real
 * messages to take instead of made-up ones; things are planted in them all the same.
 * @returns {{ texts: string[], asked: { query: string, target: number }[], exact: { kind: string, query: string, target: number }[] }}
 */
export function makeCorpus({ size, seed = 4, questions = 400, perClass = 25, texts: given }) {
  const random = new Random(seed);
  const words = new Words(random);
  const asksAbout = chosen(random, size, questions);
  const holds = chosen(random, size, perClass * PLANTED.length, asksAbout);
  const texts = [];
  const asked = [];
  const exact = [];
  const used = new Set();
  let topics = [];
  let owed = 0;
  const kindOf = new Map([...holds].map((message, place) => [message, PLANTED[place % PLANTED.length]]));
  for (let message = 0; message < size; message += 1) {
    if (message % CONVERSATION_MESSAGES === 0) topics = Array.from({ length: 3 }, () => random.below(TOPICS));
    const tokens = given === undefined ? words.message(topics) : readTokens(given[message % given.length]);
    if (asksAbout.has(message)) owed += 1;
    // Of a message that says next to nothing nobody remembers words: the next one that says something is asked for.
    const content = contentOf(tokens);
    if (owed > 0 && content.length >= ASKED_CONTENT && !holds.has(message)) {
      asked.push({ query: question(random, words, content), target: message });
      owed -= 1;
    }
    let text = given === undefined ? sentences(random, tokens) : given[message % given.length];
    const kind = kindOf.get(message);
    if (kind !== undefined) {
      const thing = plantedThing(kind, random, words, used);
      const at = text.lastIndexOf(" ", random.below(text.length));
      text = at < 0 ? `${thing.text} ${text}` : `${text.slice(0, at)} ${thing.text}${text.slice(at)}`;
      exact.push({ kind, query: thing.query, target: message });
    }
    texts.push(text);
  }
  return { texts, asked, exact };
}

/** So many different numbers below `size`, none of `taken`, in random order. */
function chosen(random, size, count, taken = new Set()) {
  const found = new Set();
  while (found.size < Math.min(count, Math.floor(size / 4))) {
    const message = random.below(size);
    if (!taken.has(message)) found.add(message);
  }
  return found;
}

/** The different words of a message that are not function words. */
function contentOf(tokens) {
  return [...new Map(tokens.filter((token) => token.stem !== undefined).map((token) => [token.stem, token])).values()];
}

/** What somebody would type who remembers a message: 3 to 12 words. */
function question(random, words, content) {
  const wanted = Math.min(content.length, 3 + random.below(5));
  const kept = random.shuffled(content).slice(0, wanted).map((token) => (random.next() < 0.25 ? token.stem + random.of(ENDINGS) : token.form));
  // Now and then a word that was not in it.
  if (random.next() < 0.2) kept[random.below(kept.length)] = words.content([random.below(TOPICS)]).form;
  const opener = random.of(OPENERS).split(" ").filter((word) => word !== "");
  const between = kept.flatMap((word) => (random.next() < 0.25 ? [random.of(FUNCTION_WORDS), word] : [word]));
  return [...opener.slice(0, Math.max(0, 12 - between.length)), ...between].slice(0, 12).join(" ");
}

/** Tokens as text: capitals, commas, full stops. */
function sentences(random, tokens) {
  let text = "";
  let isStart = true;
  for (const [place, { form }] of tokens.entries()) {
    const isEnd = place === tokens.length - 1 || random.next() < 0.07;
    const mark = isEnd ? random.of([".", ".", ".", "?", "!"]) : random.next() < 0.06 ? "," : "";
    text += `${place === 0 ? "" : " "}${isStart ? form[0].toUpperCase() + form.slice(1) : form}${mark}`;
    isStart = isEnd;
  }
  return text;
}

function readTokens(text) {
  return text.split(/\s+/u).filter((form) => form !== "").map((form) => {
    const word = form.replace(/[^\p{L}]+$/u, "").toLowerCase();
    return { form, stem: word.length > 4 && /^\p{L}+$/u.test(word) ? word : undefined };
  });
}

/** The language. */
class Words {
  #random;
  #stems;
  #frequencies;
  #topics;

  constructor(random) {
    this.#random = random;
    const stems = new Set();
    while (stems.size < STEMS) stems.add(this.#syllables(1 + random.below(3)) + random.of(["t", "n", "r", "l", "d", "k", "m", "p"]));
    // Frequent words are short, by and large.
    const byLength = [...stems].filter((stem) => !FUNCTION_WORDS.includes(stem)).map((stem) => [stem.length + 4 * random.next(), stem]);
    this.#stems = byLength.sort(([one], [other]) => one - other).map(([, stem]) => stem);
    this.#frequencies = cumulative(this.#stems.length, 1);
    // Topics favour stems of the middle: what is frequent belongs to none.
    this.#topics = Array.from({ length: TOPICS }, () => Array.from({ length: TOPIC_STEMS }, () => this.#stems[100 + random.below(this.#stems.length - 100)]));
  }

  #syllables(count) {
    const random = this.#random;
    const onset = "b c d f g h j k l m n p r s t v w br cl dr fl gr pl pr sh sl st th tr".split(" ");
    const vowel = "a e i o u a e i o ea ai oo ou".split(" ");
    return Array.from({ length: count }, () => random.of(onset) + random.of(vowel)).join("");
  }

  /** A made-up word that is in no message by chance: for names of planted things. */
  name() {
    return `${this.#syllables(2)}${this.#random.of(["x", "v", "z", "q"])}${this.#syllables(1)}`;
  }

  content(topics) {
    const random = this.#random;
    let stem;
    if (random.next() < 0.45) {
      const own = this.#topics[random.of(topics)];
      stem = own[Math.floor(random.next() ** 2 * own.length)];
    } else {
      stem = this.#stems[pick(this.#frequencies, random.next())];
    }
    return { stem, form: stem + random.of(ENDINGS) };
  }

  /** Log-normal: about 26 words in the mean, few under 6, some over 60. */
  message(topics) {
    const random = this.#random;
    const length = Math.max(4, Math.round(Math.exp(3.05 + 0.62 * random.normal())));
    return Array.from({ length }, () => (random.next() < 0.45 ? { form: FUNCTION_WORDS[Math.floor(random.next() ** 2.2 * FUNCTION_WORDS.length)] } : this.content(topics)));
  }
}

/** Shares of ranks by Zipf's law, summed up. */
function cumulative(count, exponent) {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let rank = 0; rank < count; rank += 1) sums[rank] = sum += 1 / (rank + 3) ** exponent;
  return sums.map((value) => value / sum);
}

function pick(sums, share) {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle] < share) low = middle + 1;
    else high = middle;
  }
  return low;
}
