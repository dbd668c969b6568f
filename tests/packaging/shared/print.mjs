import { outcome } from "./job.js";

console.log(JSON.stringify(await outcome()));
