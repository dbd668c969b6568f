import { outcome } from "./job.js";

outcome().then((result) => {
  globalThis.outcome = result;
});
