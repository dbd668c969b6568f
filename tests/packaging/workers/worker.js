import { outcome } from "./job.js";

export default {
  async fetch(request) {
    return new URL(request.url).pathname === "/run" ? Response.json(await outcome()) : new Response("ready");
  },
};
