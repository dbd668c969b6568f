/** Building DOM without markup: the page's policy forbids inline script and style, and nothing here ever parses HTML. */

/** What may stand inside an element. */
export type Child = Node | string | null | undefined | false;

type Listeners = { [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => void };

/** Attributes by name; `true` stands for an empty attribute, `false` and `undefined` for none. */
export interface Properties {
  readonly [attribute: string]: string | number | boolean | Listeners | undefined;
  readonly on?: Listeners;
}

/** An element with attributes, listeners and children. Strings become text nodes. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on" || value === undefined || value === false || typeof value === "object") continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const [name, listener] of Object.entries(properties.on ?? {})) {
    node.addEventListener(name, listener as EventListener);
  }
  node.append(...present(children));
  return node;
}

/** Puts these children in place of whatever the node holds. */
export function fill(node: Element, ...children: Child[]): void {
  node.replaceChildren(...present(children));
}

/** A plain button; it never submits a form. */
export function button(label: string, action: () => void, properties: Properties = {}): HTMLButtonElement {
  return element("button", { type: "button", ...properties, on: { click: action } }, label);
}

/** The element of the page with this id. */
export function byId(id: string): HTMLElement {
  const node = document.getElementById(id);
  if (!node) throw new Error(`index.html has no element #${id}`);
  return node;
}

function present(children: readonly Child[]): (Node | string)[] {
  return children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false);
}
