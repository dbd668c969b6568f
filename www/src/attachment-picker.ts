/** Choosing files that go with the next message. */

import { attachmentChips } from "./attachment-view.ts";
import { MOST_ATTACHMENTS, readAttachment, type Attachment } from "./attachments.ts";
import { button, element, fill } from "./element.ts";
import type { Workspace } from "./workspace.ts";

/** A button, and the files that were chosen. */
export class AttachmentPicker {
  readonly button = button("Attach", () => this.#input.click(), { id: "attach", title: `Up to ${MOST_ATTACHMENTS} files; what is text is taken along, of others the name, type and size` });
  readonly chosen = element("div", { class: "chosen-files", hidden: true });
  attachments: readonly Attachment[] = [];
  readonly #workspace: Workspace;
  readonly #input = element("input", { type: "file", multiple: true, hidden: true, id: "attach-file" });

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
    this.chosen.append(this.#input);
    this.#input.addEventListener("change", () => {
      const files = [...(this.#input.files ?? [])];
      this.#input.value = "";
      void this.add(files);
    });
    this.#show();
  }

  /** Adds files, up to the most that a message takes. */
  async add(files: readonly File[]): Promise<void> {
    await this.#workspace.attempt(async () => {
      const room = MOST_ATTACHMENTS - this.attachments.length;
      this.attachments = [...this.attachments, ...(await Promise.all(files.slice(0, room).map(readAttachment)))];
      this.#show();
      if (files.length > room) throw new Error(`A message takes at most ${MOST_ATTACHMENTS} files.`);
    });
  }

  /** Puts these files in the place of those that were chosen. */
  choose(attachments: readonly Attachment[]): void {
    this.attachments = attachments;
    this.#show();
  }

  #show(): void {
    this.chosen.hidden = this.attachments.length === 0;
    fill(this.chosen, this.#input, attachmentChips(this.attachments, (index) => {
      this.attachments = this.attachments.filter((_, each) => each !== index);
      this.#show();
      this.button.focus();
    }));
  }
}
