import { createElement as h, useEffect, useState, type ReactElement } from "react";
import type { Fact, FactPlace } from "../../index.js";
import { filled, type InspectorWords } from "./wording.js";

/** What {@link FactSources} needs. */
interface FactSourcesProps {
  fact: Fact;
  words: InspectorWords;
  sourcesOf: (id: string) => Promise<readonly FactPlace[]>;
  conversationName: ((conversationId: string) => string | undefined) | undefined;
  onShowSource: ((conversationId: string, seq: number) => unknown) | undefined;
}

/** All messages that show a fact. They are read whenever they are unfolded: that it was said once more is no change of the fact. */
export function FactSources({ fact, words, sourcesOf, conversationName, onShowSource }: FactSourcesProps): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const [places, setPlaces] = useState<readonly FactPlace[]>([]);
  useEffect(() => {
    if (!isOpen) return undefined;
    let isCurrent = true;
    void sourcesOf(fact.id).then((read) => isCurrent && setPlaces(read));
    return () => void (isCurrent = false);
  }, [isOpen, fact, sourcesOf]);
  const place = ({ conversationId, seq }: FactPlace): ReactElement => {
    const name = [conversationName?.(conversationId), filled(words.message, { position: seq })].filter((part) => part !== undefined).join(", ");
    const shown = onShowSource === undefined ? name : h("button", { type: "button", "data-action": "show", onClick: () => void onShowSource(conversationId, seq) }, name);
    return h("li", { key: `${conversationId} ${seq}` }, shown);
  };
  return h(
    "details",
    { "data-part": "sources", onToggle: ({ currentTarget }: { currentTarget: { open: boolean } }) => setOpen(currentTarget.open) },
    h("summary", { "aria-label": filled(words.actionOn, { action: words.sources, fact: fact.fact }) }, words.sources),
    h("ul", null, places.map(place)),
  );
}
