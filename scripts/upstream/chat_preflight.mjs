// Asks a release's check before a chat turn: whether it compacts the session first, and which numbers it compares.
// The function itself is the release's; replaced is only what it calls to compact, the lookups of other backends, and from
// 2026.8.1 on the database, whose events are those of the case's transcript.
import fs from "node:fs";
import path from "node:path";

const state = { plan: undefined, lines: [], calls: [], events: [], truncate: undefined };
globalThis.__chatPreflight = state;

const COMPACT = "async (p) => { __chatPreflight.calls.push(p); return { ok: true, compacted: false, reason: 'nothing to compact' }; }";
const STUBS = {
  logVerbose: "(line) => __chatPreflight.lines.push(line)",
  memoryDeps: `new Proxy({}, { get: () => ${COMPACT} })`,
  compactEmbeddedAgentSession: COMPACT,
  resolveMemoryFlushPlan: "(p) => __chatPreflight.plan(p)",
  toolResultTruncationRuntimeLoader: "{ load: async () => ({ truncateOversizedToolResultsInMessages: __chatPreflight.truncate }) }",
  // No command-line program and no other backend runs the model.
  isCliProvider: "() => false",
  followupUsesCliRuntime: "() => false",
  followupUsesCodexRuntime: "() => false",
  followupOwnsNativeCompaction: "() => false",
  resolveFollowupAgentRuntimeId: "() => 'pi'",
  resolveFollowupContextConfigProvider: "(p) => p.followupRun.run.provider",
  resolveContextConfigProviderForRuntime: "(p) => p.provider",
  ensureContextWindowCacheLoaded: "async () => {}",
  findModelInCatalog: "() => undefined",
  normalizeStaticProviderModelId: "(p, m) => m",
  resolveBundledPluginsDir: "() => undefined",
  loadConfig: "() => ({})",
  getRuntimeConfig: "() => ({})",
  VERSION: "'0'",
  deps: "{}",
};
for (const name of [
  "appendPostCompactionRefreshPrompt", "incrementCompactionCount", "persistSessionResetLifecycle", "updateSessionStore", "updateSessionStoreEntry",
  "updateSessionEntry", "persistCompactionBoundaryWithSessionEntrySync", "refreshQueuedFollowupSession", "createSessionMaintenanceFollowup", "loadSessionStore",
]) STUBS[name] = "() => ({})";
STUBS.startFollowupRunPreAdoptionHeartbeat = "() => () => {}";
const DATABASE = {
  // Lives in another package.
  resolveResponsesServerCompactionThreshold: "() => undefined",
  resolveSessionStorePathForScope: "(p) => p.storePath",
  resolveSessionStorePathCore: "() => '/store'",
  readSessionTranscriptActiveStats: "() => ({ eventCount: __chatPreflight.events.length, sizeBytes: 0 })",
  withRecentSessionTranscriptActiveEvents: "(scope, most, read) => read((visit) => __chatPreflight.events.slice(-most).reverse().forEach((e) => visit(e)))",
  readRecentSessionTranscriptActiveEvents: "(scope, most) => __chatPreflight.events.slice(-most)",
  readSessionMessagesAsync: "async () => __chatPreflight.events.flatMap((e) => (e.message ? [e.message] : []))",
};
const MEMORY = "auto-reply/reply/agent-runner-memory\\.ts";

/** Loads the check of the release in `dist`. `Shaker` cuts functions out of a bundle. */
export async function loadChatPreflight(Shaker, dist, { siblings, replace, hasDatabase }) {
  const shaker = new Shaker(dist, { ...replace, ...STUBS, ...(hasDatabase ? DATABASE : {}) });
  shaker.siblings = siblings;
  const { session, run = session, truncate } = await shaker.load({
    run: [MEMORY, "runPreflightCompactionIfNeeded"],
    session: [MEMORY, "runSessionCompactionIfNeeded"],
    ...(hasDatabase ? { truncate: ["tool-result-truncation\\.ts", "truncateOversizedToolResultsInMessages"] } : {}),
  });
  const plugin = new Shaker(dist, { resolveBundledPluginsDir: "() => undefined", loadConfig: "() => ({})", getRuntimeConfig: "() => ({})", ...replace });
  plugin.siblings = siblings;
  plugin.list = [path.join(dist, "extensions", "memory-core", "index.js")];
  const { plan } = await plugin.load({ plan: ["extensions/memory-core/", "buildMemoryFlushPlan"] });
  return { run, truncate, plan, hasDatabase };
}

/** Asks it a case. `folder` holds `s.jsonl` where the case has a transcript; `branch` are the entries of its path. */
export async function askChatPreflight(check, settings, folder, branch) {
  Object.assign(state, { plan: check.plan, truncate: check.truncate, lines: [], calls: [], events: branch });
  const provider = settings.provider ?? "example";
  const model = { id: "model", name: "model", contextWindow: settings.contextWindow, ...(settings.modelContextTokens ? { contextTokens: settings.modelContextTokens } : {}) };
  const compaction = settings.compaction ?? {};
  const cfg = {
    models: { providers: { [provider]: { models: [model], ...(settings.providerParams ? { params: settings.providerParams } : {}) } } },
    agents: { defaults: { compaction, ...(settings.agentContextTokens ? { contextTokens: settings.agentContextTokens } : {}) } },
  };
  const entry = { sessionId: "s", ...(check.hasDatabase ? {} : { sessionFile: path.join(folder, "s.jsonl") }), ...(settings.row ?? {}) };
  const sessionKey = "agent:main:main";
  const run = { provider, model: "model", sessionId: "s", sessionKey, sessionFile: path.join(folder, "s.jsonl"), config: cfg, agentId: "main" };
  const turn = {
    cfg, sessionKey, sessionEntry: entry, sessionStore: { [sessionKey]: entry }, storePath: path.join(folder, "sessions.json"),
    followupRun: { run, prompt: settings.prompt ?? "" }, defaultModel: "model", agentCfgContextTokens: cfg.agents.defaults.contextTokens,
    isHeartbeat: settings.heartbeat === true, replyOperation: { setPhase() {}, updateSessionId() {}, abortSignal: undefined },
  };
  try {
    await check.run(turn);
  } catch (error) {
    // Some releases refuse the turn when the compaction that they asked for did nothing.
    if (state.calls.length === 0) throw error;
  }
  const line = state.lines.find((text) => text.startsWith("preflightCompaction check")) ?? "";
  const number = (key) => {
    const text = new RegExp(` ${key}=(-?[\\d.e+]+)`).exec(line)?.[1];
    return text === undefined ? null : Number(text);
  };
  const compacts = state.calls.length > 0;
  const threshold = number("threshold");
  // Nothing is compared with a threshold of 0 or less, and a heartbeat's total with none.
  if (!(threshold > 0) || settings.heartbeat === true) return { compacts, window: null, threshold: null, promptTokens: null, total: null };
  return { compacts, window: number("contextWindow"), threshold, promptTokens: number("promptTokensEst"), total: number("tokenCount") || null };
}
