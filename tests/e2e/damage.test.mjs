// The profile of a real browser is really damaged between two runs, in both of Chromium's ways of storing IndexedDB: every
// damage is found, named and counted, what can be read is read, and going on is the app's word.
import assert from "node:assert/strict";
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { serve } from "../../scripts/serve.mjs";
import { BACK_ENDS } from "./pages.mjs";
import { browserOptions } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const MESSAGES = 250;

let server;
let site;

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-damage-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(
    join(site, "page.js"),
    `import { createMemory } from "/throughline/index.js";
     globalThis.open = async (options = {}) => {
       globalThis.told = [];
       globalThis.memory = await createMemory({ userId: "dana", tokenizer: "estimate", ...options });
       memory.on("storage", (event) => told.push(event));
     };
     globalThis.fill = async (count) => {
       await open();
       for (const id of ["one", "two"]) {
         await memory.conversations.create({ id });
         for (let start = 0; start < count; start += 10) {
           const messages = Array.from({ length: 10 }, (_, index) => ({ role: "user", content: "message " + (start + index) + " of " + id + " " + "filler ".repeat(20) }));
           await memory.append(id, messages);
         }
       }
       await memory.close();
     };
     globalThis.attempt = async (work) => {
       try { return { done: await work() }; } catch ({ code, message, details }) { return { code, message, details }; }
     };
     document.title = "ready";`,
  );
  // Without the policy that forbids frames.
  server = await serve({ port: 0, headers: {}, mounts: { "/throughline/": join(root, "dist"), "/": site } });
});

after(async () => {
  await server?.close();
  rmSync(site, { recursive: true, force: true });
});

async function withPage(profile, backEnd, work) {
  const context = await chromium.launchPersistentContext(profile, browserOptions(BACK_ENDS[backEnd]));
  try {
    const page = await context.newPage();
    await page.goto(server.url);
    await page.waitForFunction(() => document.title === "ready");
    return await work(page, context);
  } finally {
    await context.close();
  }
}

/** Files of the database, the largest first. */
function filesOf(profile) {
  const folder = databaseFolder(profile);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const sized = files.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    const descriptor = openSync(path, "r");
    const { size } = fstatSync(descriptor);
    closeSync(descriptor);
    return { name: entry.name, path, size };
  });
  return sized.sort((one, other) => other.size - one.size);
}

function databaseFolder(profile) {
  const folders = [join(profile, "Default/IndexedDB"), join(profile, "Default/WebStorage")];
  const found = folders.find((folder) => existsSync(folder) && readdirSync(folder).length > 0);
  assert.ok(found, "there is no database in the profile");
  return found;
}

function overwrite(path, at, bytes) {
  const descriptor = openSync(path, "r+");
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}

const garbage = Buffer.from(Array.from({ length: 64 }, (_, index) => (index * 37 + 11) % 256));
const find = (profile, pattern) => {
  const file = filesOf(profile).find(({ name }) => pattern.test(name));
  assert.ok(file, `no file like ${pattern} in the profile`);
  return file;
};
const log = (profile) => find(profile, /\.log$/);
const database = (profile) => filesOf(profile)[0];
/** Where, from the middle on, a message's own text begins: by its hash a change of it is always noticed. */
function messageAt({ path, size }) {
  const at = readFileSync(path).indexOf('"raw":"', Math.floor(size / 2));
  assert.ok(at > 0, "no message lies behind the middle of the file");
  return at + 16;
}
const halve = ({ path, size }) => truncateSync(path, Math.floor(size / 2));
const removeFolder = (profile) => rmSync(databaseFolder(profile), { recursive: true });

/** What is done to the files, and the kinds as which it may be named. */
const DAMAGES = {
  leveldb: {
    "64 bytes of the log changed": [(profile) => overwrite(log(profile).path, Math.floor(log(profile).size / 2), garbage), ["removed", "truncated"]],
    "log cut to half": [(profile) => halve(log(profile)), ["truncated"]],
    "CURRENT emptied": [(profile) => truncateSync(find(profile, /^CURRENT$/).path), ["removed"]],
    "MANIFEST removed": [(profile) => rmSync(find(profile, /^MANIFEST/).path), ["unreadable"]],
    "folder removed": [removeFolder, ["removed"]],
  },
  sqlite: {
    "64 bytes of a message in the middle changed": [(profile) => overwrite(database(profile).path, messageAt(database(profile)), garbage), ["damaged", "truncated"]],
    "file cut to half": [(profile) => halve(database(profile)), ["truncated", "damaged", "removed", "unreadable"]],
    "first 100 bytes zeroed": [(profile) => overwrite(database(profile).path, 0, Buffer.alloc(100)), ["removed"]],
    "file emptied": [(profile) => truncateSync(database(profile).path), ["removed"]],
    "folder removed": [removeFolder, ["removed"]],
  },
};

for (const [backEnd, damages] of Object.entries(DAMAGES)) {
  for (const [name, [harm, kinds]] of Object.entries(damages)) {
    test(`${backEnd}: ${name}`, async (t) => {
      const profile = mkdtempSync(join(tmpdir(), "throughline-profile-"));
      try {
        await withPage(profile, backEnd, (page) => page.evaluate((count) => globalThis.fill(count), MESSAGES));
        harm(profile);
        await withPage(profile, backEnd, async (page) => {
          const refused = await page.evaluate(() => globalThis.attempt(() => globalThis.open()));
          t.diagnostic(JSON.stringify(refused));
          // What stands in one page of the file that is not read at the opening is found when it is read.
          const verified = refused.code === undefined ? await page.evaluate(() => globalThis.memory.storage.verify()) : refused.details;
          assert.ok(verified, "nothing was found");
          t.diagnostic(JSON.stringify(verified));
          assert.ok(kinds.includes(verified.kind), `named ${verified.kind}`);
          if (verified.kind === "unreadable") {
            assert.equal(refused.code, "storage_unavailable");
            assert.deepEqual(verified.expected, { messages: 2 * MESSAGES, conversations: 2 });
            return;
          }
          assert.ok(verified.lost + verified.missing + verified.unreadable.messages > 0, "without a count");
          const opened = await page.evaluate(async () => {
            await globalThis.memory?.close();
            const opened = await globalThis.attempt(() => globalThis.open({ onDataLoss: "open" }));
            await new Promise((resolve) => setTimeout(resolve, 50));
            const { items } = await globalThis.memory.conversations.list();
            let read = 0;
            for (const { id } of items) read += (await globalThis.memory.history(id)).length;
            const { damage } = await globalThis.memory.storage.info();
            await globalThis.memory.conversations.create({ id: "three" });
            await globalThis.memory.append("three", { role: "user", content: "goes on" });
            await globalThis.memory.storage.acknowledgeDamage();
            await globalThis.memory.close();
            const again = await globalThis.attempt(() => globalThis.open());
            return { opened, read, damage, told: globalThis.told, again, conversations: items.length };
          });
          t.diagnostic(JSON.stringify({ read: opened.read, conversations: opened.conversations }));
          assert.equal(opened.opened.code, undefined, opened.opened.message);
          assert.ok(opened.damage, "it is told until it is acknowledged");
          assert.equal(opened.again.code, undefined, `after the acknowledgement: ${opened.again.message}`);
          const lost = Math.max(verified.lost ?? 0, verified.missing + verified.unreadable.messages);
          assert.ok(opened.read >= 2 * MESSAGES - lost, `${opened.read} read, ${lost} lost`);
          if (verified.kind === "removed") assert.equal(opened.read, 0);
        });
      } finally {
        rmSync(profile, { recursive: true, force: true });
      }
    });
  }

  test(`${backEnd}: the folder is removed while the browser is open`, async () => {
    const profile = mkdtempSync(join(tmpdir(), "throughline-profile-"));
    try {
      await withPage(profile, backEnd, async (page) => {
        await page.evaluate((count) => globalThis.fill(count), 50);
        removeFolder(profile);
        await page.evaluate(async () => {
          await globalThis.open();
          await globalThis.memory.append("one", { role: "user", content: "is acknowledged, and gone" });
          await globalThis.memory.close();
        });
      });
      const refused = await withPage(profile, backEnd, (page) => page.evaluate(() => globalThis.attempt(() => globalThis.open())));
      assert.equal(refused.code, "storage_corrupt");
      assert.equal(refused.details.kind, "removed");
      assert.equal(refused.details.lost, 101);
    } finally {
      rmSync(profile, { recursive: true, force: true });
    }
  });

  if (backEnd === "leveldb") {
    test("files that are removed while the memory is open are told, and everything can still be exported", async () => {
      const profile = mkdtempSync(join(tmpdir(), "throughline-profile-"));
      try {
        await withPage(profile, backEnd, async (page) => {
          await page.evaluate(async (count) => {
            await globalThis.fill(count);
            await globalThis.open();
            await globalThis.memory.append("one", { role: "user", content: "on disk" });
            // Until it was looked for the first time.
            await new Promise((resolve) => setTimeout(resolve, 1_500));
          }, 20);
          removeFolder(profile);
          const told = await page.evaluate(async () => {
            const durable = [];
            for (let turn = 0; turn < 30 && durable.at(-1) !== false; turn += 1) {
              const [stored] = await globalThis.memory.append("one", { role: "user", content: "in no file" });
              durable.push(stored.durable);
              await new Promise((resolve) => setTimeout(resolve, 400));
            }
            const { report } = await globalThis.memory.export();
            return { durable: durable.at(-1), states: globalThis.told.map(({ state }) => state), isWhole: report.messages === 41 + durable.length };
          });
          assert.deepEqual(told, { durable: false, states: ["files_removed"], isWhole: true });
        });
      } finally {
        rmSync(profile, { recursive: true, force: true });
      }
    });
  }

  test(`${backEnd}: site data is cleared while the memory is open`, async () => {
    const profile = mkdtempSync(join(tmpdir(), "throughline-profile-"));
    try {
      await withPage(profile, backEnd, async (page, context) => {
        await page.evaluate(async (count) => {
          await globalThis.fill(count);
          await globalThis.open();
        }, 50);
        const protocol = await context.newCDPSession(page);
        await protocol.send("Storage.clearDataForOrigin", { origin: new URL(server.url).origin, storageTypes: "indexeddb" });
        const refused = await page.evaluate(() => globalThis.attempt(() => globalThis.memory.append("one", { role: "user", content: "never acknowledged" })));
        assert.equal(refused.code, "storage_unavailable");
        const again = await page.evaluate(() => globalThis.attempt(() => globalThis.open()));
        assert.equal(again.code, "storage_corrupt");
        assert.equal(again.details.kind, "removed");
        assert.equal(again.details.lost, 100);
      });
    } finally {
      rmSync(profile, { recursive: true, force: true });
    }
  });
}

test("site data of every kind is cleared, and the app's own place remembers", async () => {
  const profile = mkdtempSync(join(tmpdir(), "throughline-profile-"));
  try {
    const hint = () => {
      globalThis.hint = { load: () => globalThis.kept, save: (text) => void (globalThis.kept = text) };
    };
    await withPage(profile, "leveldb", async (page, context) => {
      await page.evaluate(hint);
      const kept = await page.evaluate(async () => {
        await globalThis.open({ storageHint: globalThis.hint });
        await globalThis.memory.conversations.create({ id: "one" });
        await globalThis.memory.append("one", { role: "user", content: "a secret" });
        await globalThis.memory.close();
        await globalThis.open({ storageHint: globalThis.hint });
        await globalThis.memory.append("one", { role: "user", content: "another secret" });
        await globalThis.memory.close();
        return globalThis.kept;
      });
      assert.ok(!/secret|dana/.test(kept), kept);
      const protocol = await context.newCDPSession(page);
      await protocol.send("Storage.clearDataForOrigin", { origin: new URL(server.url).origin, storageTypes: "all" });
      const refused = await page.evaluate(() => globalThis.attempt(() => globalThis.open({ storageHint: globalThis.hint })));
      assert.equal(refused.code, "storage_corrupt");
      assert.equal(refused.details.kind, "removed");
      assert.ok(refused.details.lost >= 1);
      // Erased on the user's word, there is nothing to be missed.
      const cleared = await page.evaluate(async () => {
        await globalThis.open({ storageHint: globalThis.hint, onDataLoss: () => "open" });
        await globalThis.memory.storage.acknowledgeDamage();
        await globalThis.memory.erase({ user: true });
        await globalThis.memory.close();
        return globalThis.attempt(() => globalThis.open({ storageHint: globalThis.hint }));
      });
      assert.equal(cleared.code, undefined);
    });
  } finally {
    rmSync(profile, { recursive: true, force: true });
  }
});

test("a frame of another site is told, and what cannot be told is left open", async () => {
  const profile = mkdtempSync(join(tmpdir(), "throughline-profile-"));
  try {
    await withPage(profile, "leveldb", async (page, context) => {
      const own = await page.evaluate(async () => {
        await globalThis.open();
        return globalThis.memory.storage.info();
      });
      // Chromium does not let it be told whether a window is private.
      assert.deepEqual([own.durable, own.ephemeral, own.partitioned], [true, null, false]);
      const outer = await context.newPage();
      await outer.goto(server.url.replace("127.0.0.1", "localhost"));
      await outer.evaluate((url) => {
        const frame = document.createElement("iframe");
        frame.src = url;
        document.body.append(frame);
      }, server.url.replace("localhost", "127.0.0.1"));
      const frame = await (await outer.waitForSelector("iframe")).contentFrame();
      await frame.waitForFunction(() => document.title === "ready");
      const framed = await frame.evaluate(async () => {
        const { isPartitioned } = await import("/throughline/storage-surroundings.js");
        const opened = await globalThis.attempt(() => globalThis.open());
        await new Promise((resolve) => setTimeout(resolve, 200));
        return { opened, told: globalThis.told, isPartitioned: await isPartitioned() };
      });
      assert.equal(framed.isPartitioned, true);
      // Where the browser gives such frames no storage at all, that is refused; where it does, it is told.
      if (framed.opened.code === undefined) assert.ok(framed.told.some(({ state }) => state === "partitioned"));
      else assert.equal(framed.opened.code, "storage_unavailable");
    });
  } finally {
    rmSync(profile, { recursive: true, force: true });
  }
});
