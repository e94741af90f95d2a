#!/usr/bin/env node
// Exports how releases of the gateway validate their configuration, from their own packages.
//   node config_schema.mjs OUT.txt RELEASE...     OUT.txt: the releases, then one node a line (schema.mjs)
// The schema is the release's own zod schema, cut out of the package and walked; channels of newer releases are JSON schemas that the
// package has as data. Needs zod and json5 from npm. `zstd -19 --long=27 OUT.txt` makes the file that clawscope has in it.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Shaker } from "./cut.mjs";
import { atLeast, cached, ensureGateway, install } from "./packages.mjs";
import { NodeTable, keepRefinements } from "./schema.mjs";

const LIBRARIES = ["zod@4.6.7", "json5@2.2.3", "ipaddr.js@2.2.0"];

function libraries() {
  const dir = cached("config-schema", (to) => {
    install(to, LIBRARIES);
    const api = path.join(to, "node_modules/zod/v4/core/api.js");
    fs.writeFileSync(api, keepRefinements(fs.readFileSync(api, "utf8")));
  });
  const at = createRequire(path.join(dir, "package.json"));
  const url = (file) => pathToFileURL(path.join(dir, "node_modules", file)).href;
  return { zod: url("zod/index.js"), json5: pathToFileURL(at.resolve("json5")).href, ipaddr: pathToFileURL(at.resolve("ipaddr.js")).href };
}

// How the loader of a release goes on, by its text.
function loader(texts, release) {
  const has = (pattern) => texts.some((text) => pattern.test(text));
  const bundled = has(/__zod_globalConfig/);
  return {
    refused: has(/code === "INVALID_CONFIG"\)\s*(?:\{\s*)?return \{\}/) ? "empty" : "stops",
    variables: has(/envWarnings/) ? "kept" : "refused",
    // a zod without its English words says "Invalid input" of everything
    words: bundled && !has(/_ensureDefaultLocale/) ? "none" : "zod",
    ...(has(/function appendNumericBoundHint/) ? { bounds: true } : {}),
    ...(has(/function appendAllowedValuesHint/) ? { allowed: true } : {}),
    ...(has(/migrateLegacyContextBudgetConfig/) ? { roster: true } : {}),
  };
}

// Keys of older releases that a release refuses by name.
function legacy(rules, table) {
  const kinds = [[/typeof value === "string"/, "string"], [/hasLegacyThreadBindingTtlInAccounts/, "accounts-ttl"], [/hasLegacyThreadBindingTtl/, "ttl"], [/isLegacyGatewayBindHostAlias/, "bind"]];
  return rules.flatMap((rule) => {
    const kind = rule.match ? kinds.find(([pattern]) => pattern.test(String(rule.match)))?.[1] : "any";
    return kind ? [table.add({ t: "legacy", at: rule.path, w: kind, m: rule.message })] : [];
  });
}

function channels(texts, table) {
  const text = texts.find((one) => /RAW_BUNDLED_CHANNEL_CONFIG_METADATA = \[|GENERATED_BUNDLED_CHANNEL_CONFIG_METADATA = \[/.test(one));
  if (!text) return undefined;
  const at = /(?:RAW_|GENERATED_)BUNDLED_CHANNEL_CONFIG_METADATA = (\[[\s\S]*?\n\])/.exec(text)[1];
  let list = new Function(`return ${at}`)();
  if (typeof list[0] === "string") list = JSON.parse(list.join(""));
  return Object.fromEntries(list.filter((entry) => entry.schema).map((entry) => [entry.channelId, table.json(entry.schema)]));
}

// The package, and the day on which it was built.
function source(dist, v) {
  const { name } = JSON.parse(fs.readFileSync(path.join(dist, "..", "package.json"), "utf8"));
  const built = path.join(dist, "build-info.json");
  const date = fs.existsSync(built) ? JSON.parse(fs.readFileSync(built, "utf8")).builtAt?.slice(0, 10) : undefined;
  return { package: `${name}@${v}`, ...(date ? { date } : {}) };
}

async function release(v, table, urls) {
  const dist = path.join(ensureGateway(v), "dist");
  const replace = { "pkg:zod": urls.zod, "pkg:json5": urls.json5, "pkg:ipaddr.js": urls.ipaddr };
  const shaker = new Shaker(dist, replace, keepRefinements);
  const name = atLeast(v, "2026.1.29") ? "OpenClawSchema" : "ClawdbotSchema";
  const oc = await shaker.load({ schema: ["config/zod-schema\\.ts", name], legacy: ["config/legacy\\.rules\\.ts", "LEGACY_CONFIG_RULES"], overlays: ["", "BUILT_IN_MODEL_PROVIDER_OVERLAY_IDS"] });
  if (!oc.schema) throw new Error(`${v}: its schema is not where it was`);
  const texts = [...shaker.texts.values()].filter((text) => /INVALID_CONFIG|mapZodIssueToConfigIssue|_ensureDefaultLocale|__zod_globalConfig|BUNDLED_CHANNEL_CONFIG_METADATA|envWarnings|appendAllowedValuesHint/.test(text));
  const refusesOldKeys = texts.some((text) => /function validateConfigObject(?:Raw)?\([^)]*\) \{\s*const legacyIssues/.test(text));
  return { ...source(dist, v), root: table.schema(oc.schema), ...loader(texts, v), channels: channels(texts, table), ...(oc.overlays ? { overlays: [...oc.overlays] } : {}), ...(refusesOldKeys ? { legacy: legacy(oc.legacy ?? [], table) } : {}) };
}

const [out, ...wanted] = process.argv.slice(2);
const urls = libraries();
await import(urls.zod);
const table = new NodeTable();
const releases = {};
let failed = 0;
for (const v of wanted) {
  try {
    releases[v] = await release(v, table, urls);
  } catch (error) {
    failed = 1;
    console.error(`${v}: not exported: ${error.message}`);
  }
}
fs.writeFileSync(out, `${JSON.stringify(releases)}\n${table.nodes.map((node) => JSON.stringify(node)).join("\n")}\n`);
for (const [text, places] of table.unknown) console.error(`no rule for a check in code at ${[...new Set(places)].slice(0, 3).join(" ")}: ${text.slice(0, 120)}`);
process.exit(failed);
