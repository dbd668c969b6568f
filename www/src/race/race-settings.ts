/** What the race assumes and lets be changed: who charges by which rules, prices, how fast a model reads, the engine's window. */

import type { PriceRule } from "../../../bench/cost/prompt-cache.mjs";
import { OUTPUT_PRICE, PRICE_RULES } from "../../../bench/cost/price-rules.mjs";
import { element } from "../element.ts";
import type { Pace, Prices } from "./race-costs.ts";
import { WINDOWS, type Window } from "./race-run.ts";

/** Everything that can be set. */
export interface RaceSettings {
  rule: PriceRule;
  prices: Prices;
  pace: Pace;
  window: Window;
}

/** Rules that charge money; time on one's own device is told apart. */
const RULES = PRICE_RULES.filter(({ isTime }) => isTime !== true);

/** Dollars per million input tokens: an example, and said to be one. */
const EXAMPLE_INPUT = 3;

/** The settings at first. */
export function firstSettings(): RaceSettings {
  const rule = RULES[0];
  if (!rule) throw new Error("There are no price rules.");
  return { rule, prices: pricesBy(rule, EXAMPLE_INPUT, EXAMPLE_INPUT * OUTPUT_PRICE), pace: { start: 0.3, tokensPerSecond: 2_000 }, window: 4_000 };
}

function pricesBy({ read, written }: PriceRule, input: number, output: number): Prices {
  return { input, read: round(input * read), written: round(input * written), output };
}

const round = (price: number): number => Math.round(price * 10_000) / 10_000;

/** The fields. `changed` is called with what changed put into the settings. */
export function raceSettings(settings: RaceSettings, changed: () => void): HTMLElement {
  const prices = element("div", { class: "race-fields" });
  const price = (name: keyof Prices, label: string): HTMLElement =>
    number(`race-price-${name}`, label, settings.prices[name], 0.0001, (value) => {
      settings.prices = { ...settings.prices, [name]: value };
      changed();
    });
  const showPrices = (): void => prices.replaceChildren(
    price("input", "Input"), price("read", "Read from the cache"), price("written", "Written to the cache"), price("output", "Answer"));
  const rules = choice("race-rule", RULES.map(({ name }) => name), settings.rule.name, (name) => {
    settings.rule = RULES.find((rule) => rule.name === name) ?? settings.rule;
    settings.prices = pricesBy(settings.rule, settings.prices.input, settings.prices.output);
    showPrices();
    changed();
  });
  const windows = choice("race-window", WINDOWS.map(String), String(settings.window), (value) => {
    settings.window = WINDOWS.find((window) => String(window) === value) ?? settings.window;
    changed();
  });
  showPrices();
  return element(
    "details",
    { class: "race-settings" },
    element("summary", {}, "Prices and assumptions"),
    element("p", { class: "fine" }, "Dollars per million tokens: an example, put in those of your model. Who reads how much from a cache follows the providers' documented rules, the same that the project's benchmark uses."),
    element("div", { class: "race-fields" },
      element("label", {}, "Cache rules of", rules),
      element("label", {}, "Throughline's window, tokens", windows)),
    prices,
    element("div", { class: "race-fields" },
      number("race-speed", "A model reads, tokens per second", settings.pace.tokensPerSecond, 1, (tokensPerSecond) => {
        settings.pace = { ...settings.pace, tokensPerSecond: Math.max(1, tokensPerSecond) };
        changed();
      }),
      number("race-start", "Before it reads, seconds", settings.pace.start, 0.05, (start) => {
        settings.pace = { ...settings.pace, start };
        changed();
      })),
  );
}

function number(id: string, label: string, value: number, step: number, change: (value: number) => void): HTMLElement {
  const input = element("input", { type: "number", id, value, min: 0, step: step < 1 ? "any" : step, inputmode: "decimal" });
  input.addEventListener("input", () => {
    if (Number.isFinite(input.valueAsNumber) && input.valueAsNumber >= 0) change(input.valueAsNumber);
  });
  return element("label", {}, label, input);
}

function choice(id: string, names: readonly string[], chosen: string, change: (name: string) => void): HTMLSelectElement {
  const select = element("select", { id }, ...names.map((name) => element("option", { value: name, selected: name === chosen }, name)));
  select.addEventListener("change", () => change(select.value));
  return select;
}
