// Types and signatures of the API as HTML, each name that has a place of its own a link to it.

import { escapeHtml } from "./highlight.mjs";

/** A signature longer than this has a line for each parameter. */
const LINE = 88;

/** Fewer literals than these say more than the name of their alias. */
const FEW = 4;

/** What a choice of literals is recognised by. */
export function unionKey(literals) {
  return [...literals].map((each) => JSON.stringify(each)).sort().join("|");
}

/**
 * Writes types. `addressOf(reflection)`: where it is documented, or undefined. `unions`: aliases of choices of literals, which
 * the compiler writes out where a parameter is optional.
 */
export class TypeWriter {
  #addressOf;
  #unions;

  constructor(addressOf, unions) {
    this.#addressOf = addressOf;
    this.#unions = unions;
  }

  /** A choice: by the name of its alias where it has one. */
  union(types) {
    const alias = types.length >= FEW && types.every(({ type }) => type === "literal") ? this.#unions.get(unionKey(types.map(({ value }) => value))) : undefined;
    return alias === undefined ? types.map((type) => this.grouped(type)).join(" | ") : this.reference(alias.name, alias);
  }

  /** A type. */
  type(type) {
    const write = WRITERS[type?.type];
    return write === undefined ? escapeHtml(String(type ?? "unknown")) : write(type, this);
  }

  /** A type where several words would be misread without parentheses. */
  grouped(type) {
    const isWide = type.type === "union" || type.type === "intersection" || type.type === "conditional" || (type.type === "reflection" && type.declaration.signatures !== undefined);
    return isWide ? `(${this.type(type)})` : this.type(type);
  }

  reference(name, reflection) {
    const address = reflection === undefined ? undefined : this.#addressOf(reflection);
    return address === undefined ? escapeHtml(name) : `<a href="${address}">${escapeHtml(name)}</a>`;
  }

  /** `<A extends B = C>`, or nothing. */
  typeParameters(parameters) {
    if (parameters === undefined || parameters.length === 0) return "";
    const written = parameters.map(({ name, type, default: otherwise }) =>
      `${escapeHtml(name)}${type === undefined ? "" : ` extends ${this.type(type)}`}${otherwise === undefined ? "" : ` = ${this.type(otherwise)}`}`);
    return `&lt;${written.join(", ")}&gt;`;
  }

  /** A call: `name(first: A, second?: B): C`. */
  signature(signature, name = signature.name, arrow = ": ") {
    const parameters = (signature.parameters ?? []).map((each) => this.#parameter(each));
    const head = `${escapeHtml(name)}${this.typeParameters(signature.typeParameters)}`;
    const tail = arrow === "" ? "" : `${arrow}${this.type(signature.type)}`;
    const line = `${head}(${parameters.join(", ")})${tail}`;
    if (parameters.length === 0 || line.replaceAll(/<[^>]+>/g, "").length <= LINE) return line;
    return `${head}(\n${parameters.map((each) => `  ${each},\n`).join("")})${tail}`;
  }

  #parameter(parameter) {
    const name = parameter.name === "__namedParameters" ? "options" : parameter.name;
    const mark = parameter.flags.isOptional || parameter.defaultValue !== undefined ? "?" : "";
    return `${parameter.flags.isRest ? "..." : ""}${escapeHtml(name)}${mark}: ${this.type(parameter.type)}`;
  }

  /** The inside of `{ ... }` or a function type. */
  declaration(declaration) {
    if (declaration.signatures !== undefined) return declaration.signatures.map((each) => this.signature(each, "", " =&gt; ")).join(" &amp; ");
    const members = (declaration.children ?? []).map((child) => this.member(child));
    for (const { parameters, type } of declaration.indexSignatures ?? []) members.push(`[${parameters.map((each) => this.#parameter(each)).join(", ")}]: ${this.type(type)}`);
    return members.length === 0 ? "{}" : `{ ${members.join("; ")} }`;
  }

  /** A field or method of an object. */
  member(child) {
    if (child.signatures !== undefined) return child.signatures.map((each) => this.signature(each, `${child.name}${child.flags.isOptional ? "?" : ""}`)).join("; ");
    const type = child.type ?? child.getSignature?.type;
    const isReadonly = child.flags.isReadonly || (child.getSignature !== undefined && child.setSignature === undefined);
    return `${isReadonly ? "readonly " : ""}${escapeHtml(child.name)}${child.flags.isOptional ? "?" : ""}: ${this.type(type)}`;
  }
}

const WRITERS = {
  array: ({ elementType }, writer) => `${writer.grouped(elementType)}[]`,
  conditional: (type, writer) => `${writer.type(type.checkType)} extends ${writer.type(type.extendsType)} ? ${writer.type(type.trueType)} : ${writer.type(type.falseType)}`,
  indexedAccess: ({ objectType, indexType }, writer) => `${writer.grouped(objectType)}[${writer.type(indexType)}]`,
  inferred: ({ name }) => `infer ${escapeHtml(name)}`,
  intersection: ({ types }, writer) => types.map((type) => writer.grouped(type)).join(" &amp; "),
  intrinsic: ({ name }) => escapeHtml(name),
  literal: ({ value }) => `<span class="string">${escapeHtml(typeof value === "string" ? JSON.stringify(value) : String(value))}</span>`,
  mapped: (type, writer) => `{ [${escapeHtml(type.parameter)} in ${writer.type(type.parameterType)}]${type.optionalModifier === "+" ? "?" : ""}: ${writer.type(type.templateType)} }`,
  namedTupleMember: ({ name, isOptional, element }, writer) => `${escapeHtml(name)}${isOptional ? "?" : ""}: ${writer.type(element)}`,
  optional: ({ elementType }, writer) => `${writer.type(elementType)}?`,
  predicate: ({ name, asserts, targetType }, writer) => `${asserts ? "asserts " : ""}${escapeHtml(name)}${targetType === undefined ? "" : ` is ${writer.type(targetType)}`}`,
  query: ({ queryType }, writer) => `typeof ${writer.type(queryType)}`,
  reference: ({ name, reflection, typeArguments = [] }, writer) =>
    `${writer.reference(name, reflection)}${typeArguments.length === 0 ? "" : `&lt;${typeArguments.map((each) => writer.type(each)).join(", ")}&gt;`}`,
  reflection: ({ declaration }, writer) => writer.declaration(declaration),
  rest: ({ elementType }, writer) => `...${writer.type(elementType)}`,
  templateLiteral: ({ head, tail }, writer) => `\`${escapeHtml(head)}${tail.map(([type, text]) => `\${${writer.type(type)}}${escapeHtml(text)}`).join("")}\``,
  tuple: ({ elements }, writer) => `[${elements.map((each) => writer.type(each)).join(", ")}]`,
  typeOperator: ({ operator, target }, writer) => `${operator} ${writer.grouped(target)}`,
  union: ({ types }, writer) => writer.union(types),
};
