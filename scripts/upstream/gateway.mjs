#!/usr/bin/env node
// Asks a release of the gateway the questions of tests/golden-releases/README.md.
//   node gateway.mjs --release 2026.4.15 CASE.json
//   node gateway.mjs --release 2026.4.15 --batch ROOT [TEXT]
// What an op needs is cut out of the package (cut.mjs).
process.env.TZ = "UTC";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";
import { canon, pretty } from "./canonical.mjs";
import { Shaker } from "./cut.mjs";
import { atLeast, cached, ensureGateway, ensurePacked, install } from "./packages.mjs";
import { askChatPreflight, loadChatPreflight } from "./chat_preflight.mjs";

const READER = "0.55.3"; // the runtime that opens the transcripts, whatever the release
const DEFAULT_NOW = 1700000000000;
function ensureReader() {
  const packages = ["pi-coding-agent", "pi-ai", "pi-agent-core", "pi-tui"].map((name) => `@mariozechner/${name}@${READER}`);
  return path.join(cached(`pi-${READER}`, (dir) => install(dir, packages)), "node_modules", "@mariozechner");
}

const HOOKS = "(?:pi-extensions|pi-hooks|agent-hooks)/context-pruning/";
const RUN = "(?:pi-embedded-runner|embedded-agent-runner)/";
const WANTED = {
  computeEffectiveSettings: [`${HOOKS}settings\\.ts`, "computeEffectiveSettings"],
  makeToolPrunablePredicate: [`${HOOKS}tools\\.ts`, "makeToolPrunablePredicate"],
  pruneContextMessages: [`${HOOKS}pruner\\.ts`, "pruneContextMessages"],
  prunerMessageChars: [`${HOOKS}pruner\\.ts`, "estimateMessageChars"],
  contextPruningExtension: [`${HOOKS}extension\\.ts`, "contextPruningExtension"],
  setContextPruningRuntime: [`${HOOKS}runtime\\.ts`, "setContextPruningRuntime"],
  isCacheTtlEligibleProvider: [`${RUN}cache-ttl\\.ts`, "isCacheTtlEligibleProvider"],
  readLastCacheTtlTimestamp: [`${RUN}cache-ttl\\.ts`, "readLastCacheTtlTimestamp"],
  truncateToolResultMessage: [`${RUN}tool-result-truncation\\.ts`, "truncateToolResultMessage"],
  calculateMaxToolResultChars: [`${RUN}tool-result-truncation\\.ts`, "calculateMaxToolResultChars"],
  sessionLikelyHasOversizedToolResults: [`${RUN}tool-result-truncation\\.ts`, "sessionLikelyHasOversizedToolResults"],
  estimateToolResultReductionPotential: [`${RUN}tool-result-truncation\\.ts`, "estimateToolResultReductionPotential"],
  buildToolResultReplacementPlan: [`${RUN}tool-result-truncation\\.ts`, "buildToolResultReplacementPlan"],
  applyToolResultReplacementsToBranch: [`${RUN}tool-result-truncation\\.ts`, "applyToolResultReplacementsToBranch"],
  calculateRecoveryAggregateToolResultChars: [`${RUN}tool-result-truncation\\.ts`, "calculateRecoveryAggregateToolResultChars"],
  resolveToolResultBudgets: [`${RUN}tool-result-truncation\\.ts`, "resolveToolResultBudgets"],
  resolveCacheTtlPruningSettings: [`${RUN}tool-result-truncation\\.ts`, "resolveCacheTtlPruningSettings"],
  pruneExpiredCacheTtlToolResults: [`${RUN}tool-result-truncation\\.ts`, "pruneExpiredCacheTtlToolResults"],
  createToolResultPromptProjectionState: [`${RUN}session-prompt-state\\.ts`, "createToolResultPromptProjectionState"],
  cacheTtlMessageChars: [`${RUN}tool-result-truncation\\.ts`, "cacheTtlMessageChars"],
  installToolResultContextGuard: [`${RUN}tool-result-context-guard\\.ts`, "installToolResultContextGuard"],
  shouldPreemptivelyCompactBeforePrompt: [`${RUN}run/preemptive-compaction\\.ts`, "shouldPreemptivelyCompactBeforePrompt"],
  applyPiCompactionSettingsFromConfig: ["agents/pi-settings\\.ts", "applyPiCompactionSettingsFromConfig"],
  applyAgentCompactionSettingsFromConfig: ["agents/agent-settings\\.ts", "applyAgentCompactionSettingsFromConfig"],
  limitHistoryTurns: [`${RUN}history\\.ts`, "limitHistoryTurns"],
  pruneProcessedHistoryImages: [`${RUN}run/history-image-prune\\.ts`, "pruneProcessedHistoryImages"],
  resolveContextWindowInfo: ["agents/context-window-guard\\.ts", "resolveContextWindowInfo"],
  evaluateContextWindowGuard: ["agents/context-window-guard\\.ts", "evaluateContextWindowGuard"],
  isContextOverflowError: ["(?:(?:embedded|embedded-agent)-helpers/errors|failover/context-overflow)\\.ts", "isContextOverflowError"],
  isLikelyContextOverflowError: ["(?:(?:embedded|embedded-agent)-helpers/errors|failover/context-overflow)\\.ts", "isLikelyContextOverflowError"],
  isCompactionFailureError: ["(?:embedded|embedded-agent)-helpers/(?:errors|context-overflow-observation)\\.ts", "isCompactionFailureError"],
  isRateLimitErrorMessage: ["(?:(?:embedded|embedded-agent)-helpers/(?:errors|failover-matches)|failover/message-patterns)\\.ts", "isRateLimitErrorMessage"],
  repairToolUseResultPairing: ["agents/session-transcript-repair\\.ts", "repairToolUseResultPairing"],
  estimateTokens: ["agent-core/src/harness/compaction/compaction\\.ts", "estimateTokens"],
  estimateContextTokens: ["agent-core/src/harness/compaction/compaction\\.ts", "estimateContextTokens"],
  shouldCompact: ["agent-core/src/harness/compaction/compaction\\.ts", "shouldCompact"],
  ownOverflow: ["llm/utils/overflow\\.ts", "isContextOverflow"],
};
const PI_WANTED = {
  estimateTokens: ["core/compaction/compaction", "estimateTokens"],
  estimateContextTokens: ["core/compaction/compaction", "estimateContextTokens"],
  shouldCompact: ["core/compaction/compaction", "shouldCompact"],
};
async function loadRelease(v) {
  const nm = ensureReader();
  const url = (p) => pathToFileURL(path.join(nm, p)).href;
  const pkg = ensureGateway(v);
  const shaker = new Shaker(path.join(pkg, "dist"), {
    "pkg:@mariozechner/pi-coding-agent": url("pi-coding-agent/dist/core/compaction/compaction.js"),
    "pkg:@earendil-works/pi-coding-agent": url("pi-coding-agent/dist/core/compaction/compaction.js"),
  });
  const deps = JSON.parse(fs.readFileSync(path.join(pkg, "package.json"), "utf8")).dependencies ?? {};
  if (deps.ms) shaker.replace["pkg:ms"] = pathToFileURL(path.join(ensurePacked("ms", deps.ms, `ms-${deps.ms}`, ["package/index.js"]), "index.js")).href;
  if (deps["@openclaw/ai"]) shaker.siblings = ensurePacked("@openclaw/ai", deps["@openclaw/ai"], `openclaw-ai-${deps["@openclaw/ai"]}`);
  const oc = await shaker.load(WANTED);
  const scope = ["@mariozechner", "@earendil-works"].find((s) => deps[`${s}/pi-coding-agent`]);
  let own = { estimateTokens: oc.estimateTokens, estimateContextTokens: oc.estimateContextTokens, shouldCompact: oc.shouldCompact, isContextOverflow: oc.ownOverflow };
  if (scope) {
    const pv = deps[`${scope}/pi-coding-agent`];
    const agent = ensurePacked(`${scope}/pi-coding-agent`, pv, `pi-coding-agent-${pv}`);
    const ai = ensurePacked(`${scope}/pi-ai`, pv, `pi-ai-${pv}`);
    own = {
      ...(await new Shaker(path.join(agent, "dist")).load(PI_WANTED)),
      ...(await import(pathToFileURL(path.join(ai, "dist", "utils", "overflow.js")).href)),
    };
  }
  if (oc.pruneExpiredCacheTtlToolResults && !oc.pruneContextMessages) {
    // from 2026.8.1 on: no settings object; what left the configuration is fixed, and shown as the keys it had
    oc.computeEffectiveSettings = (raw) => {
      const own = raw && typeof raw === "object" ? oc.resolveCacheTtlPruningSettings(raw) : undefined;
      if (!own) return null;
      return {
        mode: "cache-ttl", ttlMs: own.ttlMs, keepLastAssistants: 3, softTrimRatio: 0.3, hardClearRatio: 0.5, minPrunableToolChars: 50000, tools: raw.tools ?? {},
        softTrim: { maxChars: 4000, headChars: 1500, tailChars: 1500 }, hardClear: { enabled: own.hardClear, placeholder: own.placeholder }, own: () => own,
      };
    };
    oc.makeToolPrunablePredicate = (tools) => oc.resolveCacheTtlPruningSettings({ mode: "cache-ttl", tools }).isToolPrunable;
    oc.prunerMessageChars = oc.cacheTtlMessageChars;
    const expire = (params) =>
      oc.pruneExpiredCacheTtlToolResults({ ...params, projectionState: oc.createToolResultPromptProjectionState?.(), pruneNewRounds: true });
    oc.pruneContextMessages = ({ messages, settings, ctx, contextWindowTokensOverride, dropThinkingBlocksForEstimate }) =>
      expire({
        messages, settings: { ...settings.own(), ttlMs: 1 }, lastCacheTouchAt: 1, now: 3,
        contextWindowTokens: contextWindowTokensOverride ?? ctx.model?.contextWindow, dropThinkingBlocksForEstimate,
      });
    // No extension: the run itself transforms its context.
    const runtime = new Map();
    oc.setContextPruningRuntime = (session, given) => runtime.set(session, given);
    oc.contextPruningExtension = ({ on }) =>
      on("context", ({ messages }, { sessionManager }) => {
        const { settings, contextWindowTokens, lastCacheTouchAt } = runtime.get(sessionManager);
        const out = expire({ messages, settings: settings.own(), contextWindowTokens, lastCacheTouchAt, now: Date.now() });
        return out === messages ? undefined : { messages: out };
      });
  }
  const pi = {
    ...(await import(url("pi-coding-agent/dist/core/session-manager.js"))),
    DEFAULT_COMPACTION_SETTINGS: { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 },
  };
  let check;
  // This check also opens sessions through the runtime.
  const wholeRuntime = Object.fromEntries(["@mariozechner", "@earendil-works"].map((s) => [`pkg:${s}/pi-coding-agent`, url("pi-coding-agent/dist/index.js")]));
  const chatPreflight = () =>
    (check ??= loadChatPreflight(Shaker, path.join(pkg, "dist"), { siblings: shaker.siblings, replace: { ...shaker.replace, ...wholeRuntime }, hasDatabase: atLeast(v, "2026.8.1") }));
  return { v, oc, own, pi, chatPreflight, texts: shaker.texts };
}

// The options that a release passes where it pairs the list for the model, as far as its text has them.
function pairingOptions(texts, missingToolResultText) {
  const says = (words) => [...texts.values()].some((text) => text.includes(words));
  return {
    ...(says('erroredAssistantResultPolicy: "drop"') ? { erroredAssistantResultPolicy: "drop" } : {}),
    ...(missingToolResultText && says('missingToolResultText: "aborted"') ? { missingToolResultText } : {}),
  };
}

// ---------------------------------------------------------------- determinism, canonical JSON
const RealDate = Date;
let NOW = DEFAULT_NOW;
let idCounter = 0;
function installDeterminism() {
  globalThis.Date = class extends RealDate {
    constructor(...a) { if (a.length === 0) super(NOW); else super(...a); }
    static now() { return NOW; }
  };
  crypto.randomUUID = () => `g${String(++idCounter).padStart(7, "0")}-0000-4000-8000-000000000000`;
  syncBuiltinESMExports();
}
const sha = (s) => crypto.createHash("sha256").update(s, "utf8").digest("hex");
const THROWS = { throws: true };
const throwLog = [];
function attempt(fn) {
  try { return fn(); } catch (e) { throwLog.push(`${e?.name}: ${e?.message}`); return THROWS; }
}
const isThrows = (v) => v === THROWS;
function show(list, mode) {
  if (isThrows(list) || mode !== "digest") return list;
  return list.map((m) => {
    const c = canon(m);
    const kind = m && typeof m === "object" ? (typeof m.role === "string" ? m.role : m.type) : undefined;
    return { sha256: sha(c), bytes: Buffer.byteLength(c, "utf8"), ...(typeof kind === "string" ? { kind } : {}) };
  });
}

// ---------------------------------------------------------------- ops
class Unsupported extends Error {}
async function runCase(up, c, root) {
  const { oc, own, pi } = up;
  const s = c.settings ?? {};
  const mode = c.output ?? "full";
  NOW = typeof s.now === "number" ? s.now : DEFAULT_NOW;
  idCounter = 0;
  throwLog.length = 0;
  const must = (...names) => {
    const none = names.filter((n) => typeof oc[n] !== "function");
    if (none.length) throw new Unsupported(`${up.v} has no ${none.join(", ")}`);
  };
  let sm = null;
  let tmp = null;
  try {
    if (c.transcript) {
      tmp = fs.mkdtempSync(path.join(os.tmpdir(), "session-oracle-run-"));
      fs.copyFileSync(path.join(root, c.transcript), path.join(tmp, "s.jsonl"));
      sm = pi.SessionManager.open(path.join(tmp, "s.jsonl"));
    }
    const leaf = Object.hasOwn(c, "leaf") ? c.leaf : undefined;
    const context = sm ? (leaf === undefined ? sm.buildSessionContext() : pi.buildSessionContext(sm.getEntries(), leaf, new Map(sm.byId))) : { messages: [] };
    const messages = structuredClone(context.messages);
    const fresh = () => structuredClone(messages);
    const changed = (out) => out.map((m, i) => (m !== messages[i] ? i : -1)).filter((i) => i >= 0);
    switch (c.op) {
      case "tokens": {
        must("prunerMessageChars");
        const est = attempt(() => own.estimateContextTokens(messages));
        const chars = messages.map((m) => attempt(() => oc.prunerMessageChars(m)));
        const usage = messages.filter((m) => m?.role === "assistant" && m.usage && m.stopReason !== "error" && m.stopReason !== "aborted").pop()?.usage;
        return {
          estimate: est,
          perMessage: messages.map((m) => attempt(() => own.estimateTokens(m))),
          prunerChars: chars,
          prunerCharsTotal: chars.some(isThrows) ? THROWS : chars.reduce((a, b) => a + b, 0),
          lastAssistantUsage: usage ?? null,
          shouldCompact: isThrows(est) || typeof s.contextWindow !== "number" ? null : own.shouldCompact(est.tokens, s.contextWindow, { ...pi.DEFAULT_COMPACTION_SETTINGS, ...(s.compaction ?? {}) }),
        };
      }
      case "history_limit": {
        must("limitHistoryTurns");
        const out = attempt(() => oc.limitHistoryTurns(messages, s.limit));
        return isThrows(out) ? THROWS : { limit: s.limit ?? null, before: messages.length, after: out.length, messages: show(out, mode) };
      }
      case "prune": {
        must("computeEffectiveSettings", "pruneContextMessages", "prunerMessageChars");
        const effective = attempt(() => oc.computeEffectiveSettings(s.contextPruning));
        if (isThrows(effective)) return THROWS;
        const total = (list) => attempt(() => list.reduce((a, m) => a + oc.prunerMessageChars(m), 0));
        const res = { effective, before: total(messages) };
        const window = typeof s.contextWindow === "number" ? s.contextWindow : undefined;
        let out = messages;
        if (s.gate) {
          must("contextPruningExtension", "readLastCacheTtlTimestamp", "isCacheTtlEligibleProvider");
          const { provider, modelId, modelApi } = s.gate;
          res.active = Boolean(effective) && oc.isCacheTtlEligibleProvider(provider, modelId, modelApi);
          if (res.active) {
            oc.setContextPruningRuntime(sm, {
              settings: effective,
              contextWindowTokens: oc.resolveContextWindowInfo({ cfg: s.cfg, provider, modelId, modelContextWindow: window, defaultTokens: 200000 }).tokens,
              isToolPrunable: oc.makeToolPrunablePredicate(effective.tools),
              lastCacheTouchAt: oc.readLastCacheTtlTimestamp(sm, { provider, modelId }),
            });
            let handler = null;
            oc.contextPruningExtension({ on: (_n, h) => { handler = h; } });
            const r = attempt(() => handler({ messages }, { sessionManager: sm, model: undefined }));
            res.fired = isThrows(r) ? THROWS : r !== undefined;
            out = isThrows(r) ? THROWS : r?.messages ?? messages;
          }
        } else if (effective) {
          const names = [...new Set(messages.filter((m) => m?.role === "toolResult").map((m) => m.toolName))];
          const pred = oc.makeToolPrunablePredicate(effective.tools);
          res.prunable = Object.fromEntries(names.map((n) => [String(n), attempt(() => pred(n))]));
          out = attempt(() =>
            oc.pruneContextMessages({
              messages, settings: effective, ctx: { model: window === undefined ? undefined : { contextWindow: window } },
              contextWindowTokensOverride: s.contextWindowOverride,
              ...(s.dropThinking === undefined ? {} : { dropThinkingBlocksForEstimate: s.dropThinking }),
            }));
        }
        if (isThrows(out)) return { ...res, changed: THROWS, messages: THROWS };
        return { ...res, changed: out !== messages, changedIndexes: changed(out), after: total(out), messages: show(out, mode) };
      }
      case "truncate": {
        must("truncateToolResultMessage", "calculateMaxToolResultChars");
        const maxChars = typeof s.maxChars === "number" ? s.maxChars : oc.calculateMaxToolResultChars(s.contextWindow);
        const opt = {};
        if (typeof s.suffix === "string") opt.suffix = s.suffix;
        if (typeof s.minKeepChars === "number") opt.minKeepChars = s.minKeepChars;
        const out = messages.map((m) => (m?.role === "toolResult" ? attempt(() => oc.truncateToolResultMessage(m, maxChars, opt)) : m));
        const likely = oc.sessionLikelyHasOversizedToolResults;
        return {
          maxChars,
          likelyOversized: typeof s.contextWindow === "number" && likely ? attempt(() => likely({ messages, contextWindowTokens: s.contextWindow })) : null,
          changedIndexes: changed(out),
          messages: show(out, mode),
        };
      }
      case "reduce": {
        // what recovery (and, later, every prompt) takes from tool results: single ones first, then all together
        must("buildToolResultReplacementPlan", "applyToolResultReplacementsToBranch");
        const maxChars = Math.max(1, s.maxChars ?? oc.calculateMaxToolResultChars(s.contextWindow));
        const aggregateBudgetChars = s.aggregateMaxChars ?? (oc.calculateRecoveryAggregateToolResultChars
          ? oc.calculateRecoveryAggregateToolResultChars(s.contextWindow, maxChars)
          : oc.resolveToolResultBudgets({ contextWindowTokens: s.contextWindow, maxCharsOverride: maxChars }).aggregateBudgetChars);
        const branch = messages.map((message, i) => ({ id: `message-${i}`, type: "message", message }));
        const plan = oc.buildToolResultReplacementPlan({ branch, maxChars, aggregateBudgetChars, minKeepChars: 0, ...(s.protectTrailing ? { protectTrailingToolResults: true } : {}) });
        const applied = plan.branch ?? oc.applyToolResultReplacementsToBranch(branch, plan.replacements);
        const out = (applied.branch ?? applied).map((e) => e.message);
        return {
          maxChars, aggregateBudgetChars,
          oversizedCount: plan.oversizedReplacementCount, aggregateCount: plan.aggregateReplacementCount,
          oversizedReducibleChars: plan.oversizedReducibleChars ?? null, aggregateReducibleChars: plan.aggregateReducibleChars ?? null,
          changedIndexes: changed(out), messages: show(out, mode),
        };
      }
      case "guard": {
        must("installToolResultContextGuard");
        const agent = {};
        oc.installToolResultContextGuard({ agent, contextWindowTokens: s.contextWindow });
        const given = fresh();
        const before = messages.map(canon);
        let out;
        try { out = await agent.transformContext(given, undefined); } catch (e) {
          if (!/overflow/i.test(String(e?.message))) { throwLog.push(String(e?.message)); return THROWS; }
          return { overflow: true, text: e.message };
        }
        return { overflow: false, changedIndexes: out.map((m, i) => (canon(m) !== before[i] ? i : -1)).filter((i) => i >= 0), messages: show(out, mode) };
      }
      case "preflight": {
        must("shouldPreemptivelyCompactBeforePrompt");
        const r = oc.shouldPreemptivelyCompactBeforePrompt({
          messages, systemPrompt: s.systemPrompt, prompt: s.prompt ?? "", contextTokenBudget: s.contextWindow, reserveTokens: s.reserveTokens,
          ...(s.maxChars === undefined ? {} : { toolResultMaxChars: s.maxChars }),
        });
        return {
          route: r.route, estimatedPromptTokens: r.estimatedPromptTokens, promptBudgetBeforeReserve: r.promptBudgetBeforeReserve, overflowTokens: r.overflowTokens,
          toolResultReducibleChars: r.toolResultReducibleChars, effectiveReserveTokens: r.effectiveReserveTokens ?? null,
        };
      }
      case "chat_preflight": {
        const check = await up.chatPreflight();
        if (!check.run || !check.plan) throw new Unsupported(`${up.v} has no check before a chat turn`);
        return await askChatPreflight(check, s, tmp ?? path.join(os.tmpdir(), "session-oracle-none"), sm ? sm.getBranch() : []);
      }
      case "reserve": {
        const apply = oc.applyPiCompactionSettingsFromConfig ?? oc.applyAgentCompactionSettingsFromConfig;
        if (!apply) throw new Unsupported(`${up.v} has no settings from config`);
        const set = { reserveTokens: 16384, keepRecentTokens: 20000, ...(s.runtime ?? {}) };
        const settingsManager = { getCompactionReserveTokens: () => set.reserveTokens, getCompactionKeepRecentTokens: () => set.keepRecentTokens, applyOverrides: () => {} };
        const r = apply({ settingsManager, cfg: { agents: { defaults: { compaction: s.compaction } } }, contextTokenBudget: s.contextWindow });
        return { reserveTokens: r.compaction.reserveTokens, keepRecentTokens: r.compaction.keepRecentTokens };
      }
      case "repair": {
        // as the list for the model is paired
        must("repairToolUseResultPairing");
        const given = fresh();
        const options = s.forModel ? pairingOptions(up.texts, s.missingToolResultText) : {};
        const r = attempt(() => oc.repairToolUseResultPairing(given, options));
        if (isThrows(r)) return THROWS;
        return {
          pairing: {
            added: r.added.map(({ toolCallId, toolName }) => ({ toolCallId, toolName })),
            droppedDuplicateCount: r.droppedDuplicateCount, droppedOrphanCount: r.droppedOrphanCount, moved: r.moved, changed: r.messages !== given,
          },
          messages: show(r.messages, mode),
        };
      }
      case "history_images": {
        must("pruneProcessedHistoryImages");
        const list = fresh();
        const before = messages.map(canon);
        const r = oc.pruneProcessedHistoryImages(list);
        const out = Array.isArray(r) ? r : list;
        return { changedIndexes: out.map((m, i) => (canon(m) !== before[i] ? i : -1)).filter((i) => i >= 0), messages: show(out, mode) };
      }
      case "overflow_match": {
        must("isContextOverflowError", "isLikelyContextOverflowError", "isCompactionFailureError", "isRateLimitErrorMessage");
        const one = (t) => ({
          overflow: oc.isContextOverflowError(t),
          likely: oc.isLikelyContextOverflowError(t),
          compactionFailure: oc.isCompactionFailureError(t),
          rateLimit: oc.isRateLimitErrorMessage(t),
        });
        const runtime = (m, w) => (own.isContextOverflow ? { pi: attempt(() => own.isContextOverflow(m, w)) } : {});
        const res = {};
        if (Array.isArray(s.errorMessages)) res.strings = s.errorMessages.map((t) => ({ ...one(t), ...runtime({ role: "assistant", stopReason: "error", errorMessage: t }) }));
        if (sm)
          res.assistants = messages.map((m, index) => ({ m, index })).filter(({ m }) => m?.role === "assistant").map(({ m, index }) => ({
            index, stopReason: m.stopReason ?? null, ...(typeof m.errorMessage === "string" ? one(m.errorMessage) : {}), ...runtime(m, s.contextWindow),
          }));
        return res;
      }
      case "window": {
        must("resolveContextWindowInfo", "evaluateContextWindowGuard");
        const { cfg, provider, modelId, modelContextWindow, modelContextTokens, warnBelowTokens, hardMinTokens } = s;
        const info = attempt(() => oc.resolveContextWindowInfo({ cfg, provider, modelId, modelContextWindow, modelContextTokens, defaultTokens: s.defaultTokens ?? 200000 }));
        if (isThrows(info)) return THROWS;
        return {
          info,
          guard: oc.evaluateContextWindowGuard({ info, warnBelowTokens, hardMinTokens }),
          maxToolResultChars: oc.calculateMaxToolResultChars ? oc.calculateMaxToolResultChars(info.tokens) : null,
        };
      }
      default:
        throw new Error(`unknown op ${c.op}`);
    }
  } finally {
    if (tmp) fs.rmSync(tmp, { recursive: true, force: true });
  }
}

async function main() {
  const args = process.argv.slice(2);
  const at = args.indexOf("--release");
  if (at < 0) throw new Error("--release VERSION is needed");
  const [, version] = args.splice(at, 2);
  const up = await loadRelease(version);
  installDeterminism();
  if (args[0] === "--has") {
    console.log(Object.keys(WANTED).filter((k) => typeof up.oc[k] === "function").join(" "));
    console.log(`runtime: ${Object.keys(up.own).filter((k) => typeof up.own[k] === "function").join(" ")}`);
    return;
  }
  if (args[0] === "--batch") {
    const root = path.resolve(args[1]);
    const names = fs.readdirSync(path.join(root, "cases")).filter((n) => n.endsWith(".json") && (!args[2] || n.includes(args[2]))).sort();
    fs.mkdirSync(path.join(root, "expected"), { recursive: true });
    let n = 0;
    for (const name of names) {
      const c = JSON.parse(fs.readFileSync(path.join(root, "cases", name), "utf8"));
      try {
        const result = await runCase(up, c, root);
        if (throwLog.length) console.error(`${name}: upstream threw: ${[...new Set(throwLog)].slice(0, 3).join(" | ")}`);
        fs.writeFileSync(path.join(root, "expected", name), `${pretty({ op: c.op, result })}\n`);
        n++;
      } catch (e) {
        // This question is not answered; the others are. compare.mjs names it.
        console.error(`${name}: cannot be asked: ${e instanceof Unsupported ? e.message : e?.stack}`);
      }
    }
    console.error(`${version}: ${n} of ${names.length} answered`);
    return;
  }
  const c = JSON.parse(fs.readFileSync(args[0], "utf8"));
  const result = await runCase(up, c, path.dirname(path.dirname(path.resolve(args[0]))));
  if (throwLog.length) console.error(`upstream threw: ${throwLog.join(" | ")}`);
  process.stdout.write(`${pretty({ op: c.op, result })}\n`);
}
main().then(() => process.exit(0), (e) => { console.error(e); process.exit(2); });
