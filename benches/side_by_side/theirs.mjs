// The other side of `run`: pi's SessionManager and the gateway's pruner, out of their published packages. Prints one JSON line;
// `ms` is the work alone, without the start of node and the loading of modules.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [what, packages, ...input] = process.argv.slice(2);
const core = (name) => import(pathToFileURL(path.join(packages, "node_modules/@mariozechner/pi-coding-agent/dist/core", name)));

async function transcript(file) {
  const { SessionManager } = await core("session-manager.js");
  const { estimateTokens } = await core("compaction/compaction.js");
  const began = performance.now();
  const session = SessionManager.open(file);
  session.getTree();
  const messages = session.buildSessionContext().messages.length;
  let tokens = 0;
  for (const entry of session.getEntries()) if (entry.type === "message") tokens += estimateTokens(entry.message);
  return { ms: performance.now() - began, messages, tokens };
}

async function list(folder) {
  const { SessionManager } = await core("session-manager.js");
  const began = performance.now();
  const sessions = await SessionManager.list(process.cwd(), folder);
  return { ms: performance.now() - began, sessions: sessions.length };
}

// The regions of a bundle that are named, as one module.
function regions(dist, names, also) {
  for (const name of fs.readdirSync(dist).filter((name) => name.endsWith(".js")).sort()) {
    const text = fs.readFileSync(path.join(dist, name), "utf8");
    const parts = names.map((region) => {
      const start = text.indexOf(`//#region ${region}\n`);
      return start < 0 ? null : text.slice(start, text.indexOf("\n//#endregion", start));
    });
    if (parts.every((part) => part !== null)) return parts.join("\n") + also;
  }
  throw new Error(`no bundle has ${names}`);
}

async function prune(file, window) {
  const dir = "src/agents/pi-extensions/context-pruning";
  const text = regions(path.join(packages, "package/dist"), [`${dir}/pruner.ts`, `${dir}/settings.ts`], `
    export const chars = estimateMessageChars$1, prune = pruneContextMessages, defaults = DEFAULT_CONTEXT_PRUNING_SETTINGS;`);
  const { chars, prune, defaults } = await import("data:text/javascript;base64," + Buffer.from(text).toString("base64"));
  const asked = {
    messages: JSON.parse(fs.readFileSync(file, "utf8")), settings: defaults, ctx: {},
    contextWindowTokensOverride: Number(window), isToolPrunable: () => true,
  };
  const times = [];
  let after;
  for (let round = 0; round < 400; round++) {
    const began = process.hrtime.bigint();
    after = prune(asked);
    times.push(Number(process.hrtime.bigint() - began));
  }
  times.sort((a, b) => a - b);
  return { ns: times[200], chars: after.map(chars) };
}

let out;
try {
  out = await { transcript, list, prune }[what](...input);
} catch (error) {
  out = { error: String(error?.message ?? error).slice(0, 200) };
}
console.log(JSON.stringify(out));
