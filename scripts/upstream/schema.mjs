// Turns a zod schema into plain nodes that name what it checks, shared between releases that check the same.
import { refinementRules } from "./refinements.mjs";

/** Makes zod keep the function of a superRefine where the walk below finds it. */
export const keepRefinements = (text) => text.replace(/(return fn\(payload\.value, payload\);\s*\}, params\);\s*)return ch;/, "$1ch._zod.def.fn = fn; return ch;");

// A node is an object with `t`, the kind; an index into the table stands for a schema below it.

const source = (fn) => String(fn).replace(/\s+/g, " ");

const JSON_CHECKS = [["minLength", "minlen"], ["maxLength", "maxlen"], ["minItems", "minlen"], ["maxItems", "maxlen"], ["maximum", "max"], ["minimum", "min"], ["exclusiveMaximum", "lt"], ["exclusiveMinimum", "gt"], ["multipleOf", "mult"]];

/** The table of nodes; equal nodes have one index. */
export class NodeTable {
  nodes = [];
  places = new Map();
  unknown = new Map(); // the text of a check without a rule -> the places that make it
  add(node) {
    const text = JSON.stringify(node);
    if (!this.places.has(text)) this.places.set(text, this.nodes.push(node) - 1);
    return this.places.get(text);
  }

  /** Adds a zod schema and everything below it. */
  schema(z, path = "", open = []) {
    const def = z._zod.def;
    const at = open.indexOf(z);
    if (at >= 0) return this.add({ t: "up", n: open.length - at });
    const below = (inner, step) => this.schema(inner, `${path}${step}`, [...open, z]);
    const node = { t: def.type, ...this.kind(z, def, below, path) };
    const checks = this.checks(z, def, path);
    if (checks.length) node.c = checks;
    return this.add(node);
  }

  /** Adds a JSON schema, as newer releases keep them for channels. */
  json(schema) {
    if (typeof schema !== "object" || schema === null) return this.add({ t: schema === false ? "never" : "any" });
    const each = (list) => list.map((inner) => this.json(inner));
    const node = { t: "json" };
    if (schema.type) node.ty = [schema.type].flat();
    if (schema.properties) node.p = Object.fromEntries(Object.entries(schema.properties).map(([key, inner]) => [key, this.json(inner)]));
    // a key with a default is filled in first
    const required = (schema.required ?? []).filter((key) => schema.properties?.[key]?.default === undefined);
    if (required.length) node.q = required;
    if (schema.additionalProperties !== undefined && schema.additionalProperties !== true) node.r = this.json(schema.additionalProperties);
    if (schema.propertyNames) node.k = this.json(schema.propertyNames);
    if (schema.items && !Array.isArray(schema.items)) node.e = this.json(schema.items);
    if (schema.anyOf) node.any = each(schema.anyOf);
    if (schema.oneOf) node.one = each(schema.oneOf);
    if (schema.allOf) node.o = each(schema.allOf);
    if (schema.enum) node.v = schema.enum;
    if (schema.const !== undefined) node.v = [schema.const];
    const checks = JSON_CHECKS.filter(([key]) => typeof schema[key] === "number").map(([key, r]) => ({ r, n: schema[key] }));
    if (schema.pattern) checks.push({ r: "format", f: "regex", re: schema.pattern });
    if (checks.length) node.c = checks;
    return this.add(node);
  }

  kind(z, def, below, path) {
    switch (def.type) {
      case "string": return def.format ? { f: def.format } : {};
      case "number": case "boolean": case "unknown": case "any": case "null": case "undefined": case "never": return {};
      case "literal": return { v: def.values };
      case "enum": return { v: Object.values(def.entries) };
      case "object": {
        const p = Object.fromEntries(Object.entries(def.shape).map(([key, inner]) => [key, below(inner, `.${key}`)]));
        return { p, ...(def.catchall ? { r: below(def.catchall, ".*") } : {}) };
      }
      case "array": return { e: below(def.element, "[]") };
      case "tuple": return { o: def.items.map((inner, i) => below(inner, `[${i}]`)), ...(def.rest ? { e: below(def.rest, "[]") } : {}) };
      case "record": return { k: below(def.keyType, ".key"), e: below(def.valueType, ".*"), ...(def.keyType._zod.values?.size ? { all: 1 } : {}), ...(def.mode === "loose" ? { loose: 1 } : {}) };
      case "union": return { o: def.options.map((inner, i) => below(inner, `|${i}`)), ...(def.discriminator ? { d: def.discriminator } : {}) };
      case "intersection": return { o: [below(def.left, "&0"), below(def.right, "&1")] };
      case "optional": case "nullable": case "readonly": case "nonoptional": return { e: below(def.innerType, "") };
      case "default": case "prefault": return { e: below(def.innerType, ""), v: def.defaultValue };
      case "catch": return { e: below(def.innerType, "") };
      case "lazy": return { e: below(def.getter(), "") };
      case "pipe": return { o: [below(def.in, ">0"), below(def.out, ">1")] };
      case "transform": return {};
      case "custom": return {};
      default: throw new Error(`${path}: no word for a ${def.type} yet; add one to schema.mjs and to the validator`);
    }
  }

  checks(z, def, path) {
    const own = def.check && def.type !== "custom" ? [z] : []; // a format is a check itself
    const custom = def.type === "custom" ? this.rules(def.fn, message(def), path) : [];
    return [...custom, ...[...own, ...(def.checks ?? [])].flatMap((check) => this.check(check, path))];
  }

  check(check, path) {
    const d = check._zod.def;
    const words = message(d);
    const m = words === undefined ? {} : { m: words };
    const named = (t, more) => [{ r: t, ...more, ...m }];
    switch (d.check) {
      case "greater_than": return named(d.inclusive ? "min" : "gt", { n: Number(d.value) });
      case "less_than": return named(d.inclusive ? "max" : "lt", { n: Number(d.value) });
      case "multiple_of": return named("mult", { n: Number(d.value) });
      case "number_format": return named("int", {});
      case "min_length": return named("minlen", { n: d.minimum });
      case "max_length": return named("maxlen", { n: d.maximum });
      case "length_equals": return named("len", { n: d.length });
      case "string_format": return named("format", { f: d.format, ...(d.pattern ? { re: d.pattern.source, ...(d.pattern.flags ? { fl: d.pattern.flags } : {}) } : {}), ...(d.prefix ? { s: d.prefix } : {}) });
      case "overwrite": return /\.trim\(\)/.test(source(d.tx)) ? [{ r: "trim" }] : [];
      case "custom": return this.rules(d.fn ?? check._zod.check, words, path);
      default:
        throw new Error(`${path}: no word for the check ${d.check} yet; add one to schema.mjs and to the validator`);
    }
  }

  // The rules of a check in code; one without a name is noted and left out, so that nothing valid is refused for it.
  rules(fn, words, path) {
    const text = source(fn);
    const rules = refinementRules(text, words, path);
    if (!rules) this.unknown.set(text, [...(this.unknown.get(text) ?? []), path]);
    return rules ?? [];
  }
}

function message(def) {
  const error = def.error;
  if (error === undefined) return undefined;
  const words = typeof error === "function" ? error({ input: undefined, code: "custom", path: [] }) : error;
  return typeof words === "string" ? words : words?.message;
}
