/**
 * The keyboard's way through the actions of many messages: one message's buttons are in the tab order, at first the last
 * one's, and the arrow keys go from there to the same button of the message before or after.
 */

/** Sets it up for a list of messages. Answers with what is to be called when its messages are others. */
export function messageKeys(list: HTMLElement): () => void {
  const messages = (): HTMLElement[] => [...list.querySelectorAll<HTMLElement>(".message")];
  const buttonsOf = (message: Element | null | undefined): HTMLElement[] => [...(message?.querySelectorAll<HTMLElement>(".message-actions button") ?? [])];
  let chosen: Element | null | undefined;
  const choose = (message: Element | null | undefined): void => {
    for (const each of buttonsOf(chosen)) each.tabIndex = -1;
    for (const each of buttonsOf(message)) each.tabIndex = 0;
    chosen = message;
  };
  list.addEventListener("focusin", ({ target }) => {
    // Who goes by Tab through links and code comes to the last message's buttons all the same.
    if (target instanceof Element && target.matches(".message, .message-actions button")) choose(target.closest(".message"));
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const { target } = event;
    if (!step || !(target instanceof HTMLElement) || !target.closest(".message-actions")) return;
    const all = messages();
    const message = target.closest<HTMLElement>(".message");
    const other = message && all[all.indexOf(message) + step];
    if (!other) return;
    event.preventDefault();
    const same = buttonsOf(other)[buttonsOf(message).indexOf(target)] ?? buttonsOf(other).at(-1);
    choose(other);
    same?.focus();
    other.scrollIntoView({ block: "nearest" });
  });
  return () => {
    for (const each of list.querySelectorAll<HTMLElement>(".message-actions button")) each.tabIndex = -1;
    choose(messages().at(-1));
  };
}
