import { outcome } from "./job.js";

chrome.runtime.sendMessage({ outcome: await outcome() });
