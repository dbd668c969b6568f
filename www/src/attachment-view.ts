/** Files of a message as people see them. */

import { aboutAttachment, type Attachment } from "./attachments.ts";
import { button, element } from "./element.ts";
import { inlineText, visibleLine } from "./visible-text.ts";

/** One entry for each file; what is text can be unfolded. With `remove` each can be taken away. */
export function attachmentChips(attachments: readonly Attachment[], remove?: (index: number) => void): HTMLElement {
  return element("ul", { class: "attachments", "aria-label": "Attached files" }, ...attachments.map((attachment, index) => {
    const name = visibleLine(attachment.name);
    const words = [element("span", { class: "attachment-name" }, name), element("span", { class: "attachment-about" }, aboutAttachment(attachment))];
    if (remove) {
      const about = attachment.text === null ? element("span", { class: "attachment-about" }, "reference only") : null;
      return element("li", { class: "attachment" }, ...words, about, button("Remove", () => remove(index), { class: "quiet small", "aria-label": `Remove ${name}` }));
    }
    if (attachment.text === null) return element("li", { class: "attachment" }, ...words);
    return element("li", { class: "attachment" }, element("details", {}, element("summary", {}, ...words),
      element("pre", { class: "code", tabindex: 0, "aria-label": `Content of ${name}` }, element("code", {}, ...inlineText(attachment.text, [])))));
  }));
}
