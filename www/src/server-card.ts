/** A model behind an address: which server, how it lets this page in, and a test that says what is wrong. */

import { card } from "./card.ts";
import { button, element, fill } from "./element.ts";
import { SERVER_KINDS, serverModel, type ServerKind, type ServerSettings } from "./model-server.ts";
import type { TurnOn } from "./models-view.ts";
import { checkServer, type CheckedStep } from "./server-check.ts";
import type { Workspace } from "./workspace.ts";

/** The card. */
export function serverCard(workspace: Workspace, turnOn: TurnOn): HTMLElement {
  const fields = formFields();
  const report = element("div", { class: "check", id: "model-result", role: "status" });
  const test = button("Test it", () => void run(false), { id: "model-test" });
  const on = element("button", { type: "submit", class: "primary", id: "model-on" }, "Turn on");
  const stop = button("Stop", () => running?.abort(), { class: "quiet", hidden: true });
  const form = element("form", { class: "fields model-form" }, ...fields.labels, element("div", { class: "actions field-wide" }, on, test, stop));
  let running: AbortController | null = null;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void run(true);
  });
  return card(
    "server", "A server of your own, or a provider",
    element("p", { class: "fine" }, "Anything that speaks OpenAI's protocol. The page itself can call nobody; this address is called by a part of it that sees nothing of what is stored."),
    form, report,
  );

  async function run(isToBeUsed: boolean): Promise<void> {
    if (!form.reportValidity()) return;
    const settings = fields.read();
    running = new AbortController();
    const { signal } = running;
    on.disabled = test.disabled = true;
    stop.hidden = false;
    fill(report, element("p", { class: "fine" }, "Asking the server"));
    try {
      const { isWell, models, steps } = await checkServer(settings, signal);
      fields.offer(models);
      fill(report, ...steps.map(stepView));
      if (isWell && isToBeUsed) await workspace.attempt(() => turnOn(serverModel(settings)));
      if (!isWell && isToBeUsed) report.append(element("p", {}, "Not turned on."));
    } catch (error) {
      fill(report, element("p", { class: "fault" }, signal.aborted ? "Stopped." : String(error)));
    } finally {
      running = null;
      on.disabled = test.disabled = false;
      stop.hidden = true;
    }
  }
}

function stepView({ advice, command, isWell, words }: CheckedStep): HTMLElement {
  return element("div", { class: isWell ? "step well" : "step fault", "data-well": isWell ? "yes" : "no" },
    element("p", {}, words), advice !== undefined && element("p", { class: "fine" }, advice), command !== undefined && commandLine(command));
}

function commandLine(command: string): HTMLElement {
  return element("pre", { class: "command", tabindex: 0, "aria-label": "Line for a terminal" }, element("code", {}, command));
}

interface Fields {
  labels: HTMLElement[];
  read(): ServerSettings;
  /** Names that the server has, for the field to offer. */
  offer(models: readonly string[]): void;
}

function formFields(): Fields {
  const address = element("input", { type: "url", id: "model-url", placeholder: "http://localhost:11434/v1", required: true, autocomplete: "off" });
  const names = element("datalist", { id: "model-names" });
  const name = element("input", { type: "text", id: "model-name", placeholder: "qwen3:8b", required: true, autocomplete: "off", list: "model-names" });
  const contextWindow = element("input", { type: "number", id: "model-window", value: 32_000, min: 1_024, max: 2_000_000, step: 1, required: true });
  const key = element("input", { type: "password", id: "model-key", autocomplete: "off", placeholder: "Empty for a local server" });
  const hint = element("div", { class: "hint field-wide", id: "server-hint" });
  const kind = element("select", { id: "server-kind" }, element("option", { value: "" }, "Another one"), ...SERVER_KINDS.map((each) => element("option", { value: each.name }, each.name)));
  const choose = (chosen: ServerKind | undefined): void => {
    fill(hint, ...(chosen ? hintOf(chosen) : []));
    if (!chosen) return;
    address.value = chosen.baseUrl;
    name.placeholder = chosen.model;
  };
  kind.addEventListener("change", () => choose(SERVER_KINDS.find((each) => each.name === kind.value)));
  return {
    labels: [
      element("label", { class: "field-wide" }, "Kind of server", kind),
      hint,
      element("label", { class: "field-wide" }, "Base URL", address),
      element("label", {}, "Model", name, names),
      element("label", {}, "Context window", contextWindow),
      element("label", { class: "field-wide" }, "API key", key, element("span", { class: "fine" }, "Kept in this tab's memory only and sent to this server only.")),
    ],
    read: () => ({ baseUrl: address.value.trim(), model: name.value.trim(), apiKey: key.value.trim(), contextWindow: Number(contextWindow.value) }),
    offer: (models) => fill(names, ...models.map((model) => element("option", { value: model }))),
  };
}

function hintOf({ command, hint }: ServerKind): HTMLElement[] {
  return [element("p", { class: "fine" }, hint), ...(command ? [commandLine(command(location.origin))] : [])];
}
