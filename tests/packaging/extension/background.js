import { outcome } from "./job.js";
import { createMemory } from "./throughline/index.js";

globalThis.inServiceWorker = async () => {
  const result = await outcome();
  // Service workers have no import(): what is loaded later says so.
  const memory = await createMemory({ userId: "export" });
  const said = await memory.export().then(() => "exported", ({ code, message }) => `${code}: ${message}`);
  await memory.close();
  return /^engine_unavailable: .*service worker/.test(said) ? result : { error: said };
};

globalThis.inOffscreenPage = () =>
  new Promise((resolve, reject) => {
    chrome.runtime.onMessage.addListener(({ outcome }) => resolve(outcome));
    const reasons = ["WORKERS"];
    chrome.offscreen.createDocument({ url: "offscreen.html", reasons, justification: "Remembers what was said." }).catch(reject);
  });
