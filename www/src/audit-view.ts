/** Whether what is remembered is right: what the last check found, checking now, and the log of every decision. */

import type { FactCheck, FactFinding } from "throughline";
import { button, element, fill } from "./element.ts";
import { eventView } from "./fact-view.ts";
import { refreshing } from "./refresh.ts";
import { visibleLine } from "./visible-text.ts";
import { formatCount, formatShortDay, formatTime } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const LOG_PAGE = 20;

const KINDS: Readonly<Record<FactFinding["kind"], string>> = {
  contradiction: "These cannot both hold",
  instruction: "This reads like an instruction",
  expired: "Its time is over",
  unsupported: "Its quote does not stand in its message",
  secret: "It holds a secret",
  sensitive: "It is of a special category that you did not agree to",
  outdated: "The model takes it for out of date",
};

/** Fills its place and keeps it current. */
export function auditView(root: HTMLElement, workspace: Workspace): void {
  const found = element("div", { id: "findings" });
  const log = element("ol", { class: "history", id: "fact-log" });
  const more = button("Earlier decisions", () => void workspace.attempt(() => readLog(false)), { class: "quiet", hidden: true });
  const look = button("Look through it now", () => void workspace.attempt(async () => showFindings(await workspace.opened().facts.check())), { id: "audit-now" });
  const details = element("details", { class: "log" }, element("summary", {}, "Every decision so far"), log, more);
  root.append(found, element("div", { class: "actions" }, look), details);
  let oldest: number | undefined;

  async function showFindings({ at, findings }: FactCheck): Promise<void> {
    const facts = await workspace.opened().facts.list();
    const textOf = (id: string): string => visibleLine(facts.find((fact) => fact.id === id)?.fact ?? "(no longer there)");
    const date = new Date(at);
    const when = at === 0 ? "Not looked through yet. It also happens by itself once a week, where something changed." : `Looked through on ${formatShortDay(date)}, ${formatTime(date)}.`;
    fill(
      found,
      element("p", { class: "fine" }, when),
      at > 0 && element("p", { class: "verdict" }, findings.length === 0 ? "Nothing is wrong." : formatCount(findings.length, "thing that may be wrong", "things that may be wrong")),
      element("ul", { class: "findings" }, ...findings.map(({ byModel, factIds, kind }) =>
        element("li", { "data-kind": kind }, element("b", {}, KINDS[kind] ?? kind), byModel ? " (the model says so)" : "",
          element("ul", {}, ...factIds.map((id) => element("li", {}, textOf(id))))))),
      findings.length > 0 && element("p", { class: "fine" }, "Nothing is deleted by a check. Edit, forget or approve the facts above."),
    );
  }

  async function readLog(isAnew: boolean): Promise<void> {
    const page = await workspace.opened().facts.log({ limit: LOG_PAGE, ...(isAnew || oldest === undefined ? {} : { before: oldest }) });
    if (isAnew) fill(log);
    log.append(...page.map(eventView));
    oldest = page.at(-1)?.number;
    more.hidden = page.length < LOG_PAGE;
    if (log.childElementCount === 0) log.append(element("li", { class: "empty" }, "Nothing was decided yet."));
  }

  const update = refreshing(workspace, async () => {
    if (!workspace.memory) return;
    await showFindings(await workspace.memory.facts.findings());
    if (details.open) await readLog(true);
  });
  details.addEventListener("toggle", () => {
    if (details.open) void workspace.inBackground(() => readLog(true));
  });
  workspace.subscribe(["facts"], update);
  update();
}
