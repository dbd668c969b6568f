/** Taking everything along as one file. */

import { card } from "./card.ts";
import { button, element } from "./element.ts";
import { askNewPassphrase } from "./passphrase-dialog.ts";
import { formatBytes, formatCount } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** The card. */
export function backupCard(workspace: Workspace): HTMLElement {
  const bar = element("progress", { class: "wide", "aria-label": "Backup", hidden: true });
  const result = element("p", { class: "fine", role: "status", id: "backup-result" });
  const plain = button("Save a backup", () => void save(null), { id: "export" });
  const sealed = button("Save an encrypted one", () => void seal(), { id: "export-encrypted" });
  return card(
    "backup", "Backup",
    element("p", { class: "fine" }, "Conversations, branches, facts, notes and summaries in one file. To bring it back, or to another browser, drop it on this page. Browsers can lose what they store: a file is yours."),
    element("div", { class: "actions" }, plain, sealed), bar, result,
  );

  async function seal(): Promise<void> {
    const given = await askNewPassphrase("Encrypt the backup", "The file can be opened with this passphrase only.", "Save it");
    if (given !== null) await save(given.next);
  }

  async function save(passphrase: string | null): Promise<void> {
    plain.disabled = sealed.disabled = true;
    bar.hidden = false;
    result.textContent = "";
    await workspace.attempt(async () => {
      const file = await workspace.opened().export({
        ...(passphrase === null ? {} : { encrypt: { passphrase } }),
        onProgress: ({ messages, totalMessages }) => {
          bar.max = Math.max(1, totalMessages);
          bar.value = messages;
        },
      });
      const { conversations, facts, messages, skipped } = file.report;
      giveOut(file, `throughline-${new Date().toISOString().slice(0, 10)}${passphrase === null ? "" : "-encrypted"}.throughline`);
      const lost = skipped.length === 0 ? "" : ` ${formatCount(skipped.length, "record")} could not be read and ${skipped.length === 1 ? "is" : "are"} not in it.`;
      result.textContent = `${formatCount(conversations, "conversation")}, ${formatCount(messages, "message")}, ${formatCount(facts, "fact")}: ${formatBytes(file.size)}.${lost}`;
      await workspace.refreshStats();
    });
    plain.disabled = sealed.disabled = false;
    bar.hidden = true;
  }
}

/** Hands a file to the person. */
function giveOut(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  element("a", { href: address, download: name }).click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
