/** The page's address: which conversation and which view it is about. Only the fragment is used, which no server sees. */

/** What an address says. */
export interface Address {
  /** Id of a conversation. */
  chat: string | null;
  /** Id of a view; none: the conversation itself. */
  view: string | null;
}

/** What the address says now. */
export function readAddress(): Address {
  const fields = new URLSearchParams(location.hash.slice(1));
  return { chat: fields.get("chat"), view: fields.get("view") };
}

/** Makes the address say this; with `isStep` the browser's back button leads to what it said before. */
export function writeAddress({ chat, view }: Address, isStep = false): void {
  const fields = new URLSearchParams({ ...(chat === null ? {} : { chat }), ...(view === null ? {} : { view }) });
  const address = fields.size === 0 ? location.pathname + location.search : `#${fields.toString()}`;
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
