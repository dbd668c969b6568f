/** The page without its server, and among the apps of the device. */

import { card } from "./card.ts";
import { button, element, fill } from "./element.ts";
import { install, offlineState, onOffline, useUpdate, type OfflineState } from "./offline.ts";

const FILES: Readonly<Record<OfflineState["files"], string>> = {
  absent: "Needs the server each time",
  storing: "Storing its files",
  ready: "Opens without its server",
};

/** The card; it keeps itself current. */
export function offlineCard(): HTMLElement {
  const state = element("p", { class: "state", id: "offline-state" });
  const about = element("p", { class: "fine" });
  const actions = element("div", { class: "actions" });
  const show = (): void => {
    const { canInstall, files, isUpdateWaiting } = offlineState();
    state.textContent = FILES[files];
    state.dataset["files"] = files;
    state.classList.toggle("on", files === "ready");
    about.textContent = files === "absent"
      ? "This browser, or this address, offers no service worker."
      : "All files of one version are kept together, each checked against its hash. A newer version takes over as a whole: when every tab is closed, or when you say so.";
    fill(actions,
      isUpdateWaiting && button("Use the new version", useUpdate, { class: "primary", id: "use-update" }),
      canInstall && button("Install it as an app", () => void install(), { id: "install" }));
  };
  onOffline(show);
  show();
  return card("offline", "Offline", state, about, actions);
}
