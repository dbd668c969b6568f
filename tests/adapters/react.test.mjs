// The hooks and parts with React 18 and 19 in Chromium: StrictMode, two tabs, Suspense, a server's HTML taken over.
/* global counts, memory, chat, facts, trustedTypes */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { build } from "esbuild";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rmSync, writeFileSync } from "node:fs";
import { assertQuiet, openSite } from "./site.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const VERSIONS = {
  "React 18": { react: "react-18", "react-dom": "react-dom-18", "react-dom/client": "react-dom-18/client", "react/jsx-runtime": "react-18/jsx-runtime" },
  "React 19": {},
};

/** What this version's server makes of the page that is hydrated. */
async function serverHtml(alias, name) {
  const file = `${here}node_modules/.server-${name.replace(" ", "-")}.mjs`;
  const contents = `import { createElement } from "react"; import { renderToString } from "react-dom/server"; import { Hydrated } from "./react-hydrated.mjs";
    export const html = renderToString(createElement(Hydrated, { open: () => { throw new Error("opened on a server"); } }));`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: here }, bundle: true, format: "esm", platform: "node", write: false, define: { "process.env.NODE_ENV": "\"development\"" },
    alias: { ...alias, ...(alias.react && { "react-dom/server": "react-dom-18/server" }) },
    banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);` }, absWorkingDir: here,
  });
  writeFileSync(file, outputFiles[0].text);
  try {
    return (await import(pathToFileURL(file).href)).html;
  } finally {
    rmSync(file, { force: true });
  }
}

for (const [name, alias] of Object.entries(VERSIONS)) {
  describe(name, () => {
    let site;
    let user = 0;
    before(async () => {
      site = await openSite({ entry: "react-page.mjs", alias, body: "" });
    });
    after(() => site?.close());

    /** A page with a scene, of a user of its own unless one is given. */
    async function show(scene, { userId = `user ${(user += 1)}`, id = "c", create = true } = {}) {
      const page = await site.openPage();
      await page.evaluate(([scene, options]) => globalThis.render(scene, options), [scene, { userId, id }]);
      if (scene !== "failing" && scene !== "suspense") await page.waitForSelector("[data-memory=ready]", { state: "attached" });
      if (create && scene !== "failing") {
        await page.waitForFunction(() => globalThis.memory !== undefined);
        await page.evaluate((id) => memory.conversations.create({ id }).catch(() => undefined), id);
      }
      return { page, userId };
    }
    const messages = (page) => page.getByRole("list", { name: "Messages" }).getByRole("listitem").allTextContents();
    const showsMessages = (page, ...texts) => page.waitForFunction((texts) => JSON.stringify([...document.querySelectorAll("ol[aria-label=Messages] li")].map((item) => item.textContent)) === texts, JSON.stringify(texts));

    test("StrictMode opens one memory, and it is closed once when the provider goes", async () => {
      const { page } = await show("chat");
      await page.evaluate(() => chat.append({ role: "user", content: "Hello" }));
      await showsMessages(page, "Hello");
      assert.deepEqual(await page.evaluate(() => ({ ...counts })), { opened: 1, closed: 0, contexts: 0 });
      await page.evaluate(() => globalThis.unmount());
      await page.waitForFunction(() => counts.closed === 1);
      assertQuiet(page);
      await page.close();
    });

    test("a provider that goes while it opens closes what it opened, and nothing is set afterwards", async () => {
      const page = await site.openPage();
      await page.evaluate(() => {
        globalThis.render("chat", { userId: "early", id: "c" });
        return new Promise((resolve) => setTimeout(() => resolve(globalThis.unmount()), 0));
      });
      await page.waitForFunction(() => counts.opened === counts.closed && counts.opened <= 1);
      assertQuiet(page);
      await page.close();
    });

    test("a conversation is live in both of two tabs, edits and streams included", async () => {
      const { page: one, userId } = await show("chat");
      const { page: other } = await show("chat", { userId });
      await one.evaluate(() => chat.append([{ id: "m1", role: "user", content: "One" }, { role: "assistant", content: "Two" }]));
      await Promise.all([showsMessages(one, "One", "Two"), showsMessages(other, "One", "Two")]);
      await other.evaluate(() => chat.edit("m1", { role: "user", content: "Uno" }));
      await Promise.all([showsMessages(one, "Uno"), showsMessages(other, "Uno")]);
      assert.equal(await one.getByRole("heading").textContent(), await other.getByRole("heading").textContent());
      await one.evaluate(async () => {
        globalThis.stream = await memory.stream("c", { role: "assistant", content: "" });
        globalThis.stream.write("Half of");
      });
      await one.waitForSelector("[data-message-status=streaming]");
      await one.waitForFunction(() => [...document.querySelectorAll("li")].at(-1).textContent === "Half of");
      await one.evaluate(() => {
        globalThis.stream.write(" an answer");
        return globalThis.stream.complete();
      });
      await Promise.all([showsMessages(one, "Uno", "Half of an answer"), showsMessages(other, "Uno", "Half of an answer")]);
      await other.evaluate(() => memory.erase({ conversationId: "c" }));
      await Promise.all([one, other].map((page) => page.waitForSelector("[data-error=not_found]")));
      assert.deepEqual(await messages(one), []);
      assertQuiet(one);
      assertQuiet(other);
      await Promise.all([one.close(), other.close()]);
    });

    test("only the newest are read where that is asked for, and rows that did not change stay the same objects", async () => {
      const { page } = await show("newest");
      await page.evaluate(() => chat.append(["a", "b", "c"].map((content) => ({ role: "user", content }))));
      await showsMessages(page, "b", "c");
      await page.evaluate(() => {
        globalThis.before = chat.entries;
        return chat.append({ role: "user", content: "d" });
      });
      await showsMessages(page, "c", "d");
      assert.ok(await page.evaluate(() => chat.entries[0] === globalThis.before[1]));
      await page.close();
    });

    test("nothing to read is idle, and no provider is an error that says so", async () => {
      const { page } = await show("idle", { create: false });
      await page.waitForSelector("[data-status=idle]", { state: "attached" });
      await page.close();
      const alone = await site.openPage();
      await alone.evaluate(() => globalThis.renderAlone());
      await alone.getByText("invalid_config").waitFor();
      await alone.close();
    });

    test("an opening that failed is told, and tried again on request", async () => {
      const { page } = await show("failing");
      await page.getByRole("button", { name: "Again" }).click();
      await page.waitForSelector("[data-memory=ready]");
      await page.waitForSelector("[data-error=not_found]");
      assertQuiet(page);
      await page.close();
    });

    test("what suspends beside the hooks neither opens a second memory nor loses the first", async () => {
      const { page } = await show("suspense");
      await page.getByText("asleep").waitFor();
      await page.evaluate(() => globalThis.wake());
      await page.getByText("awake").waitFor();
      await page.evaluate(() => chat.append({ role: "user", content: "Hello" }));
      await showsMessages(page, "Hello");
      assert.equal(await page.evaluate(() => counts.opened), 1);
      assertQuiet(page);
      await page.close();
    });

    test("facts are shown, approved, changed and forgotten by their buttons, in every tab", async () => {
      const { page, userId } = await show("facts");
      const { page: other } = await show("facts", { userId });
      await page.getByText("Nothing is remembered yet.").waitFor();
      await page.evaluate(() => facts.add({ fact: "Prefers tea" }));
      await page.evaluate(() => memory.facts.add({ fact: "Lives in Riga", suggested: true }));
      await other.getByText("Lives in Riga").waitFor();
      assert.deepEqual(await other.locator("[data-part=fact]").allTextContents(), ["Lives in Riga", "Prefers tea"], "what waits comes first");
      await other.getByRole("button", { name: "Approve: Lives in Riga" }).click();
      await page.waitForSelector("li[data-status=active] >> text=Lives in Riga");
      await page.getByRole("button", { name: "Edit: Prefers tea" }).click();
      const field = page.getByRole("textbox", { name: "Edit: Prefers tea" });
      await field.fill("Prefers green tea");
      await field.press("Enter");
      await other.getByText("Prefers green tea").waitFor();
      await other.getByRole("button", { name: "Edit: Lives in Riga" }).click();
      await other.getByRole("textbox").press("Escape");
      await other.getByRole("button", { name: "Forget: Lives in Riga" }).click();
      await page.waitForFunction(() => document.querySelectorAll("[data-part=fact]").length === 1);
      assertQuiet(page);
      assertQuiet(other);
      await Promise.all([page.close(), other.close()]);
    });

    test("all messages that show a fact are read when they are unfolded, each time anew", async () => {
      const { page } = await show("learning");
      const say = (id, words) => page.evaluate(async ([id, words]) => {
        await memory.append(id, [{ role: "user", content: words }, { role: "assistant", content: "Noted." }]);
        await memory.settled();
      }, [id, words]);
      await page.evaluate(() => memory.conversations.create({ id: "d" }));
      await say("c", "I live in Riga.");
      const list = page.locator("[data-part=sources]");
      await page.getByText("Where it was said").waitFor();
      assert.equal(await list.getByRole("button").count(), 0, "nothing is read before it is unfolded");
      await list.locator("summary").click();
      await page.getByRole("button", { name: "Chat c, Message 1" }).waitFor();
      await say("d", "As I said: I live in Riga.");
      await list.locator("summary").click();
      await list.locator("summary").click();
      await page.getByRole("button", { name: "Chat d, Message 1" }).click();
      assert.deepEqual(await page.evaluate(() => globalThis.source), ["d", 1]);
      assert.equal(await list.getByRole("button").count(), 2);
      assertQuiet(page);
      await page.close();
    });

    test("a receipt follows the question without a context per key, and what it is made of", async () => {
      const { page } = await show("inspector");
      await page.evaluate(async () => {
        const talk = (topic) => [{ role: "user", content: `About ${topic}: ` + "and so on ".repeat(60) }, { role: "assistant", content: `Done with ${topic}. ` + "as planned ".repeat(60) }];
        await memory.append("c", [{ role: "user", content: "Which port is free?" }, { role: "assistant", content: "8471 is free." }, ...["boats", "trains", "planes", "cars", "bikes", "kites", "rafts", "carts"].flatMap(talk)]);
        await memory.settled();
      });
      await page.getByText(/of \S+ tokens/).waitFor();
      await page.waitForSelector("section[data-status=ready]");
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
      const before = await page.evaluate(() => counts.contexts);
      await page.evaluate(() => [..."Which port did we pick"].forEach((_, end, all) => globalThis.ask(all.slice(0, end + 1).join(""))));
      await page.waitForFunction((before) => counts.contexts > before, before);
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
      assert.ok((await page.evaluate(() => counts.contexts)) - before <= 2);
      // Each part is there for those who do not see it.
      await page.getByRole("figure").getByRole("listitem").first().waitFor();
      const retrieved = page.locator("details[data-section=retrieved]");
      await retrieved.locator("summary").click();
      await retrieved.getByText("Found for this question.").first().waitFor();
      await retrieved.getByRole("meter").first().waitFor();
      await page.evaluate(() => memory.compact("c", { force: true }));
      await page.getByText("Ship the importer").first().waitFor();
      await page.locator("[data-level=conversation] > details > summary").click();
      await page.getByRole("button", { name: /^Messages/ }).first().click();
      await page.locator("[data-level=chunk] > details > summary").first().click();
      assert.ok(await page.evaluate(() => globalThis.range[0] === 1 && globalThis.range[1] >= 1));
      await page.evaluate(() => globalThis.ask(null));
      await page.waitForSelector("section[data-status=idle]", { state: "attached" });
      assertQuiet(page);
      await page.close();
    });

    test("a server draws it as loading, opens nothing, and the page takes it over without a complaint", async () => {
      const html = await serverHtml(alias, name);
      assert.match(html, /data-memory="opening" data-facts="loading" data-chat="loading"/);
      const page = await site.openPage();
      await page.evaluate((html) => {
        globalThis.policy ??= trustedTypes.createPolicy("server", { createHTML: (text) => text });
        document.getElementById("root").innerHTML = globalThis.policy.createHTML(html);
        globalThis.hydrate("hydrated");
      }, html);
      await page.waitForSelector("[data-memory=ready][data-facts=ready]");
      assertQuiet(page);
      await page.close();
    });
  });
}
