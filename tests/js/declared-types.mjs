// Compares values with the declarations that a user's editor reads. Stricter than the language: a field that may be left out is
// left out, never `undefined` and never `null`, and nothing is there that is not declared.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import typescript from "typescript";

const { TypeFlags, SymbolFlags, ModuleKind, ModuleResolutionKind, ScriptTarget } = typescript;
const entry = join(fileURLToPath(new URL("../../dist/", import.meta.url)), "index.d.ts");

const program = typescript.createProgram([entry], {
  strict: true, noEmit: true, target: ScriptTarget.ES2022, module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler,
  lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"], types: [], exactOptionalPropertyTypes: true,
});
const checker = program.getTypeChecker();
const file = program.getSourceFile(entry);

/** What the package's index exports under a name. */
export function declared(name) {
  const symbol = checker.getExportsOfModule(checker.getSymbolAtLocation(file)).find((known) => known.name === name);
  return checker.getDeclaredTypeOfSymbol(symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
}

/** The type of a field, by the names that lead to it. */
export function fieldOf(type, ...names) {
  return names.reduce((at, name) => checker.getTypeOfSymbolAtLocation(at.getProperty(name), file), type);
}

/** The names of a type's fields and methods. */
export function namesOf(type) {
  return checker.getPropertiesOfType(type).map(({ name }) => name);
}

/** What a method answers, promise or not; `overload` counts from 0. */
export function answerOf(method, overload = 0) {
  const answer = method.getCallSignatures()[overload].getReturnType();
  return checker.getAwaitedType(answer) ?? answer;
}

/** What is wrong with a value, by place; empty where it is as declared. */
export function faultsOf(value, type, path = "answer") {
  if (type.flags & (TypeFlags.Unknown | TypeFlags.Any)) return [];
  // A type that the caller names: what it must at least be.
  if (type.flags & TypeFlags.TypeParameter) return faultsOf(value, checker.getBaseConstraintOfType(type), path);
  if (type.isUnion()) return faultsOfUnion(value, type, path);
  if (type.flags & TypeFlags.Object || type.isIntersection()) return faultsOfObject(value, type, path);
  return isPrimitive(value, type) ? [] : [`${path} is ${shown(value)} in place of ${checker.typeToString(type)}`];
}

function isPrimitive(value, type) {
  const { flags } = type;
  if (type.isLiteral()) return value === type.value;
  if (flags & TypeFlags.BooleanLiteral) return String(value) === checker.typeToString(type);
  if (flags & TypeFlags.Null) return value === null;
  if (flags & (TypeFlags.Undefined | TypeFlags.Void)) return value === undefined;
  if (flags & TypeFlags.String) return typeof value === "string";
  if (flags & TypeFlags.Number) return Number.isFinite(value);
  if (flags & TypeFlags.Boolean) return typeof value === "boolean";
  if (flags & TypeFlags.NonPrimitive) return typeof value === "object" && value !== null;
  throw new Error(`no rule for ${checker.typeToString(type)}`);
}

/** As few faults as any of the types has: that one was meant. */
function faultsOfUnion(value, type, path) {
  const each = type.types.map((one) => faultsOf(value, one, path));
  const [best] = each.toSorted((a, b) => a.length - b.length);
  const isShallow = best.length === 1 && best[0].startsWith(`${path} is `);
  return isShallow ? [`${path} is ${shown(value)} in place of ${checker.typeToString(type)}`] : best;
}

function faultsOfObject(value, type, path) {
  const name = type.symbol?.name;
  if (type.getCallSignatures().length > 0) return typeof value === "function" ? [] : [`${path} is no function`];
  if (typeof value !== "object" || value === null) return [`${path} is ${shown(value)} in place of ${checker.typeToString(type)}`];
  if (checker.isTupleType(type) || checker.isArrayType(type)) return faultsOfList(value, type, path);
  // What the platform declares, and the classes of the package, are told by their constructors.
  if (typeof globalThis[name] === "function" && name !== "Object") return value instanceof globalThis[name] ? [] : [`${path} is no ${name}`];
  if (type.isClass()) return value.constructor.name === name ? [] : [`${path} is no ${name}`];
  const fields = checker.getPropertiesOfType(type);
  const anyName = checker.getIndexTypeOfType(type, typescript.IndexKind.String);
  const unknown = Object.keys(value).filter((key) => anyName === undefined && fields.every((field) => field.name !== key));
  return [...unknown.map((key) => `${path}.${key} is not declared`), ...fields.flatMap((field) => faultsOfField(value, field, `${path}.${field.name}`))];
}

function faultsOfList(value, type, path) {
  if (!Array.isArray(value)) return [`${path} is no array`];
  const types = checker.getTypeArguments(type);
  if (!checker.isTupleType(type)) return value.flatMap((item, index) => faultsOf(item, types[0], `${path}[${index}]`));
  if (value.length !== types.length) return [`${path} has ${value.length} items in place of ${types.length}`];
  return value.flatMap((item, index) => faultsOf(item, types[index], `${path}[${index}]`));
}

function faultsOfField(value, field, path) {
  const type = checker.getTypeOfSymbolAtLocation(field, file);
  const isOptional = (field.flags & SymbolFlags.Optional) !== 0;
  if (!(field.name in value)) return isOptional ? [] : [`${path} is not there`];
  if (isOptional && value[field.name] === undefined) return [`${path} is undefined in place of being left out`];
  return faultsOf(value[field.name], type, path);
}

function shown(value) {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
