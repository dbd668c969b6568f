/** What is on this device, who is called, and what can be done about either. */

import { backupCard } from "./backup-card.ts";
import { element } from "./element.ts";
import { encryptionCard } from "./encryption-card.ts";
import { eraseCard } from "./erase-card.ts";
import { offlineCard } from "./offline-card.ts";
import { requestsCard } from "./requests-card.ts";
import { storageCard } from "./storage-card.ts";
import type { Workspace } from "./workspace.ts";

/** Fills its place; each card keeps itself current. */
export function privacyView(root: HTMLElement, workspace: Workspace): void {
  root.append(
    element("h2", {}, "Privacy"),
    element("p", { class: "lead" }, "Everything that you write here is in this browser's own database, for this page only. There is no server that could have it."),
    element("div", { class: "cards" },
      requestsCard(), storageCard(workspace), encryptionCard(workspace), backupCard(workspace), offlineCard(), eraseCard(workspace)),
  );
}
