// Published packages, kept unpacked in a cache folder (ORACLE_CACHE; default: session-oracle-cache below the system's folder for
// temporary files). Each is fetched through npm once.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const CACHE = process.env.ORACLE_CACHE || path.join(os.tmpdir(), "session-oracle-cache");

// ---------------------------------------------------------------- versions
const numbers = (v) => v.split(/[.-]/).map((part) => Number(part) || 0);
export function compare(a, b) {
  const [x, y] = [numbers(a), numbers(b)];
  for (let i = 0; i < 4; i++) if ((x[i] ?? 0) !== (y[i] ?? 0)) return (x[i] ?? 0) - (y[i] ?? 0);
  return 0;
}
export const atLeast = (v, w) => compare(v, w) >= 0;
// pi's scope moved with 0.74.0
export const piScope = (v) => (atLeast(v, "0.74.0") ? "@earendil-works" : "@mariozechner");

// ---------------------------------------------------------------- npm
export function npm(args, cwd = CACHE) {
  fs.mkdirSync(cwd, { recursive: true });
  return execFileSync("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], { cwd, stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 26 }).toString();
}
// Unpacks a package, or some of its files, into `to`.
export function unpack(name, version, to, members = []) {
  fs.mkdirSync(to, { recursive: true });
  const file = npm(["pack", `${name}@${version}`, "--ignore-scripts", "--prefer-offline"], to).trim().split("\n").pop();
  execFileSync("tar", ["xzf", file, "--strip-components=1", ...members], { cwd: to });
  fs.rmSync(path.join(to, file));
  return to;
}
// Installs packages with what they depend on into `dir`.
export function install(dir, specs, options = ["--ignore-scripts"]) {
  fs.mkdirSync(dir, { recursive: true });
  fs.writeFileSync(path.join(dir, "package.json"), '{"name":"upstream","private":true}\n');
  npm(["install", "--save-exact", "--prefer-offline", ...options, ...specs], dir);
}
// A folder of the cache that `fill` makes. It is filled under another name, so that one that exists is whole, whoever else fills it.
export function cached(folder, fill) {
  const dir = path.join(CACHE, folder);
  const mark = path.join(dir, ".ok");
  if (fs.existsSync(mark)) return dir;
  fs.mkdirSync(CACHE, { recursive: true });
  const work = fs.mkdtempSync(path.join(CACHE, ".filling-"));
  fill(work);
  fs.writeFileSync(path.join(work, ".ok"), "");
  try {
    if (!fs.existsSync(mark)) fs.rmSync(dir, { recursive: true, force: true });
    fs.renameSync(work, dir);
  } catch (error) {
    fs.rmSync(work, { recursive: true, force: true });
    if (!fs.existsSync(mark)) throw error;
  }
  return dir;
}
export const ensurePacked = (name, version, folder, members = ["package/dist"]) =>
  path.join(cached(folder, (dir) => unpack(name, version, path.join(dir, "package"), [...members, "package/package.json"])), "package");
// before 2026.1.29 the package had another name
export const ensureGateway = (v) => ensurePacked(atLeast(v, "2026.1.29") ? "openclaw" : "clawdbot", v, `gateway-${v}`);

// Runs a script again under a newer node, which npm installs, where this one is older than 22.19: pi asks for that one, and the
// zstd of node is as old.
export function rerunUnderNewerNode(script) {
  if (atLeast(process.versions.node, "22.19.0")) return;
  // the package fetches the program in a script of its own
  const dir = cached("node-24", (to) => install(to, ["node@24"], []));
  const r = spawnSync(path.join(dir, "node_modules", ".bin", "node"), [fileURLToPath(script), ...process.argv.slice(2)], { stdio: "inherit" });
  process.exit(r.status ?? 2);
}
