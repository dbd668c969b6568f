import { outcome } from "../../job.js";

export async function load() {
  return { outcome: await outcome() };
}
