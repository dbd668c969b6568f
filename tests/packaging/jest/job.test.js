import { writeFileSync } from "node:fs";
import { test } from "@jest/globals";
import { outcome } from "./job.js";

test("the main job", async () => {
  writeFileSync("outcome.json", JSON.stringify(await outcome()));
}, 60_000);
