#!/usr/bin/env node
// Keeps assets/models.zst, the models that pi and the gateway list themselves: window, effective context, output limit and prices
// of each, with the releases that list them so.
//   node models.mjs --pi 1.6.0 --gateway 2026.9.6        compares these releases with the table and prints the differences
//   node models.mjs --write --pi 1.6.1                   adds them to the table
//   node models.mjs --all                                compares every published release
//   node models.mjs --write --all                        builds the table of every published release anew
// Ends with 0 where the table has these models, with 1 where it has not, with 2 where a package cannot be read.
// No upstream data lives here: packages are unpacked into the cache folder, and their own modules are asked.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { fileURLToPath, pathToFileURL } from "node:url";
import { CACHE, compare, install, npm, piScope, rerunUnderNewerNode, unpack } from "./packages.mjs";

const TABLE = process.env.CLAWSCOPE_MODELS || fileURLToPath(new URL("../../assets/models.zst", import.meta.url));
const FIRST_PI = "0.40.0";

// ---------------------------------------------------------------- packages
// A release as { date, bundled, wanted: {provider: id}, aliases: {provider: provider}, rows: {"provider\tid": values} }; values are
// [window, contextTokens, maxTokens, [input, output, cacheRead, cacheWrite], [[above, input, output, cacheRead, cacheWrite]]].
async function release(family, version) {
  const kept = path.join(CACHE, "models", `${family}-${version}.json`);
  if (fs.existsSync(kept)) return JSON.parse(fs.readFileSync(kept, "utf8"));
  const work = fs.mkdtempSync(path.join(os.tmpdir(), "clawscope-models-"));
  try {
    const found = await (family === "pi" ? readPi : readGateway)(version, work);
    fs.mkdirSync(path.dirname(kept), { recursive: true });
    fs.writeFileSync(kept, JSON.stringify(found));
    return found;
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}
const publishedTimes = new Map();
const published = (name) => {
  if (!publishedTimes.has(name)) publishedTimes.set(name, JSON.parse(npm(["view", name, "time", "--json"])));
  return publishedTimes.get(name);
};
// Of some releases only pi-ai is still there.
function unpackIfPublished(name, version, work) {
  return version in published(name) ? unpack(name, version, path.join(work, path.basename(name))) : undefined;
}
const load = (file) => import(pathToFileURL(file).href);

async function readPi(version, work) {
  const scope = piScope(version);
  const { MODELS } = await load(path.join(unpack(`${scope}/pi-ai`, version, path.join(work, "pi-ai")), "dist", "models.generated.js"));
  const rows = {};
  for (const [provider, models] of Object.entries(MODELS)) for (const [id, m] of Object.entries(models)) rows[`${provider}\t${id}`] = valuesOf(m);
  const agent = unpackIfPublished(`${scope}/pi-coding-agent`, version, work);
  const text = (...at) => fs.readFileSync(path.join(agent, ...at), "utf8");
  const wanted = agent ? defaultsOf(text("dist", "core", "model-resolver.js")) : null;
  const date = agent && new RegExp(`^## \\[${version}\\] - (\\S+)`, "m").exec(text("CHANGELOG.md"))?.[1];
  return { date, wanted, aliases: {}, rows };
}
// The model of each provider whose values an unlisted id gets; empty where the release takes no such ids.
export function defaultsOf(resolver) {
  if (!resolver.includes("function buildFallbackModel(")) return {};
  const named = /defaultModelPerProvider = (\{[\s\S]*?\n\});?/.exec(resolver)?.[1];
  if (!named) throw new Error("defaultModelPerProvider has moved");
  return new Function(`return ${named}`)();
}
// Where that model is not listed, the provider's first one stands for the unlisted ids.
function standIns(wanted, rows) {
  const found = {};
  for (const [provider, id] of Object.keys(rows).map((key) => key.split("\t"))) found[provider] ??= rows[`${provider}\t${wanted[provider]}`] ? wanted[provider] : id;
  return found;
}

async function readGateway(version, work) {
  const dir = unpack("openclaw", version, path.join(work, "openclaw"));
  const text = (...at) => fs.readFileSync(path.join(dir, ...at), "utf8");
  const { dependencies = {} } = JSON.parse(text("package.json"));
  const bundled = dependencies["@mariozechner/pi-ai"] ?? dependencies["@earendil-works/pi-ai"];
  const date = JSON.parse(text("dist", "build-info.json")).builtAt?.slice(0, 10);
  const manifest = manifestsOf(path.join(dir, "dist", "extensions"));
  // Where pi's own list is bundled, the modules of the plug-ins only repeat parts of it.
  const lists = bundled ? {} : await moduleLists(version, path.join(work, "installed"));
  return { date, bundled, wanted: {}, ...rowsOf({ manifest, ...lists }) };
}
const foldersOf = (dir) => (fs.existsSync(dir) ? fs.readdirSync(dir) : []);
function manifestsOf(dir) {
  const files = foldersOf(dir).map((name) => [name, path.join(dir, name, "openclaw.plugin.json")]).filter(([, file]) => fs.existsSync(file));
  return Object.fromEntries(files.map(([name, file]) => [name, JSON.parse(fs.readFileSync(file, "utf8"))]));
}
// The lists that the modules of the plug-ins build; they need the packages that the gateway depends on.
async function moduleLists(version, work) {
  install(work, [`openclaw@${version}`], ["--ignore-scripts", "--omit=optional"]);
  const dir = path.join(work, "node_modules", "openclaw", "dist", "extensions");
  const lists = { code: {}, built: {} };
  for (const name of foldersOf(dir)) {
    const file = ["provider-discovery.js", "provider-catalog.js"].map((f) => path.join(dir, name, f)).find((f) => fs.existsSync(f));
    if (!file) continue;
    const module = await load(file);
    const nothing = { config: {}, env: {}, resolveProviderApiKey: () => ({}), resolveProviderAuth: () => ({}) };
    for (const plugin of [module.default ?? []].flat().filter((plugin) => plugin?.staticCatalog?.run)) {
      const result = await plugin.staticCatalog.run(nothing);
      const providers = result?.providers ?? (result?.provider ? { [plugin.id]: result.provider } : {});
      for (const [id, provider] of Object.entries(providers)) lists.code[id] = provider.models;
    }
    const builders = module.default ? [] : Object.entries(module).filter(([word, f]) => /^build\w*Provider$/.test(word) && !/Live|Selectable/.test(word) && f.length === 0);
    for (const [word, build] of builders) {
      const models = (await build())?.models;
      if (models) lists.built[`${name}/${word}`] = models;
    }
  }
  return lists;
}
// The manifest's row of a model comes before that of the module.
export function rowsOf({ manifest = {}, code = {}, built = {} }) {
  const [rows, aliases] = [{}, {}];
  const add = (provider, models) => {
    for (const m of models ?? []) rows[`${provider}\t${m.id}`] ??= valuesOf(m);
  };
  for (const { modelCatalog } of Object.values(manifest)) {
    for (const [provider, { models }] of Object.entries(modelCatalog?.providers ?? {})) add(provider, models);
    for (const [alias, { provider }] of Object.entries(modelCatalog?.aliases ?? {})) aliases[alias] = provider;
  }
  for (const [provider, models] of Object.entries(code)) add(provider, models);
  for (const [key, models] of Object.entries(built)) {
    const plugin = key.split("/")[0];
    // A builder of a plug-in with several providers does not name which one it builds.
    const providers = manifest[plugin]?.providers ?? [plugin];
    if (providers.length === 1) add(providers[0], models);
  }
  return { rows, aliases };
}
const rates = (cost) => [cost.input, cost.output, cost.cacheRead, cost.cacheWrite].map((usd) => usd ?? 0);
function valuesOf({ contextWindow, contextTokens, maxTokens, cost }) {
  const steps = (cost?.tiers ?? []).map((tier) => [tier.inputTokensAbove, ...rates(tier)]);
  const ranges = (cost?.tieredPricing ?? []).filter((tier) => tier.range[0] > 0).map((tier) => [tier.range[0] - 1, ...rates(tier)]);
  return [contextWindow ?? null, contextTokens ?? null, maxTokens ?? null, cost ? rates(cost) : null, [...steps, ...ranges]];
}

// ---------------------------------------------------------------- the table
// Lines of words between tabs: `pi|gateway release date [bundled pi]` for each release, oldest first, then
// `p|g provider id spans`, where a span is `first-last:window:contextTokens:maxTokens:rates:steps` and first and last count the
// releases of the family from 0. An id of `*` names the model that stands for unlisted ones, `@` the provider that is meant.
const empty = () => ({ pi: [], gateway: [] });
const encode = ([window, context, output, cost, steps]) =>
  [window, context, output, cost?.join(","), (steps ?? []).map((step) => step.join(",")).join("/")].map((word) => word ?? "").join(":").replace(/:+$/, "");
function linesOf(release, before) {
  const lines = Object.entries(release.rows).map(([key, values]) => [key, encode(values)]);
  const earlier = [...(before ?? [])].filter(([key]) => key.endsWith("\t*")).map(([key, id]) => [key.split("\t")[0], id]);
  const wanted = release.wanted ?? Object.fromEntries(earlier);
  if (Object.keys(wanted).length > 0) lines.push(...Object.entries(standIns(wanted, release.rows)).map(([provider, id]) => [`${provider}\t*`, id]));
  lines.push(...Object.entries(release.aliases).map(([alias, provider]) => [`${alias}\t@`, provider]));
  return new Map(lines);
}
function write(families) {
  const out = [];
  for (const family of ["pi", "gateway"]) for (const r of families[family]) out.push([family, r.version, r.date ?? "", r.bundled ?? ""].join("\t").trimEnd());
  for (const family of ["pi", "gateway"]) {
    const spans = new Map();
    families[family].forEach(({ lines }, at) => {
      for (const [key, value] of lines) {
        const own = spans.get(key) ?? spans.set(key, []).get(key);
        const last = own.at(-1);
        if (last?.value === value && last.to === at - 1) last.to = at;
        else own.push({ from: at, to: at, value });
      }
    });
    const sorted = [...spans].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [key, own] of sorted) out.push([family[0], key, ...own.map(({ from, to, value }) => `${from}-${to}:${value}`)].join("\t"));
  }
  return out.join("\n") + "\n";
}
function read(text) {
  const families = empty();
  for (const line of text.split("\n").filter(Boolean)) {
    const [first, ...words] = line.split("\t");
    if (first.length > 1) families[first].push({ version: words[0], date: words[1] ?? "", bundled: words[2], lines: new Map() });
    else
      for (const span of words.slice(2)) {
        const [, from, to, value] = /^(\d+)-(\d+):(.*)$/.exec(span);
        for (let at = +from; at <= +to; at++) families[first === "p" ? "pi" : "gateway"][at].lines.set(`${words[0]}\t${words[1]}`, value);
      }
  }
  return families;
}
function differences(before, after) {
  const found = [];
  for (const [key, value] of after) if (before.get(key) !== value) found.push(`${before.has(key) ? "changed" : "new"} ${key.replace("\t", "/")}: ${before.has(key) ? `${before.get(key)} -> ` : ""}${value}`);
  for (const key of before.keys()) if (!after.has(key)) found.push(`gone ${key.replace("\t", "/")}`);
  return found;
}

async function main() {
  rerunUnderNewerNode(import.meta.url);
  const args = process.argv.slice(2);
  const named = (flag) => args.flatMap((word, at) => (word === flag ? [args[at + 1]] : []));
  const [all, isWriting] = [args.includes("--all"), args.includes("--write")];
  const families = all && isWriting ? empty() : read(zlib.zstdDecompressSync(fs.readFileSync(TABLE)).toString());
  const asked = { pi: named("--pi"), gateway: named("--gateway") };
  if (all) {
    const stable = (name) => Object.keys(published(name)).filter((v) => /^\d+\.\d+\.\d+$/.test(v));
    asked.pi = [...new Set([...stable("@mariozechner/pi-ai"), ...stable("@earendil-works/pi-ai")])].filter((v) => compare(v, FIRST_PI) >= 0).sort(compare);
    asked.gateway = stable("openclaw").filter((v) => v.startsWith("20")).sort(compare);
  }
  let worst = 0;
  for (const family of ["pi", "gateway"]) {
    for (const version of asked[family]) {
      let found;
      try {
        found = await release(family, version);
      } catch (error) {
        console.error(`error: the models of ${family} ${version} cannot be read: ${error.message.split("\n")[0]}`);
        worst = 2;
        continue;
      }
      const own = families[family].filter((r) => compare(r.version, version) <= 0).sort((a, b) => compare(a.version, b.version)).at(-1);
      const lines = linesOf(found, own?.lines);
      const changed = differences(own?.lines ?? new Map(), lines);
      if (!all || !isWriting) console.log([`${family} ${version}: ${lines.size} rows; ${changed.length} differ from ${own?.version ?? "nothing"}`, ...changed].join("\n"));
      if (changed.length > 0 && worst === 0 && !isWriting) worst = 1;
      families[family] = families[family].filter((r) => r.version !== version);
      families[family].push({ version, date: found.date, bundled: found.bundled, lines });
      families[family].sort((a, b) => compare(a.version, b.version));
    }
  }
  if (isWriting && worst < 2) {
    const text = write(families);
    const options = { params: { [zlib.constants.ZSTD_c_compressionLevel]: 19 } };
    fs.writeFileSync(TABLE, zlib.zstdCompressSync(text, options));
    console.log(`${TABLE}: ${families.pi.length} releases of pi, ${families.gateway.length} of the gateway, ${text.length} bytes as text, ${fs.statSync(TABLE).size} stored`);
  }
  process.exitCode = worst;
}
if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
