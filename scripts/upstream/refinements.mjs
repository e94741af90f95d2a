// Names the checks that a zod schema makes in code: a JSON schema cannot say them. Each is known by its text, and becomes a rule with
// its parameters that the validator has under the same name.

const quoted = (text) => JSON.parse(text.startsWith("'") ? `"${text.slice(1, -1).replace(/\\'/g, "'").replace(/"/g, '\\"')}"` : text);
const STRING = String.raw`("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`;
const words = (text) => quoted(new RegExp(`message: ${STRING}`).exec(text)[1]);

// A check that is one question about one value; its message is that of the schema.
const PREDICATES = [
  [/^function isSafeExecutableValue|=> isSafeExecutableValue\(value\)$/, "safe-executable"],
  [/isAbsolutePath\(value\)$|^isAbsolute\(path\)/, "absolute-path"],
  [/isValidFileSecretRefId/, "file-secret-id"],
  [/^function isValidNonNegativeByteSizeString/, "byte-size"],
  [/^\(value\) => typeof value === "string"$/, "string"],
  [/^\(value\) => value\.cdpPort \|\| value\.cdpUrl$/, "any-of", { k: ["cdpPort", "cdpUrl"] }],
  [/^\(value\) => value\.driver === "existing-session" \|\| (?:value\.driver === "extension" \|\| )?value\.cdpPort \|\| value\.cdpUrl$/, "any-of", { k: ["cdpPort", "cdpUrl"], u: ["existing-session", "extension"] }],
  [/protocol === "http:" \|\| .*protocol === "https:";? \}$/, "http-url"],
  [/^function isSafeRelativeModulePath/, "relative-module"],
  [/^function isSafeScpRemoteHost/, "ssh-host"],
  [/data\.max >= data\.min/, "ascending", { k: ["min", "max"] }],
  [/^\(value\) => value === value\.trim\(\)$/, "trimmed"],
  [/v === void 0 \|\| v\.trim\(\)\.length > 0/, "not-blank"],
];

// Channels: who may write under `open` and `allowlist`, for the channel and for each account.
function dmRules(text) {
  const variables = new Map([...text.matchAll(/const (\w+) = ((?:Array\.isArray\(account\.allowFrom\) \? account\.allowFrom : )?(?:(?:value|account)[\w.?]*)(?: \?\? (?:(?:value|account)[\w.?]*|"\w+"))*);/g)].map((m) => [m[1], m[2]]));
  const keys = (expression) =>
    (variables.get(expression) ?? expression).replace(/^Array\.isArray\(account\.allowFrom\) \? account\.allowFrom : /, "account.allowFrom ?? ").split(" ?? ")
      .filter((part) => /^(?:value|account)\./.test(part)).map((part) => part.replaceAll("?.", ".").replace(/^value\./, "").replace(/^account\./, "@"));
  const calls = new RegExp(String.raw`(?:require|enforce)(Open|Allowlist)(?:DmPolicy)?AllowFrom(?:Star)?\(\{ (?:policy|dmPolicy)(?:: ([\w.?]+))?, allowFrom(?:: ([\w.?]+))?, ctx,(?: path: \[([^\]]*)\],)? message: ${STRING}`, "g");
  return [...text.matchAll(calls)].map((call) => {
    const policy = keys(call[2] ?? "dmPolicy");
    const allow = keys(call[3] ?? "allowFrom");
    const account = policy.some((key) => key.startsWith("@"));
    const before = text.slice(text.lastIndexOf("Object.entries(value.accounts)", call.index), call.index);
    return { r: "dm", w: call[1] === "Open" ? "open" : "allowlist", k: policy, a: allow, ...(account && before.includes("account.enabled === false") ? { en: 1 } : {}), ...(call[4]?.includes("allowFromPath") ? { first: 1 } : {}), m: quoted(call[5]) };
  });
}

function inlineOpen(text) {
  if (!/^\(value, ctx\) => \{ if \(value\.dmPolicy !== "open"\)/.test(text)) return [];
  return [{ r: "dm", w: "open", k: ["dmPolicy"], a: ["allowFrom"], m: words(text) }];
}

function notBoth(text) {
  const own = new RegExp(`addAllowAlsoAllowConflictIssue\\(value, ctx, ${STRING}`).exec(text);
  if (own) return [{ r: "not-both", k: ["allow", "alsoAllow"], m: quoted(own[1]) }];
  return /^\(value, ctx\) => \{ if \(value\.allow && value\.allow\.length > 0 && value\.alsoAllow/.test(text) ? [{ r: "not-both", k: ["allow", "alsoAllow"], m: words(text) }] : [];
}

// Durations and sizes in texts.
function quantities(text) {
  const tries = new RegExp(String.raw`if \((?:val|value)\.([\w.?]+) !== (?:void 0|undefined)(?: && (?:val|value)\.[\w.?]+ !== (false))?\) (?:\{ )?try \{ (parseDurationMs|parseByteSize)\(.*?defaultUnit: "(\w+)".*?message: ${STRING}`, "g");
  return [...text.matchAll(tries)].map((m) => ({ r: m[3] === "parseByteSize" ? "size" : "duration", k: [m[1].replaceAll("?.", ".")], ...(m[2] ? { off: 1 } : {}), m: quoted(m[5]) }));
}

function secrets(text, path) {
  const out = [];
  if (/validateTelegramWebhookSecretRequirements|baseWebhookUrl/.test(text)) out.push({ r: "telegram-secret" });
  if (/validateSlackSigningSecretRequirements|signingSecret/.test(text)) out.push({ r: "slack-secret" });
  return out;
}

const WHOLE = [
  [(text) => text.includes("activeHours"), (text) => [{ r: "heartbeat", ...(/if \(!val\.every\)/.test(text) ? { w: "every" } : {}) }]],
  [(text) => /seccompProfile/.test(text), () => [{ r: "sandbox-docker" }]],
  [(text) => /browser network mode \\"host\\"/.test(text), () => [{ r: "sandbox-browser" }]],
  [(text) => /data\.browser\?\.network/.test(text), () => [{ r: "sandbox-network" }]],
  [(text) => /loopDetection\.warningThreshold/.test(text), () => [{ r: "loop-detection" }]],
  [(text) => /const executable = value\[0\]/.test(text), (text) => [{ r: "safe-executable", k: ["0"], m: words(text) }]],
  [(text) => /not in agents\.entries/.test(text) && /effectiveAgentIds/.test(text), () => [{ r: "known-agents" }]],
  [(text) => /duration must be positive/.test(text), () => [{ r: "positive-duration" }]],
  [(text) => /isBuiltInModelProviderOverlayId/.test(text), () => [{ r: "provider-overlay" }]],
  [(text) => /activityType is 1 \(Streaming\)/.test(text), () => [{ r: "discord-activity" }]],
  [(text) => /nickserv\?\.register/.test(text), () => [{ r: "irc-nickserv" }]],
  [(text) => /cfg\.agents\?\.list/.test(text) && /cfg\.broadcast/.test(text), () => [{ r: "broadcast-agents" }]],
];

/** The rules of one check: its text, its own message, the place of the schema. `null` where it is not known. */
export function refinementRules(text, message, path) {
  for (const [pattern, name, more] of PREDICATES) if (pattern.test(text)) return [{ r: name, ...more, ...(message ? { m: message } : {}) }];
  for (const [is, rules] of WHOLE) if (is(text)) return rules(text);
  const found = [...dmRules(text), ...inlineOpen(text), ...notBoth(text), ...quantities(text), ...secrets(text, path)];
  if (found.length) return found;
  return /^\(value\) => \{ normalize\w+\(value\); \}$/.test(text) ? [] : null;
}
