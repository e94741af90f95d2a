// Makes the npm packages from the archives in a folder: one per platform with the program, and `clawscope`, which lists them
// as optional dependencies, so that npm installs the one that fits. No package runs a script when it is installed.
//   node pack.mjs DIR
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const own = dirname(fileURLToPath(import.meta.url));
const repo = resolve(own, "../..");
const out = resolve(process.argv[2]);

const manifest = readFileSync(join(repo, "Cargo.toml"), "utf8");
const field = (key) => manifest.match(new RegExp(`^${key} = "(.*)"$`, "m"))[1];
const version = field("version");

const targets = readFileSync(join(repo, "packaging/targets.tsv"), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => line.split("\t"))
  .map(([target, os, cpu]) => ({ os, cpu, package: `@clawscope/${os}-${cpu}`, archive: `clawscope-${version}-${target}` }));

const common = {
  version,
  license: field("license"),
  homepage: field("repository"),
  repository: { type: "git", url: `git+${field("repository")}.git` },
};

function pack(folder, description) {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(description, null, 2)}\n`);
  cpSync(join(repo, "LICENSE"), join(folder, "LICENSE"));
  execFileSync("npm", ["pack", "--silent", "--pack-destination", out], { cwd: folder, stdio: "inherit" });
}

function packPlatform(work, { os, cpu, package: name, archive }) {
  const folder = join(work, `${os}-${cpu}`);
  mkdirSync(join(folder, "bin"), { recursive: true });
  execFileSync("tar", ["-xzf", join(out, `${archive}.tar.gz`), "-C", work]);
  cpSync(join(work, archive, "clawscope"), join(folder, "bin/clawscope"));
  chmodSync(join(folder, "bin/clawscope"), 0o755);
  pack(folder, {
    name,
    ...common,
    description: `The program of clawscope for ${os} on ${cpu}`,
    os: [os],
    cpu: [cpu],
    files: ["bin"],
    preferUnplugged: true,
  });
}

function packMain(work, manual) {
  const folder = join(work, "main");
  mkdirSync(join(folder, "bin"), { recursive: true });
  cpSync(join(own, "clawscope.js"), join(folder, "bin/clawscope.js"));
  chmodSync(join(folder, "bin/clawscope.js"), 0o755);
  cpSync(manual, join(folder, "man"), { recursive: true });
  cpSync(join(own, "README.md"), join(folder, "README.md"));
  pack(folder, {
    name: "clawscope",
    ...common,
    description: field("description"),
    keywords: ["openclaw", "pi", "llm", "context", "tui"],
    bin: { clawscope: "bin/clawscope.js" },
    man: readdirSync(join(folder, "man")).map((page) => `./man/${page}`),
    files: ["bin", "man"],
    engines: { node: ">=18" },
    // All of them, also those without an archive here: a release has every one.
    optionalDependencies: Object.fromEntries(targets.map((target) => [target.package, version])),
  });
}

const built = targets.filter((target) => existsSync(join(out, `${target.archive}.tar.gz`)));
if (built.length === 0) throw new Error(`${out}: no archive of version ${version}. Run packaging/package first.`);
const work = mkdtempSync(join(tmpdir(), "clawscope-npm-"));
try {
  for (const target of built) packPlatform(work, target);
  packMain(work, join(work, built[0].archive, "man"));
} finally {
  rmSync(work, { recursive: true });
}
