#!/usr/bin/env node
// Starts the program of the package for this platform, which npm installed beside this one.
"use strict";

const { accessSync, constants } = require("node:fs");
const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

const platform = `@clawscope/${process.platform}-${process.arch}`;

function findProgram() {
  try {
    const program = require.resolve(`${platform}/bin/clawscope`);
    accessSync(program, constants.X_OK);
    return program;
  } catch {
    return undefined;
  }
}

function complain() {
  const { optionalDependencies } = require("../package.json");
  const reason =
    platform in optionalDependencies
      ? `its package ${platform} is missing. Install clawscope again, without --omit=optional.`
      : `there is no package for ${process.platform} on ${process.arch}. Build it with cargo.`;
  console.error(`error: clawscope cannot start: ${reason}`);
  process.exitCode = 1;
}

// Without execve the program runs below node. A terminal sends ctrl-c and ctrl-z to both; other signals come here alone.
// Whoever sends an interrupt without a terminal sends it here alone, too.
function runBelow(program) {
  const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => isatty(0) || child.kill(signal));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`error: clawscope cannot start: ${error.message}`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    if (signal === null) {
      process.exitCode = code;
    } else {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
  });
}

// Replaces node, so that signals and the terminal reach the program directly. Newer versions of node can do that.
function runInPlace(program) {
  try {
    process.execve(program, ["clawscope", ...process.argv.slice(2)], process.env);
  } catch {
    runBelow(program);
  }
}

const program = findProgram();
if (program === undefined) {
  complain();
} else if (typeof process.execve === "function") {
  runInPlace(program);
} else {
  runBelow(program);
}
