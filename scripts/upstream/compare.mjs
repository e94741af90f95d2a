#!/usr/bin/env node
// Compares answers with recorded ones: node compare.mjs SET ANSWERS. Prints each op with its counts, then each question that
// has no answer, and each case whose answer is another one with the fields that differ.
// Ends with 0 where every question has the recorded answer, with 1 where an answer differs, with 2 where a question could
// not be put: no answer is not an unchanged rule.
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
const [unanswered, changed] = [[], []];
for (const name of fs.readdirSync(path.join(set, "expected")).sort()) {
  const expected = read(path.join(set, "expected", name));
  const file = path.join(answers, name);
  const tally = ops.get(expected.op) ?? { same: 0, changed: 0, unanswered: 0 };
  ops.set(expected.op, tally);
  const answer = fs.existsSync(file) ? read(file) : null;
  const probe = read(path.join(set, "cases", name)).probe ?? name;
  if (answer?.result === undefined || answer.result === null) {
    tally.unanswered += 1;
    unanswered.push(`  ${expected.op}: ${probe} (no answer)`);
  } else if (text(answer.result) === text(expected.result)) tally.same += 1;
  else if (throws(answer.result) > throws(expected.result)) {
    tally.unanswered += 1;
    unanswered.push(`  ${expected.op}: ${probe} (the program threw)`);
  } else {
    tally.changed += 1;
    const keys = new Set([...Object.keys(expected.result ?? {}), ...Object.keys(answer.result ?? {})]);
    const fields = [...keys].filter((key) => text(answer.result?.[key]) !== text(expected.result?.[key]));
    changed.push(`  ${expected.op}: ${probe} (${fields.join(", ")})`);
  }
}
for (const [op, { same, changed: other, unanswered: none }] of [...ops].sort()) {
  console.log(`${op.padEnd(20)} ${same} as recorded, ${other} changed${none ? `, ${none} could not be put` : ""}`);
}
if (unanswered.length) console.log(`\nCould not be put:\n${unanswered.join("\n")}`);
if (changed.length) console.log(`\nChanged:\n${changed.join("\n")}`);
if (ops.size === 0) console.log(`\n${set} has no questions.`);
const complete = ops.size > 0 && unanswered.length === 0;
if (complete && changed.length === 0) console.log("\nNo rule changed that these cases ask for.");
process.exit(complete ? (changed.length ? 1 : 0) : 2);
