// What is written in the runs: texts that can be made again from their numbers, so that what is read back is checked word by
// word without having been sent. Used by the page and by the test.

const WORDS = "harbour ledger violet engine cactus orbit window marble planet tunnel copper meadow signal lantern carpet anchor".split(" ");

/** The text of one message: it has its place in it, and a length that varies from one line to some kilobytes. */
export function textOf(run, conversation, number) {
  let state = (run * 7919 + conversation * 104_729 + number * 1_299_709) >>> 0;
  const next = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
  const length = number % 17 === 0 ? 700 : 6 + (next() >>> 16) % 40;
  const words = Array.from({ length }, () => WORDS[(next() >>> 16) % WORDS.length]);
  return `Note ${run}-${conversation}-${number}: ${words.join(" ")}.`;
}

/** A message with an id of its own. */
export function messageOf(run, conversation, number) {
  return { id: `m-${run}-${conversation}-${number}`, role: number % 2 === 0 ? "user" : "assistant", content: textOf(run, conversation, number) };
}

/** A small ChatGPT export: conversations of some messages each. */
export function exportOf(run, conversations, messages) {
  const one = (_, index) => {
    const id = `export-${run}-${index}`;
    const mapping = { root: { id: "root", parent: null, children: ["n0"], message: null } };
    for (let number = 0; number < messages; number += 1) {
      const author = { role: number % 2 === 0 ? "user" : "assistant" };
      const content = { content_type: "text", parts: [textOf(run, 1_000 + index, number)] };
      const message = { id: `n${number}`, author, content, create_time: 1_700_000_000 + number, status: "finished_successfully", recipient: "all" };
      mapping[`n${number}`] = { id: `n${number}`, parent: number === 0 ? "root" : `n${number - 1}`, children: number + 1 < messages ? [`n${number + 1}`] : [], message };
    }
    return { id, conversation_id: id, title: id, create_time: 1_700_000_000, update_time: 1_700_000_000 + messages, current_node: `n${messages - 1}`, mapping };
  };
  return JSON.stringify(Array.from({ length: conversations }, one));
}
