#!/usr/bin/env node
// Compares answers with recorded ones: node compare.mjs SET ANSWERS. Prints each op with its counts, and each case whose
// answer is another one with the fields that differ. Ends with 1 where something differs.
import fs from "node:fs";
import path from "node:path";

const [set, answers] = process.argv.slice(2);
const sorted = (value) =>
  Array.isArray(value)
    ? value.map(sorted)
    : value && typeof value === "object"
      ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
      : value;
const text = (value) => JSON.stringify(sorted(value));
const read = (file) => JSON.parse(fs.readFileSync(file, "utf8"));

// How many fields of an answer say that the program threw: it was asked through a function that takes something else now.
const throws = (result) => Object.values(result ?? {}).filter((value) => value?.throws === true).length;

const ops = new Map();
const changed = [];
for (const name of fs.readdirSync(path.join(set, "expected")).sort()) {
  const expected = read(path.join(set, "expected", name));
  const file = path.join(answers, name);
  const tally = ops.get(expected.op) ?? { same: 0, changed: 0, unasked: 0, threw: 0 };
  ops.set(expected.op, tally);
  const answer = fs.existsSync(file) ? read(file) : null;
  if (!answer || answer.result === undefined || answer.result === null) tally.unasked += 1;
  else if (text(answer.result) === text(expected.result)) tally.same += 1;
  else if (throws(answer.result) > throws(expected.result)) tally.threw += 1;
  else {
    tally.changed += 1;
    const keys = new Set([...Object.keys(expected.result ?? {}), ...Object.keys(answer.result ?? {})]);
    const fields = [...keys].filter((key) => text(answer.result?.[key]) !== text(expected.result?.[key]));
    const probe = read(path.join(set, "cases", name)).probe;
    changed.push(`  ${expected.op}: ${probe ?? name} (${fields.join(", ")})`);
  }
}
for (const [op, { same, changed, unasked, threw }] of [...ops].sort()) {
  const rest = (unasked ? `, ${unasked} not answered` : "") + (threw ? `, ${threw} cannot be asked any more` : "");
  console.log(`${op.padEnd(20)} ${same} as recorded, ${changed} changed${rest}`);
}
console.log(changed.length ? `\nChanged:\n${changed.join("\n")}` : "\nNo rule changed that these cases ask for.");
process.exit(changed.length ? 1 : 0);
