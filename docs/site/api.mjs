// The API reference: declarations and comments of the source, read by typedoc, written as pages of this site. One page for
// each entry of the package; the many types of the main entry have a page for each file of js/types.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Application, ReflectionKind, TSConfigReader } from "typedoc";
import { ROOT, Stop } from "../../scripts/toolchain.mjs";
import { TypeWriter, unionKey } from "./api-types.mjs";
import { errorCodes } from "./error-codes.mjs";
import { escapeHtml } from "./highlight.mjs";
import { relativeTo } from "./markdown.mjs";

const KINDS = [
  { kind: ReflectionKind.Function, word: "function" },
  { kind: ReflectionKind.Class, word: "class" },
  { kind: ReflectionKind.Interface, word: "interface" },
  { kind: ReflectionKind.TypeAlias, word: "type" },
  { kind: ReflectionKind.Variable, word: "constant" },
];

const CODES = new Set(errorCodes().map(({ code }) => code));
const errorPlace = (code) => `errors/${code}`;

/** Entries of the package that have types, each with the source file that it is compiled from. */
export function packageEntries(manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))) {
  return Object.entries(manifest.exports).filter(([, target]) => typeof target === "object" && target.types !== undefined).map(([path, { types }]) => ({
    name: `${manifest.name}${path.slice(1)}`,
    source: types.replace(/^\.\/dist\//, "js/").replace(/\.d\.ts$/, ".ts"),
  }));
}

/** Reads the source. Warnings (a link in a comment that leads nowhere, say) are errors. */
async function readDeclarations(entries) {
  const options = {
    entryPoints: entries.map(({ source }) => join(ROOT, source)), tsconfig: join(ROOT, "tsconfig.json"),
    disableGit: true, sourceLinkTemplate: "{path}", excludePrivate: true, excludeInternal: true, excludeExternals: true, skipErrorChecking: true, readme: "none",
    sort: ["source-order"], validation: { notExported: false, invalidLink: true, notDocumented: false }, logLevel: "Warn",
  };
  const application = await Application.bootstrap(options, [new TSConfigReader()]);
  const project = await application.convert();
  if (project === undefined || application.logger.hasErrors()) throw new Stop("The API could not be read from the source; what is wrong is told above.");
  application.validate(project);
  if (application.logger.hasWarnings()) throw new Stop("Comments of the API have faults, told above.");
  const modules = project.children.every((child) => child.kindOf(ReflectionKind.Module)) ? project.children : [project];
  return entries.map((entry, index) => ({ ...entry, module: modules.find((each) => each.sources?.[0]?.fullFileName === join(ROOT, entry.source)) ?? modules[index] }));
}

/** The whole reference. */
export class ApiReference {
  #markdown;
  #addresses = new Map();
  #unions = new Map();
  #pages = [];

  constructor(entries, markdown) {
    this.#markdown = markdown;
    for (const entry of entries) this.#place(entry);
    for (const code of CODES) markdown.place(errorPlace(code), `errors.html#${code}`);
  }

  static async read(markdown) {
    return new ApiReference(await readDeclarations(packageEntries()), markdown);
  }

  /** Calls whose comments say with which codes they reject. */
  get throwing() {
    const calls = this.#pages.flatMap(({ declarations }) => declarations.flatMap((each) => [
      ...(each.signatures ?? []).map((signature) => ({ name: each.name, signature })),
      ...(each.children ?? []).flatMap((child) => (child.signatures ?? []).map((signature) => ({ name: `${each.name}.${child.name}`, signature }))),
    ]));
    const named = calls.map(({ name, signature }) => ({ name, throws: textOfTags(signature.comment, "@throws") })).filter(({ throws }) => throws !== "");
    return [...grouped(named, ({ name }) => name)].map(([name, all]) => ({ name, throws: all.map(({ throws }) => throws).join(" ") }));
  }

  /** What has no comment of its own: exports, and their fields and methods where these are ours. */
  get undocumented() {
    return this.#pages.flatMap(({ declarations }) => declarations.flatMap((each) => [each, ...(hasFieldsOfOthers(each) ? [] : (each.children ?? []))]))
      .filter((each) => each.name !== "constructor" && commentOf(each) === undefined).map((each) => each.getFullName());
  }

  /** The pages, written. `uses`: pages with an example of an entry, by its name. */
  pages(uses) {
    const written = this.#pages.map((page) => this.#write(page, uses.get(page.entry) ?? []));
    return [this.#overview(), ...written];
  }

  #place({ name, source, module }) {
    const [main, ...others] = this.#split(name, source, module);
    const about = aboutFile(source);
    const again = (module.children ?? []).filter((child) => child.kindOf(ReflectionKind.Reference)).map((child) => child.getTargetReflectionDeep());
    this.#pages.push({ ...main, entry: name, about, others, again }, ...others.map((other) => ({ ...other, about: aboutFile(other.source), others: [], again: [] })));
    for (const { file, declarations } of [main, ...others]) {
      for (const declaration of declarations) {
        this.#remember(declaration, declaration.name, `${file}#${declaration.name}`);
        for (const child of declaration.children ?? []) this.#remember(child, `${declaration.name}.${child.name}`, `${file}#${declaration.name}.${child.name}`);
      }
    }
  }

  /** What an entry exports, its types by the file of js/types that they are in. */
  #split(name, source, module) {
    const file = `api/${name.replaceAll("/", "-")}.html`;
    const all = (module.children ?? []).filter((child) => KINDS.some(({ kind }) => child.kindOf(kind)));
    const groups = grouped(all, (child) => fileOfTypes(child) ?? "");
    const main = { file, title: name, label: name, declarations: inOrderOf(readFileSync(join(ROOT, source), "utf8"), groups.get("") ?? []) };
    groups.delete("");
    const others = [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).map(([stem, declarations]) => ({
      file: file.replace(".html", `-${stem}.html`), title: `Types: ${stem}`, label: `types: ${stem}`, short: stem, isInner: true, source: `js/types/${stem}.ts`, declarations,
    }));
    return [main, ...others];
  }

  #remember(reflection, name, address) {
    if (reflection.kindOf(ReflectionKind.TypeAlias)) this.#unions.set(unionKey(literalsOf(reflection)), reflection);
    if (!this.#addresses.has(reflection.id)) this.#addresses.set(reflection.id, address);
    this.#markdown.place(`#${reflection.id}`, address);
    this.#markdown.place(name, address);
  }

  #overview() {
    const file = "api/index.html";
    const rows = this.#pages.filter(({ entry }) => entry !== undefined).map(({ entry, file: to, about, declarations }) =>
      `<tr><td><a href="${relativeTo(file, to)}"><code>${escapeHtml(entry)}</code></a></td><td>${this.#text(firstSentence(about), file)}</td><td>${declarations.filter((each) => !each.kindOf(ReflectionKind.Interface | ReflectionKind.TypeAlias)).map(({ name }) => `<code>${escapeHtml(name)}</code>`).join(", ") || "no values"}</td></tr>`);
    return {
      file, title: "API reference", label: "API reference", group: "Reference", headings: [],
      html: `<h1 id="api-reference">API reference</h1>\n<p>Made from the source: every entry of the package, with what its comments say of meaning, units, ranges, defaults and errors.</p>\n<div class="scroll" tabindex="0" role="group" aria-label="Table"><table><thead><tr><th>entry</th><th>what it is</th><th>exports</th></tr></thead><tbody>${rows.join("\n")}</tbody></table></div>`,
    };
  }

  #write({ file, title, label, isInner, about, entry, declarations, others, again }, uses) {
    const writer = new TypeWriter((reflection) => {
      const address = this.#addresses.get(reflection.id);
      return address === undefined ? undefined : relativeTo(file, address);
    }, this.#unions);
    const headings = [];
    const body = declarations.map((declaration) => this.#declaration(declaration, file, writer, headings));
    const links = (list) => list.map((each) => `<a href="${relativeTo(file, each.file)}">${escapeHtml(each.short ?? each.label)}</a>`).join(", ");
    const html = [
      `<h1 id="${label}">${entry === undefined ? escapeHtml(title) : `<code>${escapeHtml(title)}</code>`}</h1>`,
      this.#text(about, file),
      uses.length === 0 ? "" : `<p>Used in ${links(uses)}.</p>`,
      others.length === 0 ? "" : `<p>Its types: ${links(others)}.</p>`,
      again.length === 0 ? "" : `<p>It exports ${again.map((each) => writer.reference(each.name, each)).join(", ")} as well.</p>`,
      ...body,
    ];
    return { file, title, label, isInner, group: "Reference", headings, html: html.filter((part) => part !== "").join("\n") };
  }

  #declaration(declaration, file, writer, headings) {
    const { name } = declaration;
    const word = wordFor(declaration);
    headings.push({ level: 2, id: name, text: name });
    const parts = [`<h2 id="${name}">${escapeHtml(name)} <span class="kind">${word}</span></h2>`];
    if (declaration.signatures !== undefined) parts.push(...declaration.signatures.map((each) => this.#call(each, name, file, writer)));
    else {
      parts.push(this.#comment(declaration.comment, file));
      if (word === "type" && !isKeysOfInner(declaration.type)) parts.push(code(`type ${name}${writer.typeParameters(declaration.typeParameters)} = ${writer.type(declaration.type)}`));
      if (word === "constant") parts.push(code(`const ${name}: ${writer.type(declaration.type)}`));
    }
    const members = declaration.children ?? [];
    if (members.length > 0) parts.push(...this.#members(declaration, members, file, writer, headings));
    return parts.join("\n");
  }

  /** Fields as a list of definitions; methods under headings of their own, but for those of plain types. */
  #members(declaration, members, file, writer, headings) {
    // A class that is exported as a type alone counts as an interface.
    const methods = isPlainType(declaration) ? [] : members.filter(({ signatures }) => signatures !== undefined);
    const fields = members.filter((each) => !methods.includes(each)).map((child) => {
      return `<dt id="${declaration.name}.${child.name}"><code>${writer.member(child)}</code></dt>\n<dd>${this.#comment(commentOf(child), file)}</dd>`;
    });
    const list = fields.length === 0 ? [] : [`<dl class="fields">\n${fields.join("\n")}\n</dl>`];
    return [...list, ...methods.map((method) => {
      const id = `${declaration.name}.${method.name}`;
      const name = method.name === "constructor" ? `new ${declaration.name}` : method.name;
      headings.push({ level: 3, id, text: name });
      return [`<h3 id="${id}">${escapeHtml(name)}</h3>`, ...method.signatures.map((each) => this.#call(each, name, file, writer))].join("\n");
    })];
  }

  #call(signature, name, file, writer) {
    const told = (signature.parameters ?? []).filter(({ comment }) => comment !== undefined && comment.summary.length > 0);
    const rows = told.map((each) => `<dt><code>${escapeHtml(each.name === "__namedParameters" ? "options" : each.name)}</code></dt>\n<dd>${this.#comment(each.comment, file)}</dd>`);
    const list = rows.length === 0 ? "" : `<dl class="fields">\n${rows.join("\n")}\n</dl>`;
    return `${code(writer.signature(signature, name))}\n${this.#comment(signature.comment, file)}${list}`;
  }

  #comment(comment, file) {
    if (comment === undefined) return "";
    const returns = textOfTags(comment, "@returns");
    const throws = textOfTags(comment, "@throws").replaceAll(/`([a-z_]+)`/g, (word, code) => (CODES.has(code) ? `[${word}](api:${errorPlace(code)})` : word));
    const parts = [
      textOfParts(comment.summary), textOfTags(comment, "@remarks"),
      returns === "" ? "" : `**Returns** ${returns}`, throws === "" ? "" : `**Rejects with** ${throws}`, textOfTags(comment, "@example"),
    ];
    return this.#text(parts.filter((part) => part !== "").join("\n\n"), file);
  }

  #text(markdown, file) {
    return markdown === "" ? "" : this.#markdown.fragment(markdown, { source: "js/index.ts", file });
  }
}

/** The file of js/types that a declaration is in, where it is in one. */
function fileOfTypes(declaration) {
  return /(?:^|\/)types\/([a-z-]+)\.ts$/.exec(declaration.sources?.[0]?.fileName ?? "")?.[1];
}

/** The literals that a type alias is a choice of; those of the error codes are the keys of a table that is not exported. */
function literalsOf({ name, type }) {
  if (name === "MemoryErrorCode") return [...CODES];
  return type?.type === "union" && type.types.every((each) => each.type === "literal") ? type.types.map(({ value }) => value) : [];
}

/** The comment of an export, a field or a method, wherever it stands. */
function commentOf({ comment, signatures, getSignature, type }) {
  return comment ?? signatures?.find((each) => each.comment !== undefined)?.comment ?? getSignature?.comment ?? type?.declaration?.signatures?.[0]?.comment;
}

/** `keyof typeof` something that is not exported: says nothing to a reader. */
function isKeysOfInner(type) {
  return type?.type === "typeOperator" && type.target.type === "query" && type.target.queryType.reflection === undefined;
}

/** Fields of adapters, and of providers' messages, are mostly another library's. */
function hasFieldsOfOthers(declaration) {
  const file = declaration.sources?.[0]?.fullFileName ?? "";
  return ["js/adapters/", "js/types/messages.ts"].some((path) => file.startsWith(join(ROOT, path)));
}

function isPlainType(declaration) {
  return declaration.kindOf(ReflectionKind.Interface) && fileOfTypes(declaration) !== undefined;
}

/** What it is called: a class that is exported as a type alone is a class to its reader. */
function wordFor(declaration) {
  const { word } = KINDS.find(({ kind }) => declaration.kindOf(kind));
  const file = declaration.sources?.[0]?.fullFileName;
  const isClass = word === "interface" && file !== undefined && new RegExp(`\\bclass ${declaration.name}\\b`).test(readFileSync(file, "utf8"));
  return isClass ? "class" : word;
}

/** What is in a list, by a name of each. */
function grouped(list, nameOf) {
  const groups = new Map();
  for (const each of list) groups.set(nameOf(each), [...(groups.get(nameOf(each)) ?? []), each]);
  return groups;
}

/** Declarations in the order in which the entry names them: what comes first there matters most. */
function inOrderOf(text, declarations) {
  const place = ({ name }) => text.search(new RegExp(`\\b${name}\\b`)) >>> 0;
  return [...declarations].sort((one, other) => place(one) - place(other));
}

function code(html) {
  return `<pre class="signature" tabindex="0"><code>${html}</code></pre>`;
}

function textOfTags(comment, tag) {
  return (comment?.blockTags ?? []).filter((each) => each.tag === tag).map(({ content }) => textOfParts(content).trim()).join("\n\n");
}

/** Parts of a comment as Markdown; what they link becomes `api:` links. */
function textOfParts(parts) {
  return parts.map((part) => {
    if (part.kind !== "inline-tag") return part.text;
    if (typeof part.target === "object" && "id" in part.target) return `[\`${part.text}\`](api:%23${part.target.id})`;
    return typeof part.target === "string" ? `[${part.text}](${part.target})` : `\`${part.text}\``;
  }).join("");
}

/** What a file says about itself: the comment that it begins with, where that is not of its first declaration. */
function aboutFile(source) {
  const [, comment] = /^(?:"use client";\n)?\/\*\*([\s\S]*?)\*\/\s*?\n(?:\s*\n|import |export (?:\{|type \*|\*|type \{))/.exec(readFileSync(join(ROOT, source), "utf8")) ?? [];
  return comment === undefined ? "" : comment.replaceAll(/^\s*\* ?/gm, "").replaceAll(/\{@link ([^}]+)\}/g, "`$1`").trim();
}

/** The first sentence, without the entry's name in front of it. */
function firstSentence(text) {
  const own = text.replace(/^(?:(?:The entry )?`[^`]+`|Throughline): /, "");
  const [sentence] = /^[\s\S]*?\.(?=\s|$)/.exec(own) ?? [own];
  return `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}`;
}
