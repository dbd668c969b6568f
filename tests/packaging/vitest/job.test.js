import { writeFileSync } from "node:fs";
import { test } from "vitest";
import { outcome } from "./job.js";

test("the main job", { timeout: 60_000 }, async () => {
  writeFileSync("outcome.json", JSON.stringify(await outcome()));
});
