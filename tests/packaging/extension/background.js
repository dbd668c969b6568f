import { outcome } from "./job.js";

globalThis.inServiceWorker = outcome;

globalThis.inOffscreenPage = () =>
  new Promise((resolve, reject) => {
    chrome.runtime.onMessage.addListener(({ outcome }) => resolve(outcome));
    const reasons = ["WORKERS"];
    chrome.offscreen.createDocument({ url: "offscreen.html", reasons, justification: "Remembers what was said." }).catch(reject);
  });
