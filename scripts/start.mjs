// `npm start`: builds what is missing and serves the demo. From a fresh clone it needs only Rust, Node 20 and the network;
// the first run takes some minutes, a later one starts in seconds.

import { build } from "./build.mjs";
import { dataFolder, portFromEnvironment, serve } from "./serve.mjs";
import { main } from "./toolchain.mjs";
import { bundleDemo } from "./www.mjs";

await main(async () => {
  const port = portFromEnvironment();
  const data = dataFolder();
  await build();
  await bundleDemo();
  const { url } = await serve({ port, data });
  if (data !== undefined) console.log(`- Conversations to try are served from ${data}`);
  console.log(`\nThe demo is at ${url}\nIt stays until you stop it with Ctrl+C.`);
});
