#!/usr/bin/env node
// Runs a release of the real pi (PI_VERSION, default 1.5.2) on a case and prints what it produces (format: tests/golden-pi-1.5/README.md).
//   node pi.mjs CASE.json > OUT.json
//   node pi.mjs --batch ROOT [TEXT]   (ROOT/cases/*TEXT*.json -> ROOT/expected/*.json)
//   node pi.mjs --stats FILE.jsonl... (entry / context / token counts)
// No upstream code lives here: the packages are unpacked into a cache folder. The published bundle supplies the
// session objects; inner functions that the bundle does not export come from the unbundled modules of the same package.
process.env.TZ = "UTC";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";
import { canon, pretty } from "./canonical.mjs";
import { cached, install, piScope, rerunUnderNewerNode, unpack } from "./packages.mjs";

const VERSION = process.env.PI_VERSION || "1.5.2";
const SCOPE = piScope(VERSION);
const DEFAULT_NOW = 1700000000000;

// ---------------------------------------------------------------- install
function ensurePi() {
  const dir = cached(`pi-${VERSION}`, fillPi);
  return { pi: path.join(dir, "node_modules", SCOPE, "pi-coding-agent", "dist"), ai: path.join(dir, "ai", "dist") };
}
function fillPi(dir) {
  install(dir, ["cross-spawn@7.0.6"]);
  unpack(`${SCOPE}/pi-coding-agent`, VERSION, path.join(dir, "node_modules", SCOPE, "pi-coding-agent"));
  unpack(`${SCOPE}/pi-ai`, VERSION, path.join(dir, "ai"));
  // The unbundled modules need only a few dependency-free files of pi-ai: point the package name at those.
  const shim = path.join(dir, "node_modules", SCOPE, "pi-ai");
  fs.mkdirSync(shim, { recursive: true });
  fs.writeFileSync(path.join(shim, "package.json"), `{"name":"${SCOPE}/pi-ai","type":"module","exports":{".":"./index.mjs","./compat":"./compat.mjs"}}\n`);
  fs.writeFileSync(
    path.join(shim, "index.mjs"),
    ["transcript", "text", "uuid", "retry", "overflow"].map((n) => `export * from "../../../ai/dist/utils/${n}.js";\n`).join(""),
  );
  fs.writeFileSync(path.join(shim, "compat.mjs"), 'export function completeSimple() { throw new Error("no model calls here"); }\n');
}
async function loadUpstream() {
  const at = ensurePi();
  const load = (...p) => import(pathToFileURL(path.join(...p)).href);
  const inner = {
    ...(await load(at.pi, "core", "session-manager.js")),
    ...(await load(at.pi, "core", "compaction", "compaction.js")),
    ...(await load(at.pi, "core", "compaction", "utils.js")),
    ...(await load(at.ai, "utils", "overflow.js")),
    ...(await load(at.ai, "utils", "transcript.js")),
  };
  return { ...inner, ...(await load(at.pi, "bundle", "index.js")) };
}

// ---------------------------------------------------------------- determinism
const RealDate = Date;
let NOW = DEFAULT_NOW;
let idCounter = 0;
function installDeterminism() {
  globalThis.Date = class extends RealDate {
    constructor(...a) {
      if (a.length === 0) super(NOW);
      else super(...a);
    }
    static now() {
      return NOW;
    }
  };
  crypto.randomUUID = () => `g${String(++idCounter).padStart(7, "0")}-0000-4000-8000-000000000000`;
  syncBuiltinESMExports();
}

const sha = (s) => crypto.createHash("sha256").update(s, "utf8").digest("hex");

// ---------------------------------------------------------------- helpers
const THROWS = { throws: true };
const throwLog = [];
function attempt(fn) {
  try {
    return fn();
  } catch (e) {
    throwLog.push(`${e?.name}: ${e?.message}`);
    return THROWS;
  }
}
const isThrows = (v) => v === THROWS;
function digestOne(m) {
  const c = canon(m);
  const d = { sha256: sha(c), bytes: Buffer.byteLength(c, "utf8") };
  const kind = m && typeof m === "object" ? (typeof m.role === "string" ? m.role : m.type) : undefined;
  if (typeof kind === "string") d.kind = kind;
  return d;
}
function show(list, mode) {
  if (isThrows(list) || mode !== "digest") return list;
  return list.map((m) => (isThrows(m) ? m : digestOne(m)));
}
const textStats = (s) => (isThrows(s) ? s : { chars: s.length, sha256: sha(JSON.stringify(s)) });
function assertAcyclic(entries) {
  const byId = new Map();
  for (const e of entries) if (e && typeof e === "object") byId.set(e.id, e);
  for (const e of entries) {
    const seen = new Set();
    for (let cur = e; cur; cur = cur.parentId ? byId.get(cur.parentId) : undefined) {
      if (seen.has(cur)) throw new Error("cycle in parent links: upstream would not terminate");
      seen.add(cur);
    }
  }
}
// what opening did to the file
function openingEffect(before, after) {
  if (before.equals(after)) return "unchanged";
  if (before.length === 0) return "header-written";
  if (after.length === before.length + 1 && after[before.length] === 10 && after.subarray(0, before.length).equals(before)) return "newline-added";
  return "rewritten";
}
function systemState(up, messages) {
  const m = up.getCurrentSystemMessage(messages);
  if (!m) return null;
  return { prompt: textStats(up.getCurrentSystemPrompt(messages)), sections: Object.keys(m.sections ?? {}), tools: up.getCurrentTools(messages).map((t) => t.name) };
}
function ops(fileOps) {
  return { read: [...fileOps.read], written: [...fileOps.written], edited: [...fileOps.edited] };
}
function applyStep(sm, st) {
  switch (st.do) {
    case "branch": return st.id === null ? sm.resetLeaf() : sm.branch(st.id);
    case "message": return sm.appendMessage(st.message);
    case "thinking_level_change": return sm.appendThinkingLevelChange(st.thinkingLevel);
    case "model_change": return sm.appendModelChange(st.provider, st.modelId);
    case "usage": return sm.appendUsage(st.kind, st.provider, st.model, st.usage, st.note).id;
    case "compaction": return sm.appendCompaction(st.summary, st.firstKeptEntryId, st.tokensBefore, st.details, st.fromHook, st.usage);
    case "custom": return sm.appendCustomEntry(st.customType, st.data);
    case "custom_message": return sm.appendCustomMessageEntry(st.customType, st.content, st.display, st.details);
    case "session_info": return sm.appendSessionInfo(st.name);
    case "label": return sm.appendLabelChange(st.targetId, st.label);
    case "context_edit": return sm.appendContextEdit(st.targetId, st.replacement);
    case "branch_summary": return sm.branchWithSummary(st.id, st.summary, st.details, st.fromHook, st.usage);
    default: throw new Error(`unknown step ${st.do}`);
  }
}

// ---------------------------------------------------------------- ops
async function runCase(up, c, root) {
  const s = c.settings ?? {};
  const mode = c.output ?? "full";
  NOW = typeof s.now === "number" ? s.now : DEFAULT_NOW;
  idCounter = 0;
  throwLog.length = 0;
  let tmp = null;
  let sm = null;
  let file = null;
  let opening = null;
  const result = await (async () => {
    if (c.transcript) {
      tmp = fs.mkdtempSync(path.join(os.tmpdir(), "session-oracle-run-"));
      file = path.join(tmp, "s.jsonl");
      fs.copyFileSync(path.join(root, c.transcript), file);
      const before = fs.readFileSync(file);
      const probe = path.join(tmp, "probe.jsonl");
      fs.writeFileSync(probe, before);
      assertAcyclic(up.loadEntriesFromFile(probe).filter((e) => e && e.type !== "session"));
      fs.rmSync(probe);
      sm = attempt(() => up.SessionManager.open(file));
      if (isThrows(sm)) {
        if (!fs.readFileSync(file).equals(before)) throw new Error("a refused file was changed");
        return THROWS;
      }
      opening = openingEffect(before, fs.readFileSync(file));
    }
    const leaf = Object.hasOwn(c, "leaf") ? c.leaf : undefined;
    const projection = () => (leaf === undefined ? sm.buildSessionProjection() : up.buildSessionProjection(sm.getEntries(), leaf, new Map(sm.byId)));
    const branch = () => (leaf === null ? [] : sm.getBranch(leaf));
    // ops that act on the session itself move its leaf first (an unknown id leaves it where it is)
    const moveLeaf = () => {
      if (leaf === null) sm.resetLeaf();
      else if (leaf !== undefined && sm.getEntry(leaf)) sm.branch(leaf);
    };
    const compaction = () => ({ ...up.DEFAULT_COMPACTION_SETTINGS, ...(s.compaction ?? {}) });
    const session = (model) => {
      const o = Object.create(up.AgentSession.prototype);
      o.sessionManager = sm;
      o.settingsManager = { getCompactionSettings: compaction };
      o.agent = { state: { model, messages: sm.buildSessionProjection().messages } };
      o._entryIdsByMessage = new Map();
      o._limitsModel = () => model;
      return o;
    };
    switch (c.op) {
      case "context": {
        const pr = attempt(projection);
        if (isThrows(pr)) return THROWS;
        return {
          entries: sm.getEntries().length,
          leafId: sm.getLeafId() ?? null,
          path: branch().map((e) => e?.id ?? null),
          name: attempt(() => sm.getSessionName() ?? null),
          opening,
          thinkingLevel: pr.thinkingLevel ?? null,
          model: pr.model,
          system: attempt(() => systemState(up, pr.messages)),
          sources: pr.entries.map((e) => [e.sourceEntry?.id ?? null, e.messages.length]),
          messages: show(pr.messages, mode),
          llm: show(attempt(() => up.convertToLlm(pr.messages)), "digest"),
        };
      }
      case "tokens": {
        moveLeaf();
        const pr = attempt(projection);
        if (isThrows(pr)) return THROWS;
        const cw = typeof s.contextWindow === "number" ? s.contextWindow : null;
        const model = { provider: "p", id: "m", contextWindow: cw };
        return {
          estimate: attempt(() => up.estimateContextTokens(pr.messages)),
          projected: attempt(() => up.estimateProjectedContextTokens(pr, branch())),
          perMessage: pr.messages.map((m) => attempt(() => up.estimateTokens(m))),
          lastAssistantUsage: attempt(() => up.getLastAssistantUsage(branch()) ?? null),
          contextUsage: cw === null ? null : attempt(() => session(model).getContextUsage() ?? null),
          shouldCompact: cw === null ? null : attempt(() => session(model)._exceedsCompactionThreshold(model, pr)),
        };
      }
      case "compaction_prepare": {
        moveLeaf();
        const p = attempt(branch);
        if (isThrows(p)) return THROWS;
        const prep = attempt(() => up.prepareCompaction(p, compaction()));
        if (isThrows(prep)) return THROWS;
        if (!prep) return { prepared: false };
        const lists = up.computeFileLists(prep.fileOps);
        const ser = (ms) => textStats(attempt(() => up.serializeConversation(up.convertToLlm(ms))));
        const out = {
          prepared: true,
          firstKeptEntryId: prep.firstKeptEntryId,
          isSplitTurn: prep.isSplitTurn,
          tokensBefore: prep.tokensBefore,
          previousSummary: prep.previousSummary ?? null,
          messagesToSummarize: show(prep.messagesToSummarize, mode),
          turnPrefixMessages: show(prep.turnPrefixMessages, mode),
          fileOps: ops(prep.fileOps),
          readFiles: lists.readFiles,
          modifiedFiles: lists.modifiedFiles,
          fileSection: up.formatFileOperations(lists.readFiles, lists.modifiedFiles),
          historyText: ser(prep.messagesToSummarize),
          turnPrefixText: ser(prep.turnPrefixMessages),
        };
        if (typeof s.summary === "string") {
          out.after = attempt(() => {
            const id = sm.appendCompaction(s.summary + out.fileSection, prep.firstKeptEntryId, prep.tokensBefore, lists, false);
            const pr = sm.buildSessionProjection();
            return {
              entry: digestOne(sm.getEntry(id)),
              messages: show(pr.messages, "digest"),
              projected: attempt(() => up.estimateProjectedContextTokens(pr, sm.getBranch())),
            };
          });
        }
        return out;
      }
      case "compaction_check": {
        moveLeaf();
        const pr = attempt(projection);
        if (isThrows(pr)) return THROWS;
        const index = pr.messages.findLastIndex((m) => m?.role === "assistant");
        if (index < 0) return { index: null };
        const m = pr.messages[index];
        const model = { provider: m.provider, id: m.model, contextWindow: s.contextWindow, maxTokens: s.maxTokens ?? 0, ...(s.model ?? {}) };
        const o = session(model);
        let failed = null;
        let action = null;
        o._overflowRecoveryAttempted = s.recoveryAttempted === true;
        o._emit = (e) => {
          if (e.type === "compaction_end") failed = e.errorMessage ?? null;
        };
        o._emitSessionCompactFailed = async () => {};
        o._runAutoCompaction = async (reason, willRetry) => {
          action = { reason, willRetry };
          return false;
        };
        const before = sm.getEntries().length;
        const last = o.agent.state.messages.findLast((x) => x?.role === "assistant");
        try {
          await o._checkCompaction(last, s.prePrompt !== true);
        } catch (e) {
          throwLog.push(`${e?.name}: ${e?.message}`);
          return THROWS;
        }
        return { index, action, failed, appended: show(sm.getEntries().slice(before), "full") };
      }
      case "branch_prepare": {
        const from = Object.hasOwn(s, "from") ? s.from : sm.getLeafId();
        const col = attempt(() => up.collectEntriesForBranchSummary(sm, from, s.target));
        if (isThrows(col)) return THROWS;
        const budget = typeof s.contextWindow === "number" ? (s.contextWindow || 128000) - (s.reserveTokens ?? 16384) : 0;
        const prep = attempt(() => up.prepareBranchEntries(col.entries, budget));
        if (isThrows(prep)) return THROWS;
        const lists = up.computeFileLists(prep.fileOps);
        return {
          commonAncestorId: col.commonAncestorId,
          entries: col.entries.map((e) => e.id),
          tokenBudget: budget,
          totalTokens: prep.totalTokens,
          messages: show(prep.messages, mode),
          fileOps: ops(prep.fileOps),
          fileSection: up.formatFileOperations(lists.readFiles, lists.modifiedFiles),
          text: textStats(attempt(() => up.serializeConversation(up.convertToLlm(prep.messages)))),
        };
      }
      case "append_branch": {
        moveLeaf();
        const old = fs.readFileSync(file);
        const steps = s.steps.map((st) => attempt(() => applyStep(sm, st) ?? null));
        const now = fs.readFileSync(file);
        const tail = now.subarray(old.length).toString("utf8");
        const again = up.SessionManager.open(file);
        const pr = attempt(() => again.buildSessionProjection());
        return {
          opening,
          steps,
          prefixUnchanged: now.subarray(0, old.length).equals(old),
          tail: textStats(tail),
          appended: show(tail.split("\n").filter(Boolean).map((l) => JSON.parse(l)), mode),
          leafId: sm.getLeafId() ?? null,
          reopenedLeafId: again.getLeafId() ?? null,
          context: isThrows(pr) ? THROWS : show(pr.messages, "digest"),
        };
      }
      case "overflow_match": {
        const res = {};
        if (Array.isArray(s.errorMessages))
          res.strings = s.errorMessages.map((t) => up.isContextOverflow({ role: "assistant", stopReason: "error", errorMessage: t, provider: s.provider }));
        if (sm) {
          const pr = attempt(projection);
          if (isThrows(pr)) return THROWS;
          res.assistants = pr.messages
            .map((m, index) => ({ m, index }))
            .filter(({ m }) => m?.role === "assistant")
            .map(({ m, index }) => ({
              index,
              stopReason: m.stopReason ?? null,
              overflow: attempt(() => up.isContextOverflow(m, s.contextWindow)),
              recoverableLength: attempt(() => up.isRecoverableLength(m, s.maxTokens ?? 0)),
            }));
        }
        return res;
      }
      default:
        throw new Error(`unknown op ${c.op}`);
    }
  })();
  if (tmp) fs.rmSync(tmp, { recursive: true, force: true });
  return result;
}

const caseRoot = (f) => path.dirname(path.dirname(path.resolve(f)));
const readCase = (f) => JSON.parse(fs.readFileSync(f, "utf8"));

async function main() {
  const args = process.argv.slice(2);
  const up = await loadUpstream();
  installDeterminism();
  if (args[0] === "--stats") {
    for (const f of args.slice(1)) {
      const tmp = fs.mkdtempSync(path.join(os.tmpdir(), "session-oracle-run-"));
      fs.copyFileSync(f, path.join(tmp, "s.jsonl"));
      idCounter = 0;
      const sm = up.SessionManager.open(path.join(tmp, "s.jsonl"));
      const pr = sm.buildSessionProjection();
      console.log(`${path.basename(f)}: entries=${sm.getEntries().length} contextMessages=${pr.messages.length} estimate=${JSON.stringify(up.estimateContextTokens(pr.messages))} projected=${JSON.stringify(up.estimateProjectedContextTokens(pr, sm.getBranch()))} model=${JSON.stringify(pr.model)}`);
      fs.rmSync(tmp, { recursive: true, force: true });
    }
    return;
  }
  if (args[0] === "--batch") {
    const root = path.resolve(args[1]);
    const names = fs.readdirSync(path.join(root, "cases")).filter((n) => n.endsWith(".json") && (!args[2] || n.includes(args[2]))).sort();
    fs.mkdirSync(path.join(root, "expected"), { recursive: true });
    for (const name of names) {
      const c = readCase(path.join(root, "cases", name));
      const r = await runCase(up, c, root);
      if (throwLog.length) console.error(`${name}: upstream threw: ${[...new Set(throwLog)].slice(0, 3).join(" | ")}`);
      fs.writeFileSync(path.join(root, "expected", name), `${pretty({ op: c.op, result: r })}\n`);
    }
    console.error(`${names.length} expected outputs written`);
    return;
  }
  const c = readCase(args[0]);
  const r = await runCase(up, c, caseRoot(args[0]));
  if (throwLog.length) console.error(`upstream threw: ${throwLog.join(" | ")}`);
  process.stdout.write(`${pretty({ op: c.op, result: r })}\n`);
}
rerunUnderNewerNode(import.meta.url);
main().then(
  () => process.exit(0),
  (e) => {
    console.error(e);
    process.exit(2);
  },
);
