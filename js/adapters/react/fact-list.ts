import { createElement as h, useId, useState, type ReactElement } from "react";
import type { Fact, FactPlace } from "../../index.js";
import { FactSources } from "./fact-sources.js";
import { filled, wordFor, wordsOf, type InspectorWords, type WithWords } from "./wording.js";

/** Props of {@link FactList}. An action that is left out has no button: give those of `useFacts`. */
export interface FactListProps extends WithWords {
  facts: readonly Fact[];
  /** Puts a proposed fact into use. */
  onApprove?: (id: string) => unknown;
  /** Forgets a fact for good; ask the user before, if you wish. */
  onForget?: (id: string) => unknown;
  /** Says a fact in other words. */
  onUpdate?: (id: string, changes: { fact: string }) => unknown;
  /** Shows the message that a fact was learned from. */
  onShowSource?: (conversationId: string, seq: number) => unknown;
  /** Reads all messages that show a fact, `sources` of `useFacts`: they are listed under what was learned from a conversation. */
  sourcesOf?: (id: string) => Promise<readonly FactPlace[]>;
  /** The name of a conversation, in front of its messages in that list. */
  conversationName?: (conversationId: string) => string | undefined;
  className?: string;
}

/** What is remembered: each fact with the words that show it, how far it is trusted, and what can be done with it. */
export function FactList(props: FactListProps): ReactElement {
  const { facts, className } = props;
  const words = wordsOf(props);
  if (facts.length === 0) return h("p", { className, "data-throughline": "fact-list" }, words.noFacts);
  // What waits for the user comes first.
  const sorted = [...facts].sort((one, other) => Number(other.status === "proposed") - Number(one.status === "proposed"));
  return h("ul", { className, "data-throughline": "fact-list" }, sorted.map((fact) => h(FactItem, { key: fact.id, fact, words, actions: props })));
}

interface FactItemProps {
  fact: Fact;
  words: InspectorWords;
  actions: FactListProps;
}

function FactItem({ fact, words, actions }: FactItemProps): ReactElement {
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const id = useId();
  const { source, trust, status, pinned, localOnly } = fact;
  const { sourcesOf, conversationName, onShowSource } = actions;
  const marks = [
    status === "proposed" && words.waits, wordFor(words.trust, trust), pinned && words.pinned, localOnly === true && words.localOnly,
  ].filter((mark) => mark !== false);
  const body = draft === undefined ? h("p", { id, "data-part": "fact" }, fact.fact) : editor({ fact, words, actions, draft, setDraft });
  return h(
    "li",
    { "data-status": status, "data-trust": trust },
    body,
    source.quote === null ? null : h("blockquote", { "data-part": "quote" }, source.quote),
    h("p", { "data-part": "marks" }, marks.join(" · ")),
    sourcesOf === undefined || source.conversationId === null ? null : h(FactSources, { fact, words, sourcesOf, conversationName, onShowSource }),
    draft === undefined ? h("div", { "data-part": "actions" }, ...buttons({ fact, words, actions }, () => setDraft(fact.fact))) : null,
  );
}

function buttons({ fact, words, actions }: FactItemProps, edit: () => void): (ReactElement | null)[] {
  const { onApprove, onForget, onUpdate, onShowSource } = actions;
  const { conversationId, seq } = fact.source;
  const button = (name: string, label: string, act: (() => unknown) | false | undefined): ReactElement | null =>
    typeof act === "function"
      ? h("button", { type: "button", "data-action": name, onClick: () => void act(), "aria-label": filled(words.actionOn, { action: label, fact: fact.fact }) }, label)
      : null;
  const hasSource = conversationId !== null && seq !== null;
  return [
    button("approve", words.approve, fact.status === "proposed" && onApprove && (() => onApprove(fact.id))),
    button("edit", words.edit, onUpdate && edit),
    button("source", words.why, hasSource && onShowSource && (() => onShowSource(conversationId, seq))),
    button("forget", words.forget, onForget && (() => onForget(fact.id))),
  ];
}

function editor({ fact, words, actions, draft, setDraft }: FactItemProps & { draft: string; setDraft: (draft: string | undefined) => void }): ReactElement {
  const save = (event: { preventDefault: () => void }): void => {
    event.preventDefault();
    if (draft.trim() !== "" && draft !== fact.fact) actions.onUpdate?.(fact.id, { fact: draft });
    setDraft(undefined);
  };
  return h(
    "form",
    { onSubmit: save, "data-part": "editor" },
    h("input", {
      value: draft, maxLength: 4_000, autoFocus: true, "aria-label": filled(words.actionOn, { action: words.edit, fact: fact.fact }),
      onChange: (event: { target: { value: string } }) => setDraft(event.target.value),
      onKeyDown: ({ key }: { key: string }) => key === "Escape" && setDraft(undefined),
    }),
    h("button", { type: "submit", "data-action": "save" }, words.save),
    h("button", { type: "button", "data-action": "cancel", onClick: () => setDraft(undefined) }, words.cancel),
  );
}
