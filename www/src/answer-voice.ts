/** Says an answer to screen readers while it is written: sentence by sentence, so that nothing is said twice. */

import { element } from "./element.ts";
import type { Workspace } from "./workspace.ts";

const SENTENCE_END = /[.!?…:。！？]\s|\n/gu;

/** Puts a place into the page that screen readers follow. */
export function answerVoice(root: HTMLElement, workspace: Workspace): void {
  const place = element("div", { class: "visually-hidden", role: "log", "aria-live": "polite", "aria-label": "Answer", id: "answer-voice" });
  root.append(place);
  let seq = -1;
  /** Characters of the answer that were said. */
  let said = 0;
  const say = (text: string): void => {
    if (text.trim() !== "") place.append(element("p", {}, text.trim()));
  };
  const grown = (): void => {
    const message = workspace.messages.find(({ status }) => status === "streaming");
    if (!message) return;
    if (message.seq !== seq) {
      place.replaceChildren();
      [seq, said] = [message.seq, 0];
    }
    const rest = message.text.slice(said);
    const end = [...rest.matchAll(SENTENCE_END)].at(-1);
    if (!end) return;
    const until = end.index + end[0].length;
    say(rest.slice(0, until));
    said += until;
  };
  workspace.subscribe(["growth"], grown);
  workspace.subscribe(["messages"], () => {
    grown();
    const message = workspace.messages.find((each) => each.seq === seq);
    if (!message || message.status === "streaming") return;
    say(message.text.slice(said));
    if (message.status === "aborted") say("The answer was stopped.");
    seq = -1;
  });
}
