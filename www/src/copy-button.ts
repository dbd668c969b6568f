/** A button that copies a text and says so for a moment. */

import { button } from "./element.ts";

const SAID_MS = 1_500;

/** The button; `label` is what it does, in words, for those who do not see where it stands. */
export function copyButton(label: string, text: () => string): HTMLButtonElement {
  const node = button("Copy", () => void copy(), { class: "quiet small", "aria-label": label });
  const say = (words: string): void => {
    node.textContent = words;
    node.setAttribute("aria-label", words);
    setTimeout(() => {
      node.textContent = "Copy";
      node.setAttribute("aria-label", label);
    }, SAID_MS);
  };
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text());
      say("Copied");
    } catch {
      say("Not allowed");
    }
  };
  return node;
}
