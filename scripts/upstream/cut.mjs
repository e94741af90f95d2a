// Cuts functions and values out of the bundle of a published package.
// No upstream code lives here. A package is installed into the cache folder, and what a question needs is cut out of it at run
// time: starting from a function found by the name of its region (or of its file), every top-level declaration it reaches is
// copied, chunk by chunk, into a temporary module, with the imports between them kept.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import vm from "node:vm";
import { builtinModules } from "node:module";
import { pathToFileURL } from "node:url";

// ---------------------------------------------------------------- cutting out
const DECL = /^(?:export )?(?:default )?(?:(?:async )?function\*? ?|const |let |var |class )([A-Za-z_$][\w$]*)?/;
const STARTS = /^(?:import|export|async function|function|const|let|var|class)\b/;
const STUBS = {
  createSubsystemLogger: "() => __quiet",
  acquireSessionWriteLock: "async () => ({ release: async () => {} })",
  emitSessionTranscriptUpdate: "() => {}",
  resolveProviderRuntimeHooks: "() => undefined", // no provider plug-in is loaded
  classifyProviderFailoverSignalWithPlugin: "() => undefined",
  resolveProviderRuntimePlugin: "() => undefined",
  resolveProviderCacheTtlEligibility: "() => undefined",
  resolveProviderCapabilities: "() => ({})",
  getGlobalHookRunner: "() => undefined",
};
function parses(code) {
  try { new vm.Script(code.replaceAll("import.meta", "({})")); return true; } catch { return false; }
}
function clean(code) {
  return code
    .replace(/\/\*[\s\S]*?\*\//g, " ")
    .replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, '""')
    .replace(/(^|\s)\/\/.*$/gm, "$1");
}
class Chunk {
  constructor(file, rewrite) {
    this.file = file;
    this.text = rewrite(fs.readFileSync(file, "utf8"));
    this.lines = this.text.split("\n");
    this.starts = new Map(); // name -> line
    this.done = new Map(); // name -> {at, code}
    this.imports = new Map(); // local -> {from, name}
    this.exports = new Map(); // exported -> local
    this.items = { has: (n) => this.starts.has(n), get: (n) => this.item(n) };
    for (let at = 0; at < this.lines.length; at++) {
      const line = this.lines[at];
      if (!STARTS.test(line)) continue;
      if (/^(?:import\b|export (?:\{|\*))/.test(line)) {
        let code = line;
        for (let i = at + 1; i < at + 200 && !/(?:["'];?|\};?)\s*$/.test(code); i++) code += this.lines[i];
        if (line.startsWith("import")) this.addImport(code);
        else this.addExport(code);
        continue;
      }
      const d = DECL.exec(line);
      if (!d) continue;
      const names = d[1] ? [d[1]] : [...(/^(?:export )?(?:const|let|var) [[{]([^=]*?)[\]}] =/.exec(line)?.[1] ?? "").matchAll(/(?:^|,)\s*(?:[\w$]+\s*:\s*)?([A-Za-z_$][\w$]*)/g)].map((m) => m[1]);
      if (/^export default/.test(line)) this.exports.set("default", d[1]);
      else if (/^export /.test(line)) for (const n of names) this.exports.set(n, n);
      for (const n of names) if (!this.starts.has(n)) this.starts.set(n, at);
    }
  }
  addExport(code) {
    const from = /from\s*"([^"]+)"/.exec(code)?.[1];
    for (const p of code.slice(code.indexOf("{") + 1, code.indexOf("}")).split(",").map((x) => x.trim()).filter(Boolean)) {
      const [local, , out] = p.split(/\s+/);
      if (from) { this.imports.set(`re:${out ?? local}`, { from, name: local }); this.exports.set(out ?? local, `re:${out ?? local}`); }
      else this.exports.set(out ?? local, local);
    }
  }
  // the shortest run of lines from the declaration on that parses and is not continued
  item(name) {
    if (this.done.has(name)) return this.done.get(name);
    const at = this.starts.get(name);
    if (at === undefined) return undefined;
    const strip = (x) => x.replace(/^export (?:default )?/, "");
    let code = strip(this.lines[at]);
    for (let i = at; ; ) {
      const next = this.lines[i + 1] ?? "";
      if (!/^[\s)}\].?:&|+`,]/.test(next) && parses(code)) break;
      if (++i >= this.lines.length) throw new Error(`${this.file}: no end of ${name}`);
      code += `\n${this.lines[i]}`;
    }
    const it = { at, code };
    this.done.set(name, it);
    return it;
  }
  addImport(code) {
    const from = /(?:from\s*)?["']([^"']+)["'];?\s*$/.exec(code)?.[1];
    if (!from) return;
    const head = code.replace(/^import\s*/, "").split(/\bfrom\b/)[0];
    const star = /\*\s+as\s+([\w$]+)/.exec(head);
    if (star) this.imports.set(star[1], { from, name: "*" });
    const braces = /\{([\s\S]*)\}/.exec(head);
    for (const p of (braces?.[1] ?? "").split(",").map((s) => s.trim()).filter(Boolean)) {
      const [name, , local] = p.split(/\s+/);
      this.imports.set(local ?? name, { from, name });
    }
    const def = /^([A-Za-z_$][\w$]*)\s*(?:,|$)/.exec(head.trim());
    if (def && !star) this.imports.set(def[1], { from, name: "default" });
  }
}
const base = (n) => n.replace(/\$\d+$/, "");
// found by their name alone, where a region was folded into another
const UNIQUE = new Set(["isCacheTtlEligibleProvider", "readLastCacheTtlTimestamp", "pruneProcessedHistoryImages", "isRateLimitErrorMessage", "buildMemoryFlushPlan"]);
export class Shaker {
  // `rewrite` may change the text of a chunk before anything is cut out of it
  constructor(dist, replace = {}, rewrite = (text) => text) {
    this.dist = dist;
    this.rewrite = rewrite;
    this.replace = replace;
    this.chunks = new Map();
    this.out = new Map(); // file -> Map(name -> code)
    this.links = new Map(); // file -> Map(local -> {file, name})
    this.outside = new Map(); // file -> lines
    this.missing = new Set();
  }
  chunk(file) {
    if (!this.chunks.has(file)) this.chunks.set(file, new Chunk(file, this.rewrite));
    return this.chunks.get(file);
  }
  files() {
    if (this.list) return this.list;
    const all = [];
    const walk = (d) => {
      for (const e of fs.readdirSync(d, { withFileTypes: true })) {
        if (e.isDirectory()) { if (!["node_modules", "control-ui", "extensions", "canvas-host"].includes(e.name)) walk(path.join(d, e.name)); }
        else if (/\.m?js$/.test(e.name)) all.push(path.join(d, e.name));
      }
    };
    walk(this.dist);
    return (this.list = all.sort());
  }
  // the chunk and the local name of a function, by the region (or file) that holds it
  find(where, name) {
    this.texts ??= new Map(this.files().map((f) => [f, fs.readFileSync(f, "utf8")]));
    for (const [file, text] of this.texts) {
      if (!text.includes(name)) continue;
      let body = null;
      if (text.includes("//#region ")) {
        const re = new RegExp(`^//#region (\\S*${where}\\S*)\\n([\\s\\S]*?)^//#endregion`, "gm");
        for (const m of text.matchAll(re)) if (new RegExp(`^(?:async )?(?:function|const) ${name}(?:\\$\\d+)?\\b`, "m").test(m[2])) { body = m[2]; break; }
      } else if (new RegExp(`${where.replace("\\.ts", "")}(?:\\.js)?$`).test(path.relative(this.dist, file).replace(/\.js$/, ""))) body = text;
      const local = body && new RegExp(`^(?:export )?(?:default )?(?:async )?(?:function|const) (${name}(?:\\$\\d+)?)\\b`, "m").exec(body)?.[1];
      if (local) return { file, name: local };
    }
    for (const [file, text] of this.texts) { // the region was folded into another
      const local = new RegExp(`^(?:async )?function (${name}(?:\\$\\d+)?)\\(`, "m").exec(text)?.[1];
      if (local && UNIQUE.has(name)) return { file, name: local };
    }
    return null;
  }
  // what moved into the package beside the gateway
  exported(name) {
    const file = this.siblings && path.join(this.siblings, "dist", "internal", "runtime.mjs");
    if (!file || !fs.existsSync(file) || name !== "isContextOverflow") return null;
    let at = { file, name: this.chunk(file).exports.get(name) };
    for (let i = 0; at.name && i < 5; i++) {
      const c = this.chunk(at.file);
      const to = c.imports.get(at.name);
      if (!to) break;
      const next = path.resolve(path.dirname(at.file), to.from);
      at = { file: next, name: this.chunk(next).exports.get(to.name) };
    }
    return at.name ? at : null;
  }
  need(file, name) {
    const c = this.chunk(file);
    if (!this.out.has(file)) { this.out.set(file, new Map()); this.links.set(file, new Map()); this.outside.set(file, []); }
    const out = this.out.get(file);
    if (out.has(name) || this.links.get(file).has(name)) return;
    const stub = this.replace[base(name)] ?? STUBS[base(name)];
    if (stub && (c.items.has(name) || c.imports.has(name))) { out.set(name, { at: -1, code: `const ${name} = ${stub};` }); return; }
    const item = c.items.get(name);
    if (item) {
      out.set(name, item);
      const code = clean(item.code);
      for (const m of code.matchAll(/[A-Za-z_$][\w$]*/g)) {
        const before = code.slice(Math.max(0, m.index - 3), m.index);
        if (before.endsWith(".") && before !== "...") continue;
        if (code[m.index + m[0].length] === ":" && /[{,\s]$/.test(before)) continue;
        if (m[0] !== name && (c.items.has(m[0]) || c.imports.has(m[0]))) this.need(file, m[0]);
      }
      return;
    }
    const imp = c.imports.get(name);
    if (!imp) return;
    const sibling = this.siblings && imp.from.startsWith("@openclaw/ai") ? path.join(this.siblings, "dist", `${imp.from.slice("@openclaw/ai/".length) || "index"}.mjs`) : null;
    if (imp.from.startsWith(".") || sibling) {
      const target = sibling ?? path.resolve(path.dirname(file), imp.from);
      const local = fs.existsSync(target) ? this.chunk(target).exports.get(imp.name) : undefined;
      if (imp.name === "*" || local === undefined) { out.set(name, { at: -1, code: `const ${name} = __absent(${JSON.stringify(name)});` }); this.missing.add(name); return; }
      this.links.get(file).set(name, { file: target, name: local });
      this.need(target, local);
      return;
    }
    const bare = imp.from.replace(/^node:/, "");
    const url = builtinModules.includes(bare) ? `node:${bare}` : this.replace[`pkg:${imp.from}`];
    if (url) {
      const how = imp.name === "*" ? `* as ${name}` : imp.name === "default" ? name : `{ ${imp.name === name ? name : `${imp.name} as ${name}`} }`;
      this.outside.get(file).push(`import ${how} from ${JSON.stringify(url)};`);
      out.set(name, { at: -1, code: "" });
      return;
    }
    out.set(name, { at: -1, code: `const ${name} = __absent(${JSON.stringify(`${imp.from}:${name}`)});` });
    this.missing.add(`${imp.from}:${imp.name}`);
  }
  async load(wanted) {
    const entry = {};
    for (const [key, [where, name]] of Object.entries(wanted)) {
      const at = this.find(where, name) ?? this.exported(name);
      if (at) { entry[key] = at; this.need(at.file, at.name); }
    }
    const gen = fs.mkdtempSync(path.join(os.tmpdir(), "session-oracle-mod-"));
    const files = [...this.out.keys()];
    const modOf = (f) => `m${files.indexOf(f)}.mjs`;
    for (const f of files) {
      const lines = [
        "const __quiet = new Proxy({}, { get: () => () => {} });",
        "const __absent = (n) => new Proxy(function () {}, { get: (t, k) => (k === Symbol.toPrimitive ? () => n : __absent(n)), apply: () => { throw new Error(`left out: ${n}`); }, construct: () => ({}) });",
        ...this.outside.get(f),
      ];
      for (const [local, to] of this.links.get(f)) {
        const plain = to.name.startsWith("re:") ? null : to.name;
        let target = to;
        if (!plain) { // re-exported
          const inner = this.chunk(to.file).imports.get(to.name);
          const file = path.resolve(path.dirname(to.file), inner.from);
          target = { file, name: this.chunk(file).exports.get(inner.name) };
        }
        lines.push(`import { ${target.name} as ${local} } from "./${modOf(target.file)}";`);
      }
      const items = [...this.out.get(f).entries()].filter(([n]) => !n.startsWith("re:")).sort((a, b) => a[1].at - b[1].at);
      const seen = new Set();
      for (const [, it] of items) if (!seen.has(it.code)) { seen.add(it.code); lines.push(it.code); }
      const names = items.map(([n]) => n).filter((n) => this.out.get(f).get(n).code !== "");
      if (names.length) lines.push(`export { ${names.join(", ")} };`);
      fs.writeFileSync(path.join(gen, modOf(f)), `${lines.join("\n")}\n`);
    }
    if (process.env.ORACLE_KEEP) console.error(`modules kept in ${gen}; left out: ${[...this.missing].join(", ")}`);
    const res = {};
    try {
      for (const [key, at] of Object.entries(entry)) res[key] = (await import(pathToFileURL(path.join(gen, modOf(at.file))).href))[at.name];
    } finally {
      if (!process.env.ORACLE_KEEP) fs.rmSync(gen, { recursive: true, force: true });
    }
    return res;
  }
}
