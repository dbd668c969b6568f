/** Going to a message of whichever conversation. */

import type { Workspace } from "./workspace.ts";

/** A message to be shown, with words to be marked in it. */
export interface Destination {
  seq: number;
  marked: readonly string[];
}

/** Scrolls the transcript to a message of the current conversation; set by the transcript. */
let goTo: (destination: Destination) => void = () => undefined;

/** Says how the transcript is scrolled. */
export function onGoTo(action: (destination: Destination) => void): void {
  goTo = action;
}

/** Shows a message, in its conversation, with these words marked. */
export async function showMessage(workspace: Workspace, conversationId: string, seq: number, marked: readonly string[] = []): Promise<void> {
  await workspace.attempt(async () => {
    if (workspace.current?.id !== conversationId) await workspace.select(conversationId);
    goTo({ seq, marked });
  });
}
