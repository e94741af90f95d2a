// Asks the gateway's own guard against loops after a compaction how many calls repeat an earlier one.
//
//     npm pack openclaw@2026.9.6 && tar xzf openclaw-2026.9.6.tgz
//     node record.mjs package > expected.json
//
// The guard is not exported, so its region is cut out of the bundle.
import { readFileSync, readdirSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";

const dist = join(process.argv[2], "dist");
const files = readdirSync(dist).filter((name) => name.endsWith(".mjs"));
const read = (name) => readFileSync(join(dist, name), "utf8");
const bundle = files.filter((name) => name.startsWith("embedded-agent-")).map(read)
  .find((text) => text.includes("function createPostCompactionLoopGuard("));
const region = bundle.split("//#region ").find((part) => part.startsWith("src/agents/embedded-agent-runner/post-compaction-loop-guard.ts"));
const code = region.slice(region.indexOf("\n")).split("//#endregion")[0];
const lines = [];
const makeLogger = () => ({ info: (line) => lines.push(line), error: (line) => lines.push(line) });
const createGuard = new Function("createSubsystemLogger", `${code}\nreturn createPostCompactionLoopGuard;`)(makeLogger);
const stringify = read(files.find((name) => name.startsWith("stable-stringify-")));
const stable = await import(`data:text/javascript,${encodeURIComponent(stringify)}`);
const hash = (value) => createHash("sha256").update(stable.t(value)).digest("hex");

let seed = 18;
const random = (below) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};
const pool = [
  ["read", { path: "notes/plan.txt" }], ["read", { path: "src/main.rs", limit: 40 }], ["read", { path: "src/main.rs", offset: 40, limit: 40 }],
  ["exec", { command: "cargo test" }], ["exec", { command: "git log" }], ["web_fetch", { url: "https://example.com/a" }],
  ["read", { path: "docs/设计.md" }], ["search", { query: "budget", filters: { type: "md", depth: 2 } }],
];
const turned = ([tool, args]) => [tool, random(2) ? args : Object.fromEntries(Object.entries(args).reverse())];
const cases = [];
for (let number = 0; number < 40; number += 1) {
  const before = Array.from({ length: 1 + random(16) }, () => turned(pool[random(5)]));
  const order = [...pool].sort(() => random(3) - 1);
  // Different calls: after a first repetition the prompt has the result again, and only the guard counts a second one.
  const after = order.slice(0, 3).map(turned);
  const guard = createGuard();
  let results = 0;
  const observe = ([toolName, args]) => guard.observe({ toolName, argsHash: hash(args), resultHash: `r${(results += 1)}` });
  before.forEach(observe);
  guard.armPostCompaction();
  lines.length = 0;
  after.forEach(observe);
  const repeats = Number(/preCompactionRepeats=(\d+)/.exec(lines.join("\n"))[1]);
  cases.push({ before, after, repeats });
}
console.log(JSON.stringify({ release: "2026.9.6", cases }).replaceAll('{"before"', '\n{"before"'));
