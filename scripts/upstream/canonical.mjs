// JSON with its keys in a fixed order, one line where it is short: two recordings differ only where answers do.

const byUnits = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const keysOf = (v) => Object.keys(v).filter((k) => v[k] !== undefined && typeof v[k] !== "function").sort(byUnits);
export function canon(v) {
  if (v === null || v === undefined) return "null";
  if (typeof v !== "object") return JSON.stringify(v) ?? "null";
  if (typeof v.toJSON === "function") return canon(v.toJSON());
  if (Array.isArray(v)) return `[${v.map(canon).join(",")}]`;
  return `{${keysOf(v).map((k) => `${JSON.stringify(k)}:${canon(v[k])}`).join(",")}}`;
}
export function pretty(v, ind = "") {
  const c = canon(v);
  if (v === null || typeof v !== "object" || c.length <= 170) return c;
  const next = `${ind} `;
  if (Array.isArray(v) && v.every((x) => x === null || typeof x !== "object")) return c;
  if (Array.isArray(v)) return `[\n${v.map((x) => next + pretty(x, next)).join(",\n")}\n${ind}]`;
  return `{\n${keysOf(v).map((k) => `${next}${JSON.stringify(k)}: ${pretty(v[k], next)}`).join(",\n")}\n${ind}}`;
}
