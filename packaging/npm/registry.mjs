// A registry on this machine with the packages in a folder, so that `npm install` can be tested before a release. Other
// packages do not exist there. Prints its address, and serves until it is stopped.
//   node registry.mjs DIR
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const folder = process.argv[2];
const files = new Map();
const packages = new Map();
for (const file of readdirSync(folder).filter((name) => name.endsWith(".tgz"))) {
  const bytes = readFileSync(join(folder, file));
  const text = execFileSync("tar", ["-xzOf", join(folder, file), "package/package.json"], { encoding: "utf8" });
  files.set(`/${file}`, bytes);
  packages.set(JSON.parse(text).name, { file, bytes, description: JSON.parse(text) });
}

function answer(name, origin) {
  const { file, bytes, description } = packages.get(name);
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const version = { ...description, dist: { tarball: `${origin}/${file}`, integrity } };
  return JSON.stringify({
    name,
    "dist-tags": { latest: description.version },
    versions: { [description.version]: version },
  });
}

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, "http://registry").pathname);
  const origin = `http://${request.headers.host}`;
  if (files.has(path)) return response.end(files.get(path));
  if (packages.has(path.slice(1))) return response.end(answer(path.slice(1), origin));
  response.statusCode = 404;
  response.end("{}");
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
