//! The long texts of `--help`.

pub(super) const USAGE: &str = "\
clawscope [OPTIONS] [PATH]
       clawscope <COMMAND> [OPTIONS]";

pub(super) const ABOUT: &str = "\
Why did this LLM session overflow its context window, and which settings would have prevented it?

clawscope reads the sessions of an OpenClaw gateway or of the pi coding agent, draws each transcript as a tree with token \
estimates, shows what the model would be sent, previews context pruning while its thresholds move, and commits a result \
as a new branch without touching the old one.

It makes no network request and writes to a session only with `commit --apply` and `undo --apply`.
Numbers with ~ are estimated by the gateway's own rule (four chars a token); the others were counted by the provider.";

pub(super) const AFTER: &str = "\
Try it: `clawscope --demo` opens a store made up for looking around. `clawscope --help` tells more.";

pub(super) const AFTER_LONG: &str = "\
Start here:
  clawscope                                   the screen, on your gateway's store
  clawscope --demo                            the screen, on the demo store
  clawscope sessions                          which sessions there are, and how full they are
  clawscope context KEY                       what one of them would send
  clawscope simulate KEY --set contextPruning.softTrimRatio=0.2
                                              what another threshold would do
  clawscope commit KEY                        what a commit would write (nothing is written)

SESSION is a session key, a session id or the unique start of one, or a path to a transcript; a path needs no store:
  clawscope context ./2f6c.jsonl --json

Keys of --set (the gateway's own names, so what is learnt here can be pasted into openclaw.json):
  contextPruning.mode                   off or cache-ttl; any other key switches it on for the preview
  contextPruning.ttl                    a duration: 30m, 1h, 1h30m
  contextPruning.keepLastAssistants     a whole number: results after the start of so many last replies stay
  contextPruning.softTrimRatio          0 to 1: share of the window from which results are shortened
  contextPruning.hardClearRatio         0 to 1: share of the window from which results are cleared
  contextPruning.minPrunableToolChars   chars: clearing needs at least so many
  contextPruning.softTrim.maxChars      chars: results up to this size stay whole
  contextPruning.softTrim.headChars     chars kept from the start
  contextPruning.softTrim.tailChars     chars kept from the end
  contextPruning.hardClear.enabled      true or false
  contextPruning.hardClear.placeholder  text that stands for a cleared result
  contextPruning.tools.allow            tool names and patterns: exec,web_*
  contextPruning.tools.deny             tool names and patterns that are never pruned
  contextTokens                         tokens: lowers the window

Exit codes:
  0  done
  1  the question's answer is no
  2  usage: a bad option, key or value, or a SESSION that means several
  3  a store, a session or a transcript cannot be found or read
  4  refused: the file changed, a lock is held, or writing is not safe; nothing was written

Environment:
  OPENCLAW_STATE_DIR    the gateway's state dir, in place of ~/.openclaw
  OPENCLAW_CONFIG_PATH  the gateway's configuration, in place of openclaw.json in the state dir
  OPENCLAW_HOME         the home folder these start from
  NO_COLOR              set to anything: no colours
  PAGER                 the pager of the screen
  CLAWSCOPE_THEME       dark, light or mono
  CLAWSCOPE_MOUSE, CLAWSCOPE_MOTION, CLAWSCOPE_ASCII
                        1 or 0: take the mouse, let changed values flash, draw with ASCII signs alone
                        (by default as TERM and the locale need it)

Files of your own, in ~/.config/clawscope or $XDG_CONFIG_HOME/clawscope; variables and options go over them:
  config.toml           theme = \"light\", mouse = false, motion = false, ascii = true
  keymap.toml           [global] \"ctrl-q\" = \"quit\": single keys, by the names that `:` shows; \"\" takes a key away

Scripts: every command that prints takes --json (one object with schemaVersion, whole numbers; errors as one object on
the error stream).";

pub(super) const SESSIONS: &str = "\
Examples:
  clawscope sessions
  clawscope sessions ~/.openclaw --agent main
  clawscope sessions --demo --json | jq '.sessions[] | select(.flags | index(\"overflow\")) | .key'

JSON: {schemaVersion, place, demo, ruleset, sessions: [{key, agent, kind, id, path, provider, model, window,
tokens: {value, source: est|measured} or null, percent, entries, compactions, updatedAt (ms), bytes, title, flags}],
findings: [{severity, path, line, entry, what, next}]}";

pub(super) const TREE: &str = "\
Examples:
  clawscope tree agent:main:main
  clawscope tree ./2f6c.jsonl --json | jq '.nodes[] | select(.active)'

● is on the active path, ○ on another branch, ◀ marks the active leaf. Branches are indented where they leave.

JSON: {schemaVersion, session, leaf, nodes: [{entry, parent, line, type, role, tool, tokens, chars, time, label, depth,
active, leaf, children}]}, in the order of the drawing";

pub(super) const CONTEXT: &str = "\
Examples:
  clawscope context agent:main:main
  clawscope context ./2f6c.jsonl --json
  clawscope context KEY --store ~/copy-of-openclaw --leaf 4fe1 --messages

JSON: {schemaVersion, session, leaf, window: {tokens, source}, estimate: {tokens, usageTokens, trailingTokens, anchor},
messageTokens, sessionTokens, budget, messages: [{index, entry, role, tool, tokens, chars, prunerChars}]}.
tokens and chars follow pi's estimate; prunerChars is how context pruning counts. estimate is what a provider counted
last, plus the estimates of what came after. With --messages each has its message.";

pub(super) const SIMULATE: &str = "\
Examples:
  clawscope simulate KEY                                  what pruning does as the gateway is configured
  clawscope simulate KEY --gates                          what it would do at this very moment
  clawscope simulate KEY --set contextPruning.softTrimRatio=0.2 --set contextPruning.keepLastAssistants=2
  clawscope simulate KEY --settings new.json5 --now 2026-03-05T15:00:00Z --json

The gateway prunes only when the mode is cache-ttl, provider and model are eligible, and the ttl has passed since the last
call. The preview shows what it does once it runs, and says beside it whether it would run now; with --gates, or at a
moment given by --now, a shut gate leaves everything as it is. `clawscope --help` lists the keys of --set.

Signs: · kept   ◆ protected   ~ soft-trimmed   ✂ cleared

JSON: {schemaVersion, session, leaf, now, settings, provenance, gate: {open, reason, rule, idleMs, ttlMs, ignored}, window,
ratios, before: {tokens, chars}, after: {tokens, chars}, fates: [{index, entry, role, tool, fate, reason, rule, before,
after, tokensBefore, tokensAfter}], rewriteLoss}; before and after of a fate are chars as context pruning counts them. With
--messages the messages after the plan are in messages. Where the plan cuts results in the transcript, rewriteLoss: {results,
labels, branchSummaries, compaction: {entry, firstKept, messages, tokens}, brokenOff, sentence} tells what the gateway's own
rewrite would lose and a commit keeps; else it is null.";

pub(super) const COMMIT: &str = "\
Examples:
  clawscope commit KEY                                    what would be written; writes nothing
  clawscope commit KEY --apply
  clawscope undo KEY --apply                              the branch before it is active again

A commit appends a new branch with the shortened results to the transcript, under the gateway's own lock, after checking
that the file is as it was read. Nothing that stands in the file is changed; the old branch stays. What a compaction keeps,
and labels, are named by the ids of the copies. A compaction is appended with a summary that was made for it, and is
always the last line: the runtime would compact once more, and keep nothing, if anything stood behind it.

Not everything can be written: the history limit and the repair of tool calls leave out, move or invent messages on every
run and never touch the file. A plan with them is refused, with what to do instead.";

pub(super) const UNDO: &str = "\
Examples:
  clawscope undo KEY                                      what would be written; writes nothing
  clawscope undo KEY --apply
  clawscope undo KEY --redo --apply                       the commit is active again

An undo appends one line that makes the branch before the last commit active again; the commit stays in the file. Where
that branch ends in a compaction, a copy of it follows, so that it stays the last line.";

pub(super) const WATCH: &str = "\
Examples:
  clawscope watch
  clawscope watch ~/.openclaw --session agent:main:main --json

Ends with ctrl-c. Totals are estimates (~) of the messages that the model would be sent at that entry.

JSON, a line each: {schemaVersion, key, agent, path, entry, parent, type, role, tool, tokens, chars, time, contextTokens,
sessionTokens, window, percent}";

pub(super) const DOCTOR: &str = "\
Examples:
  clawscope doctor
  clawscope doctor ~/copy-of-openclaw --json

Reads every transcript of the store. Exit code 3 when the store, its configuration or a transcript cannot be read.";

pub(super) const COMPLETIONS: &str = "\
Examples:
  clawscope completions bash > ~/.local/share/bash-completion/completions/clawscope
  clawscope completions zsh > ~/.zfunc/_clawscope
  clawscope completions fish > ~/.config/fish/completions/clawscope.fish";

pub(super) const MAN: &str = "\
Examples:
  clawscope man | man -l -
  clawscope man simulate > clawscope-simulate.1";
