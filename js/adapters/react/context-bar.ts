import { createElement as h, type ReactElement } from "react";
import type { Receipt } from "../../index.js";
import { filled, wordFor, wordsOf, type WithWords } from "./wording.js";

/** Props of {@link ContextBar}. */
export interface ContextBarProps extends WithWords {
  /** Of a built context. */
  receipt: Receipt;
  className?: string;
}

/**
 * A context as a bar: each section as wide as it has tokens, then what is free, then what is kept for the answer; and the same
 * as a list, which is the bar's legend and all of it to those who do not see. Unstyled: `[data-section]` names each part, the
 * width of one in `[data-part=bar]` is its `flex-grow`.
 */
export function ContextBar(props: ContextBarProps): ReactElement {
  const { receipt, className } = props;
  const words = wordsOf(props);
  const { total, window, reserve } = receipt.tokens;
  const room = window - reserve;
  const parts = [
    ...receipt.sections.filter(({ tokens }) => tokens > 0).map(({ name, tokens }) => ({ name, tokens, label: wordFor(words.sections, name) })),
    { name: "free", tokens: Math.max(0, room - total), label: words.free },
    { name: "reserve", tokens: reserve, label: words.reserve },
  ];
  const bar = parts.map(({ name, tokens, label }) => h("span", { key: name, "data-section": name, style: { flexGrow: tokens }, title: label }));
  const legend = parts.map(({ name, tokens, label }) =>
    h("li", { key: name, "data-section": name }, label, " ", h("span", { "data-part": "tokens" }, filled(words.tokens, { tokens }))),
  );
  return h(
    "figure",
    { className, "data-throughline": "context-bar" },
    h("figcaption", null, `${words.context}: ${filled(words.tokensOf, { used: total, room })}`),
    h("div", { "data-part": "bar", "aria-hidden": true }, bar),
    h("ol", { "data-part": "legend" }, legend),
  );
}
