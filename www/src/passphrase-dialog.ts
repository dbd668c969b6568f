/** Asking for a passphrase: to open encrypted chats, for a file, or for a new one, twice. */

import { confirmAction, shown } from "./confirm.ts";
import { button, element } from "./element.ts";

/** Shortest passphrase for something new. What is easily guessed protects as little. */
const LEAST_CHARACTERS = 12;

/** The passphrase of the encrypted chats; `null` where the person gives them up. */
export async function askPassphrase(isWrong: boolean): Promise<string | null> {
  for (;;) {
    const answer = await ask({
      question: "These chats are encrypted",
      about: "Everything is in this browser, sealed with your passphrase. It is not stored anywhere.",
      fault: isWrong ? "That was not the passphrase. Nothing was changed." : null,
      action: "Open",
      fields: [{ label: "Passphrase", autocomplete: "current-password" }],
      refuse: "I do not have it any more",
      isRequired: true,
    });
    if (answer !== null) return answer[0] ?? "";
    const consequence = "Without the passphrase nobody can read these chats again. Deleting them makes room for new ones.";
    if (await confirmAction("Delete the encrypted chats?", consequence, "Delete them")) return null;
  }
}

/** The passphrase of a backup file; `null`: never mind. */
export async function askFilePassphrase(name: string, isWrong: boolean): Promise<string | null> {
  const answer = await ask({
    question: "This backup is encrypted",
    about: `Its passphrase opens ${name}.`,
    fault: isWrong ? "That was not its passphrase." : null,
    action: "Open",
    fields: [{ label: "Passphrase", autocomplete: "off" }],
    refuse: "Cancel",
  });
  return answer?.[0] ?? null;
}

/** A new passphrase, typed twice; `null`: never mind. With `present` the one that is in use is asked for, too. */
export async function askNewPassphrase(question: string, about: string, action: string, present = false): Promise<{ present: string; next: string } | null> {
  let fault: string | null = null;
  for (;;) {
    const fields = [
      ...(present ? [{ label: "Present passphrase", autocomplete: "current-password" }] : []),
      { label: `New passphrase, at least ${LEAST_CHARACTERS} characters`, autocomplete: "new-password" },
      { label: "The same again", autocomplete: "new-password" },
    ];
    const answer = await ask({ question, about, fault, action, fields, refuse: "Cancel" });
    if (answer === null) return null;
    const [next = "", again] = answer.slice(-2);
    if (next.length < LEAST_CHARACTERS) fault = `That is too short: several words are easier to remember than signs, and harder to guess.`;
    else if (next !== again) fault = "The two were not the same.";
    else return { present: present ? answer[0] ?? "" : "", next };
  }
}

interface Question {
  question: string;
  about: string;
  fault: string | null;
  action: string;
  fields: readonly { label: string; autocomplete: string }[];
  refuse: string;
  /** Escape does not close it. */
  isRequired?: boolean;
}

async function ask({ about, action, fault, fields, isRequired, question, refuse }: Question): Promise<string[] | null> {
  const inputs = fields.map(({ autocomplete }, index) =>
    element("input", { type: "password", autocomplete: autocomplete as "off", required: true, id: `passphrase-${index}`, autofocus: index === 0 }));
  const answer = await shown((close) => {
    const form = element(
      "form",
      { method: "dialog" },
      element("h2", { id: "passphrase-question" }, question),
      element("p", { id: "passphrase-about" }, about),
      fault !== null && element("p", { class: "fault", role: "alert", id: "passphrase-fault" }, fault),
      ...inputs.map((input, index) => element("label", { class: "stacked" }, fields[index]?.label, input)),
      element("div", { class: "actions" },
        button(refuse, () => close("refused"), { id: "passphrase-refuse" }),
        element("button", { type: "submit", class: "primary", id: "passphrase-go" }, action)),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      close("given");
    });
    const dialog = element("dialog", { class: "confirm", "aria-labelledby": "passphrase-question", "aria-describedby": "passphrase-about" }, form);
    dialog.addEventListener("cancel", (event) => {
      if (isRequired) event.preventDefault();
    });
    return dialog;
  });
  return answer === "given" ? inputs.map(({ value }) => value) : null;
}
