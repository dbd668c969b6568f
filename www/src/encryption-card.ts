/** Encrypting the chats with a passphrase, taking that back, and changing the passphrase. */

import { isMemoryError } from "throughline";
import { card } from "./card.ts";
import { confirmAction } from "./confirm.ts";
import { button, element, fill } from "./element.ts";
import { whenAlone } from "./page-lock.ts";
import { askNewPassphrase } from "./passphrase-dialog.ts";
import { isEncrypted } from "./vault.ts";
import { changePassphrase, moveTo } from "./vault-moves.ts";
import type { Workspace } from "./workspace.ts";

const WARNING = "It is stored nowhere. Without it nobody can read these chats again, you included: write it down, and keep a backup.";

/** The card; it keeps itself current. */
export function encryptionCard(workspace: Workspace): HTMLElement {
  const state = element("p", { class: "state", id: "encryption-state" });
  const about = element("p", { class: "fine" });
  const actions = element("div", { class: "actions" });
  const bar = element("progress", { class: "wide", "aria-label": "Moving the chats", hidden: true });
  const result = element("p", { class: "fine", role: "status", id: "encryption-result" });
  const refresh = async (): Promise<void> => {
    const isSealed = await isEncrypted();
    state.textContent = isSealed ? "Encrypted with your passphrase" : "Not encrypted";
    state.classList.toggle("on", isSealed);
    about.textContent = isSealed
      ? "Texts, titles, facts, summaries, vectors and the index are sealed (AES-256-GCM) before they are written. It shows how many records there are and how large. It does not protect against software that is in this browser while the page is open."
      : "Whoever can read this browser's profile folder can read these chats. A passphrase seals them; you then type it in each time the page is opened.";
    fill(actions, ...(isSealed
      ? [button("Change the passphrase", () => void change(workspace, result), { id: "change-passphrase" }), button("Take the encryption back", () => void open(), { class: "quiet", id: "decrypt" })]
      : [button("Encrypt with a passphrase", () => void seal(), { id: "encrypt" })]));
  };
  workspace.subscribe(["wiped", "model"], () => void workspace.inBackground(refresh));
  void workspace.inBackground(refresh);
  return card("encryption", "Encryption", state, about, actions, bar, result);

  async function seal(): Promise<void> {
    const given = await askNewPassphrase("Encrypt these chats", WARNING, "Encrypt");
    if (given !== null) await move(given.next, "Encrypted. The browser may keep old plain bytes in its files until it rewrites them, or until this site's data is cleared.");
  }

  async function open(): Promise<void> {
    const consequence = "The chats are then readable for whoever can read this browser's profile folder.";
    if (await confirmAction("Take the encryption back?", consequence, "Take it back")) await move(null, "The chats are no longer encrypted.");
  }

  async function move(passphrase: string | null, done: string): Promise<void> {
    if (workspace.isAsking) {
      result.textContent = "Wait until the answer is there.";
      return;
    }
    result.textContent = "";
    bar.hidden = false;
    for (const each of actions.querySelectorAll("button")) each.disabled = true;
    const isMoved = await workspace.attempt(() => whenAlone(() => moveTo(passphrase, workspace.opened(), (words, value, total) => {
      result.textContent = words;
      bar.max = Math.max(1, total);
      bar.value = value;
    })));
    bar.hidden = true;
    result.textContent = isMoved ? done : "Nothing was changed.";
    if (isMoved) await workspace.attempt(() => workspace.open());
    await refresh();
  }
}

/** Asks for both passphrases and changes it; says how it went. */
async function change(workspace: Workspace, result: HTMLElement): Promise<void> {
  const given = await askNewPassphrase("Change the passphrase", WARNING, "Change it", true);
  if (given === null) return;
  result.textContent = "Changing it";
  await workspace.attempt(async () => {
    try {
      await changePassphrase(given.present, given.next);
      result.textContent = "Changed. Who has the former one and an old copy of the browser's files can still open that copy.";
    } catch (error) {
      result.textContent = "";
      if (!isMemoryError(error, "storage_key_wrong")) throw error;
      result.textContent = "The present passphrase is another one. Nothing was changed.";
    }
  });
}
