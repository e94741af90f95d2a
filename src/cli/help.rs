//! The long texts of `--help`.

use crate::policy::settings::SETTINGS;

/// Columns of the lines that are laid out by hand.
const WIDTH: usize = 100;
/// The column at which the description of a key begins.
const INDENT: usize = 40;

/// Returns the end of the long help, with the keys of `--set` from the settings table.
pub(super) fn after_long_help() -> String {
    AFTER_LONG_HELP.replace("{settings}", &setting_lines())
}

fn setting_lines() -> String {
    let mut lines: Vec<String> = Vec::new();
    for setting in &SETTINGS {
        let mut line = format!("  {:width$}", setting.key, width = INDENT - 2);
        let description = format!("{} [{}]", setting.description, setting.values());
        for word in description.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push(std::mem::replace(&mut line, " ".repeat(INDENT)));
            }
            let gap = if line.ends_with(' ') { "" } else { " " };
            line = format!("{line}{gap}{word}");
        }
        lines.push(line);
    }
    lines.join("\n")
}

pub(super) const USAGE: &str = "\
clawscope [OPTIONS] [PATH]
       clawscope <COMMAND> [OPTIONS]";

pub(super) const ABOUT: &str = "\
Why did this LLM session overflow its context window, and which settings would have prevented it?

clawscope reads the sessions of an OpenClaw gateway or of the pi coding agent, draws each transcript as a tree with token \
estimates, shows what the model would be sent, previews context pruning while its thresholds move, and commits a result \
as a new branch without touching the old one.

It makes no network request, unless you set up a summarizer of kind http, and writes to a session only with \
`commit --apply`, `undo --apply` and `doctor --repair`.
Numbers with ~ are estimated by the gateway's own rule (four chars a token); the others were counted by the provider.";

pub(super) const AFTER_HELP: &str = "\
Try it: `clawscope --demo` opens a store made up for looking around. `clawscope --help` tells more.";

const AFTER_LONG_HELP: &str = "\
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

Keys of --set (the gateway's own names where it has them; `clawscope settings` lists their values):
{settings}

Gateways of different versions have different rules and settings. A store is read by those of its own version: that of \
meta.lastTouchedVersion in openclaw.json, or the one that wrote an agent's database where that is newer; else by those of 2026.3.2. --ruleset \
names another. A key that the version does not have is refused; `clawscope doctor` shows what is built in.

Exit codes:
  0  done
  1  the question's answer is no
  2  usage: a bad option, key or value, or a SESSION that means several
  3  a store, a session or a transcript cannot be found or read
  4  refused: the file changed, a lock is held, writing is not safe, or no summary could be made;
     nothing was written

Environment:
  OPENCLAW_STATE_DIR    the gateway's state dir, in place of ~/.openclaw
  OPENCLAW_CONFIG_PATH  the gateway's configuration, in place of openclaw.json in the state dir
  OPENCLAW_HOME         the home folder these start from
  PI_CODING_AGENT_DIR, PI_CODING_AGENT_SESSION_DIR
                        pi's agent dir, in place of ~/.pi/agent, and where its sessions lie
  PI_SESSION_FILE       set by pi's shell tool: the session that the screen opens there
  NO_COLOR              set to anything: no colours
  PAGER                 the pager of the screen
  CLAWSCOPE_THEME       dark, light or mono
  CLAWSCOPE_RULESET     the gateway version whose rules apply, as --ruleset
  CLAWSCOPE_MOUSE, CLAWSCOPE_MOTION, CLAWSCOPE_ASCII
                        1 or 0: take the mouse, let changed values flash, draw with ASCII signs
                        alone (by default as TERM and the locale need it)

Files of your own, in ~/.config/clawscope or $XDG_CONFIG_HOME/clawscope:
  config.toml           theme = \"light\", ruleset = \"2026.9.6\", mouse = false, motion = false,
                        ascii = true; [summarizer]: who writes summaries
                        (clawscope summarize --help); variables and options go over it
  keymap.toml           [global] \"ctrl-q\" = \"quit\": single keys, by the names that `:` shows;
                        \"\" takes a key away

Scripts: every command that prints takes --json (one object with schemaVersion, whole numbers; errors as one object on \
the error stream).";

pub(super) const SESSIONS: &str = "\
Examples:
  clawscope sessions
  clawscope sessions ~/.openclaw --agent main
  clawscope sessions --demo --json | jq '.sessions[] | select(.flags | index(\"overflow\")) | .key'

A session that has no name is titled by what the person said first; the gateway's envelope around it becomes a short mark, as \
⟨telegram⟩. Secrets in titles are masked as in exports; --no-redact leaves them in.

JSON: {schemaVersion, place, demo, ruleset: {id, name, from, note}, sessions: [{key, agent, kind, id, path, provider, model, \
ruleset (its id), window, windowGuard: warn|block or null, tokens: {value, source: est|measured} or null, percent, entries, compactions, \
updatedAt (ms), bytes, title, flags, reset}], \
findings: [{severity, path, line, entry, what, next}]}; reset as lifecycle in `clawscope doctor --help`.";

pub(super) const TREE: &str = "\
Examples:
  clawscope tree agent:main:main
  clawscope tree ./2f6c.jsonl --json | jq '.nodes[] | select(.active)'

● is on the active path, ○ on another branch, ◀ marks the active leaf. Branches are indented where they leave. \
A silent answer (NO_REPLY, of which the person saw nothing) says so. Secrets are masked as in exports; --no-redact leaves \
them in.

JSON: {schemaVersion, session, leaf, nodes: [{entry, parent, line, type, role, tool, tokens, chars, time, label, depth, \
active, leaf, silent, children}]}, in the order of the drawing";

pub(super) const CONTEXT: &str = "\
Examples:
  clawscope context agent:main:main
  clawscope context ./2f6c.jsonl --json
  clawscope context KEY --store ~/copy-of-openclaw --leaf 4fe1 --messages
  clawscope context KEY --estimators                      how far off each way to count is
  clawscope context KEY --breakdown
  clawscope context KEY --breakdown --json | jq '.tools[] | select(.calls.count == 0) | .name'
  clawscope context KEY --recorded --run 2                the run before the newest

JSON: {schemaVersion, session, leaf, ruleset: {id, name, from, note}, window: {tokens, source}, estimate: {tokens, \
usageTokens, trailingTokens, anchor}, messageTokens, sessionTokens, spent: {answers: {calls, input, output, cacheRead, cacheWrite, cost}, failed, \
beside, cost, recordedCost, listedCost, callsWithoutCost}, budget, memoryFlush: {state, threshold, total, toGo, \
late, rule} or null, messages: [{index, entry, role, tool, tokens, chars, prunerChars, sent: {fate, reason, tokens, \
prunerChars} or null}]}. sent is what calls before made of a message and every call repeats (2026.9). \
tokens and chars follow pi's estimate; prunerChars is how context pruning counts. estimate is what a provider counted \
last, plus the estimates of what came after. With --messages each has its message.

Estimators: pi (chars/4 as pi and compaction count), gateway (chars/4 as context pruning counts), weighted (chars/4 with the \
CJK weights of 2026.9), usage (what was counted last, and chars/4 of what came after), bpe (a tokenizer; exact for OpenAI's \
models, a stand-in for others), calibrated (tokens per char of each script, fitted to this session's own counts). \
An error is (estimate - measured) / measured: below 0 is too low.

JSON of --estimators: {schemaVersion, session, leaf, provider, model, fixedTokens, tokenizer: {name, exact}, \
calibration: {tokensPerChar: {ascii, cjk, other}, ownFactor: {ascii, cjk, other}, fixedTokens, growths, meanErrorPercent, \
maxErrorPercent, aheadErrorPercent} or null, chars: {ascii, cjk, other}, images, copies, estimators: [{name, now, calls, \
meanErrorPercent, biasPercent, maxErrorPercent, lastErrorPercent}], calls: [{entry, line, measured, shrunk, estimates: {pi, \
gateway, weighted, usage, bpe, calibrated}}]}. calls has every call of the path that was counted. shrunk marks those whose \
prompt was smaller than one before though the context only grew, as after pruning in memory: no error counts them. copies \
are answers left out because a rewritten branch copied them with the usage of another context.

With --recorded: the messages that the gateway recorded at the start of a run, before the trimming of each call, beside those \
that the transcript gives at that run's leaf. The gateway's own repairs are made first and named. A place that the recorder \
cut or masked matches anything.

JSON with --recorded: {schemaVersion, session, verdict, message, elsewhere, run: {number, of, id, started, place, provider, \
model, gateway, trigger, status, submitted} or null, context: {recorded, atStart, rebuilt, repaired, repairs: [{name, count}], \
unrepaired, mergedOrphan, cuts: [{path, reason}], redacted, difference: {position, recorded: {entry, role, chars}, rebuilt, \
paths, onlyRecorded, onlyRebuilt, cause} or null} or null}. verdict is missing, elsewhere, no run, not compiled, cut whole, no \
messages recorded, leaf missing, equal, \"equal after\" repairs, recorder cuts or redaction, or different. Paths are JSON \
pointers into the recorded messages.

With --breakdown: what is in the window, part by part. The parts add up to the bar; a part is rounded up as a whole and \
its pieces share that. What is not accounted for is what the provider counted for the last prompt less the estimate of that \
same prompt, and why.

JSON with --breakdown: {schemaVersion, session, leaf, provider, model, window, budget, percent, \
system: {chars, tokens, instructions, skills: {chars, tokens, items: [{name, chars, tokens}], around}, toolList}, \
files: {chars, tokens, maxFileChars, maxTotalChars, items: [{name, path, status: ok|truncated|missing, rawChars, \
injectedChars, tokens}], around, warnings}, \
schemas: {chars, tokens, other, descriptions} (each of them {chars, tokens}; descriptions are sent and in no estimate), \
roles: [{role, part, count, chars, tokens}], text, thinking (each {count, chars, tokens}), \
tools: [{name, schema: {chars, tokens, properties} or null, calls, results: {count, chars, tokens}, images, imageTokens, \
errors, heaviest}], images: {priced, tokens, free}, \
heaviest: [{index, entry, role, tool, chars, tokens, block: {type, tool, chars, blocks} or null, about}], \
history: {window, path, file: {messages, tokens}, compactions}, \
remainder: {tokens, measured, estimated, since, entry, reason: no-report|estimated-report|other-session|other-model| \
older-report|estimator|not-measured, words}, report: as stored, or null}. \
system, files and schemas are null where no report is stored.";

pub(super) const EXPLAIN: &str = "\
Examples:
  clawscope explain agent:main:main
  clawscope explain KEY --json | jq -r '.verdict.line'
  clawscope explain --all --window 131072     which sessions a fallback model would refuse

The first line is the answer: whether a call overflowed, what made it too large, and which guard was short of acting. The second
names the change that would have fixed it. Then four blocks: what happened (each refused call once, with the provider's numbers,
and whether this release recognised its words); what made it large, part by part; why nothing prevented it, guard by guard in the
order the gateway asks them; and who counted what. A mis-measurement or a guard is the verdict only where setting it right makes
every call fit by replay; otherwise the mechanism is.

The advice is a search over every key that this release reads, one key first, then pairs. Each change is replayed over the whole
session; it helps where every call fits. `check`, `replay` and `sweep` with the same --set give the same numbers. That no setting
would have helped is said only where the search is exhausted.

Classes of an overflow: bytes-limit, wrong-window, counter-stale-low, estimator-error, pruning-inert, impossible-budget, engine-owned,
model-switch, user-message, single-result, parallel-results, image-bloat, tool-loop-treadmill, fixed-overhead,
recurring-session-growth, gradual-growth. Without one: compaction-hollow, compaction-no-op, compaction-timeout, compaction-treadmill,
impossible-budget, at-risk, healthy. Beside a verdict also: compaction-refused, runtime-fault, counter-inflated.

JSON: {schemaVersion: 2, session, ruleset, overflow, events: [{entry, kind, time, model: {provider, id}, requested, limit, reply,
acceptedBefore, recognised, rule, by, text, again: [entry ids]}], verdict: {class, confidence: sure|likely|possible, line},
mechanism: {class, tokens, count, entries} or null, parts: [{part, messages, tokens, new}], guards: [{guard, state, why, dueBy,
opened: [keys], entry}], counts: [{who, tokens, exact, what, entry}], mismeasured, aftermath and findings: [{class, confidence,
text, rule, flips, evidence: [entry ids], lines: [{text, rule, entries}], numbers: {}}], advice: [{set: {key: value}, helps,
hasRoom, overflows, peak, cost, note, fits, before, after, compactions, limit, patch, commands}], recorded: {overflows, peak,
cost, compactions} or null, tried, exhausted, noSettingHelps}. kind is refused, precheck, bytes, silent or cut-short; requested,
limit and reply (tokens reserved for the reply) are null where nothing names them; recognised is null where the release is not
known. flips is true where every call fits once this is set right. before, after and limit are tokens of the failing call;
overflows, peak (tokens), cost (US dollars, null without a price) and compactions are of the whole session under the change, and
recorded is the session as it was.
With --all: {schemaVersion: 2, ruleset, sessions: [{session, overflow, verdict, noSettingHelps, tokens: {value, source} or null,
window, windows: [{window, overflows, over}]}], unread: [{session, error}]}.";

pub(super) const RECOVERY: &str = "\
Examples:
  clawscope recovery agent:main:main
  clawscope recovery KEY --json | jq '.ending'

Looks at the last call that was refused as too large, with the errors that belong to it; where none was, at what the next \
one would lead to. What would be compacted or cut is told from the transcript; whether a prompt then fits is an estimate, \
scaled by the refused one.

Signs: \u{26a0} refused   \u{2713} done   \u{2717} in vain   \u{2192} once more

JSON: {schemaVersion, session, window, compaction: {enabled, mode, reserveTokens, keepRecentTokens, maxResultChars, \
runtimeWindow}, ruleset: {id, name, from, note}, rulesOf (the id of the rules that recoveries are followed by), happened, overflow: {entry, source, text, time, tokens, limit, detectors: {runtime, gateway, chat, \
compactionFailure, rateLimit, transient}}, earlierOverflows, attempts: [{number, steps: [{step, outcome, tokens, rule, why, \
shown, ...}]}], ending: {outcome, kind, reset, reply, rule}, recorded: [{what, entry, time}]}. step is call, \
compactionInRun, compactionByGateway, runAgain or truncation; shown says whether the transcript shows it.";

pub(super) const REPLAY: &str = "\
Examples:
  clawscope replay KEY                                    the session as configured now
  clawscope replay KEY --set contextPruning.ttl=5m        what another ttl would have done
  clawscope replay KEY --policy gateway,compact --set compaction.keepRecentTokens=30000
                                                          compactions where these settings make them
  clawscope replay KEY --timeline                         in sentences, for a screen reader
  clawscope replay KEY --all --json | jq '.calls[] | select(.simulated.overflow)'

Every call that the path records is made again, in its order and at its time: `recorded` under the settings in force, with \
the compactions as they were written, and `simulated` under the others. What tools returned and the model said stays as it \
was, and an answer that was never given costs nothing. A step in force that the provider's counts speak against is left out. \
Estimated tokens are marked ~ and calibrated to the session where it has enough calls; `prompt` is what the provider \
counted, moved by what the settings change. Costs are those of the record where the prompt is the recorded one, else those \
of a model of the provider's cache (5 minutes, or an hour where the configuration asks for it). Summaries have an assumed \
length (compaction.summaryTokens); what they cost is estimated on both sides.

With --ruleset, if the store names the version that wrote it, `recorded` follows that version and `simulated` the one \
from --ruleset, compaction included: it shows the effect of an upgrade. The check before a prompt (2026.4.8 and later) runs \
before each run; if the recorded version's own check asks for a compaction that the transcript lacks, the replay skips it.

Signs: ! did not fit   \u{2717} nor after what was tried   \u{3a3} compacted before   ~ trimmed   \u{2702} cleared   \u{21e5} cut in the transcript

JSON: {schemaVersion, session, leaf, ruleset, recordedRuleset, window, providerWindow, retention, touches: recorded|assumed, fitErrorPercent, \
policy, contradicted, calls: [{index, entry, time, idleMs, model, recorded, simulated}], totals: {recorded, simulated}, log: [{kind, call, \
calls, time, messages, first, tokens, cost}], policies: [{kind, times, every, tokens, cost, tooOften}]}. recorded and simulated \
of a call: {tokens, expected, size: counted|named|estimated|unknown, measured, overflow, failed, messages, gate, cleared, trimmed, freed, history, reduced, checked, compacted: \
{byOverflow, recorded, messages, tokens, before, cost} or null, truncated, firstChanged, cacheRead, cacheWrite, input, output, cost, \
costFrom: recorded|list|model, totalCost}; measured is the provider's count or null, and only of recorded. Of totals: {calls, \
overflows, failed, peak, peakCall, answeredPeak, refusedPeak, freed, compactions, cost, modelCost, summaryCost, cacheRead, \
cacheWrite, input, recordedCost, listedCost, callsWithoutCost}: recordedCost is what the file records, listedCost the list price \
of the calls and summaries that it records no cost or 0 of.";

pub(super) const SWEEP: &str = "\
Examples:
  clawscope sweep KEY                                     the two settings that matter most for it
  clawscope sweep KEY --vary contextPruning.ttl=15m..2h:15m --vary historyLimit=5,10,20
  clawscope sweep KEY --headroom 10% --patch patch.json5  the least change with a tenth left free
  clawscope sweep KEY --vary contextPruning.hardClearRatio=0.2..0.6:0.1 --json | jq .smallestChange

Every cell is a whole replay (`clawscope help replay`) with one value of each setting; the value in force is always one of \
them, and the steps are the same in every cell. Values are read by the gateway's own checks, and a setting that the version \
does not have, or that no key sets, is refused by name. A setting of pruning that is off is left `as is` where it is not \
changed; any other value switches pruning on.

Best trade-offs are the cells that no other beats in cost, peak and tokens cleared together. The smallest change is the cell \
with the fewest settings changed in which every call fits at first, with the head-room asked for; of several the one with the \
least distance, which is how far each setting is moved as a share of its axis (1 for a switch), then the cheapest, then the \
one with the lowest peak. Nothing is ever written to openclaw.json, nor to pi's settings.json: patch and commands are yours to \
apply. Of a session of pi compaction.reserveTokens and compaction.keepRecentTokens can be varied, which settings.json holds.

JSON: {schemaVersion, session, ruleset, providerWindow, headroom, policy, base: {key: value}, axes: [{key, values, current}], \
recorded, current, cells: [{set: {key: value}, overflows, failed, fits, peak, cost, cleared, summaries, changes, distance}], \
pareto: [cell], tradeOffs: [cell], smallestChange: {set: {key: value}, cell, patch, commands} or null}. A cell is named by its \
index; `current` of an axis is the index of a value, and null among the values leaves the setting as it is. `cleared` are \
tokens that the model was not sent, once for each call: by the steps of a call, the turn limit and compactions. `pareto` is \
over all cells; `tradeOffs` leaves those out that overflow while others do not, and repetitions.";

pub(super) const CHECK: &str = "\
Examples:
  clawscope check KEY --budget 90%
  clawscope check KEY --budget 150000 --set contextPruning.ttl=5m --json

Replays the session (`clawscope help replay`) and tells whether every prompt fits the budget: exit code 0 where all do, 1 where \
one does not. Prompts are what the provider counted, moved by what the settings change, or estimates where it counted nothing.

JSON: {schemaVersion, session, ruleset, budget, fits, over, peak, peakCall, calls, first: {index, entry, time, tokens} or null}.";

pub(super) const SIMULATE: &str = "\
Examples:
  clawscope simulate KEY                                  what pruning does as configured
  clawscope simulate KEY --gates                          what it would do at this very moment
  clawscope simulate KEY --set contextPruning.softTrimRatio=0.2 --set historyLimit=20
  clawscope simulate KEY --settings new.json5 --now 2026-03-05T15:00:00Z --json
  clawscope simulate KEY --policy gateway                 what the gateway sends, step by step
  clawscope simulate KEY --policy compact --set compaction.keepRecentTokens=30000
                                                          what a compaction keeps and loses
  clawscope simulate KEY --policy compact --summary       with its summary made, at its length

Steps, in the order they are taken whatever the order of --policy: compact and truncate are written to the transcript; repair, \
history and images are done once a run; prune, guard and clear for every model call.

The gateway prunes only when the mode is cache-ttl, provider and model are eligible, and the ttl has passed since the last \
call. The preview shows what it does once it runs, and says beside it whether it would run now; with --gates, or at a \
moment given by --now, a shut gate leaves everything as it is. `clawscope --help` lists the keys of --set.

A compaction's summary is taken to be as long as the session's earlier ones, else 2,000 tokens. With --summary or --with it is
made, as by `clawscope summarize`, and its own length counts; it is stored nowhere. ctrl-c cancels.

Signs: · kept   ◆ protected   ~ soft-trimmed   ✂ cleared   ⇥ truncated   Σ summarised   ✗ dropped

JSON: {schemaVersion, session, leaf, now, settings, provenance, ruleset: {id, name, from, note}, gate: {open, reason, rule, \
idleMs, ttlMs, ignored}, window, ratios, before: {tokens, chars}, after: {tokens, chars}, steps: [{step, moment, changed, \
messagesBefore, messagesAfter, tokensBefore, tokensAfter, fates: {FATE: count}, settings: {KEY: {value, from, reader}}}], \
compaction: {trigger: {tokens, threshold, fires}, firstKept, split: none|turn|false, previousSummary, history, turnPrefix, \
kept, lost: {messages, tokens}, tokensBefore, summaryTokens, summaryFrom: assumed|earlier|set|made, calls: {count, inputTokens, \
outputTokens, cost, each: [{purpose, merges, messages, inputTokens, maxTokens, outputTokens}]} or null, tokensAfter} or null, \
fates: [{index, entry, role, tool, fate, reason, rule, before, after, tokensBefore, tokensAfter}], rewriteLoss}; before and \
after of a fate are chars as context pruning counts them. calls are those that the gateway itself would make for the summary, \
cost in US dollars; null where it would cancel. With --summary: summary: {summarizer, model, tokens, calls: [{purpose, merges, \
messages, attempts, inputTokens, outputTokens, source, cut}], costUsd, text}. With --messages the messages after the plan are in \
messages. Where the plan cuts results in the transcript, rewriteLoss: {results, labels, branchSummaries, compaction: {entry, \
firstKept, messages, tokens}, brokenOff, sentence} tells what the gateway's own rewrite would lose and a commit keeps; else it \
is null.";

pub(super) const SUMMARIZE: &str = "\
Examples:
  clawscope summarize agent:main:main                     out of its own words, offline
  clawscope summarize KEY --calls                         the gateway's own calls and their cost
  clawscope summarize KEY --with command                  by the program that config.toml names
  clawscope summarize KEY --with http --instructions tickets --json

Prints the summary that a compaction with the session's settings would store, in the runtime's form, with the file lists, \
tool failures and workspace rules that the gateway appends in mode safeguard. Nothing is written, and where no summary can \
be made none is made up. The summary goes to standard output, everything about it to the error stream. ctrl-c cancels.

In config.toml (clawscope --help tells where):
  [summarizer]
  kind = \"extractive\"         or command, or http
  command = [\"my-summarizer\", \"--brief\"]
                              the conversation on its standard input,
                              the summary on its standard output
  timeout = \"5m\"              time that one call may take
  api = \"openai\"              or anthropic: the protocol of url
  url = \"https://api.openai.com/v1\"
  model = \"gpt-5\"
  key-env = \"OPENAI_API_KEY\"  the variable that holds the key; the key itself never stands in a file

http sends the conversation to url, and a key only over https or to this machine. A call is tried three times; a server \
that asks for a wait of up to a minute is waited for.

JSON: {schemaVersion, session, leaf, ruleset, mode, window, reserveTokens, keepRecentTokens, firstKeptEntryId, \
tokensBefore, splitTurn, gateway: {calls: [{purpose, merges, messages, inputTokens, maxTokens, outputTokens}], inputTokens, outputTokens, \
assumedSummaryTokens, costUsd, dropped}, summarizer, calls: [{purpose, merges, messages, attempts, inputTokens, \
outputTokens, source: est|measured, cut}], costUsd, leftOut, readFiles, modifiedFiles, summaryTokens, summary}; those after \
gateway are missing with --calls. gateway is what the gateway itself would take, when every call succeeds.";

pub(super) const COMMIT: &str = "\
Examples:
  clawscope commit KEY                                    what would be written; writes nothing
  clawscope commit KEY --apply
  clawscope commit KEY --policy compact --apply           a compaction with its summary, offline
  clawscope commit KEY --policy compact,prune --with http --apply
  clawscope undo KEY --apply                              the branch before it is active again

A commit appends a new branch with the shortened results to the transcript, under the gateway's own lock, after checking \
that the file is as it was read. Nothing that stands in the file is changed; the old branch stays. What a compaction keeps, \
and labels, are named by the ids of the copies. A compaction is appended with a summary that was made for it, and is \
always the last line: the runtime would compact once more, and keep nothing, if anything stood behind it. For today's pi no \
branch is copied: each message that changes gets one context_edit on the active branch, which that pi reads; `way` and `why` \
say which it is (branch, context_edit, append).

That summary is made first, by whom --with names: extractive (offline), command or http (`clawscope summarize --help`). \
Without --with a dry run is always extractive, so that nobody is asked and nothing paid for a look; --apply does as config.toml \
says. What would be refused is refused before it is made. Progress goes to the error stream, ctrl-c cancels; where no summary \
can be made, nothing is written and the exit code is 4.

Not everything can be written: the history limit and the repair of tool calls leave out, move or invent messages on every \
run and never touch the file. A plan with them is refused, with what to do instead.

JSON: {schemaVersion, session, kind, applied, path, way, why, entries, bytes, fileBytes, from, oldLeaf, newLeaf, offset, lock, checks: \
[{check: passed|warning, what}], changed: [{from, to}], undo, tokens: {before, after}, summary}; summary is null without a \
compaction, else as in `clawscope simulate --summary`, and tokens.after counts it.";

pub(super) const UNDO: &str = "\
Examples:
  clawscope undo KEY                                      what would be written; writes nothing
  clawscope undo KEY --apply
  clawscope undo KEY --redo --apply                       the commit is active again
  clawscope undo KEY --commit 3f9c21aa --apply            that one, and everything after it

An undo appends one line that makes the branch before the last commit active again; the commit stays in the file. Where \
that branch ends in a compaction, a copy of it follows, so that it stays the last line.";

pub(super) const COMMITS: &str = "\
Examples:
  clawscope commits KEY
  clawscope commits KEY --json

The transcript itself tells: every commit and undo leaves a record that no runtime sends to a model. One is in force while \
the active branch comes from it.

JSON: {schemaVersion, session, commits: [{id, kind, time, inForce, state, fromLeaf, undoes, tool, tokensBefore, tokensAfter, \
changed: [{from, to}], steps: [{policy, settings, tokensBefore, tokensAfter}]}]}";

pub(super) const COMPARE: &str = "\
Examples:
  clawscope compare KEY                                   before the last commit, and now
  clawscope compare KEY 3f9c21aa                          another branch, and the active
  clawscope compare KEY 3f9c21aa 77d0b1e4 --all --json

Messages are matched by the call that a result answers, else by role and size; of a commit's own changes its record tells. \
Tokens are estimates (~), recorded costs are what the provider's answers say, and the next prompt costs what the model's \
price says.

JSON: {schemaVersion, session, parting, shared, first, second, changes: {same, differs, onlyFirst, onlySecond}, rows: \
[{change, role, tool, first, second, tokensFirst, tokensSecond}]}; a branch is {leaf, active, entries, ownEntries, messages, \
tokens, parts, calls, spent, ownSpent, nextCold, nextWarm}, costs in USD";

pub(super) const EXPORT: &str = "\
Examples:
  clawscope export KEY --format html --out session.html   one file, offline, searchable
  clawscope export KEY --format md --policy prune --out plan.md
  clawscope export KEY --format json | jq '.entries[] | select(.active)'
  clawscope export KEY --format svg --out screen.svg
  clawscope export KEY --format pi --out branch.jsonl     a branch that the runtime opens
  clawscope export KEY --format pi --policy compact,history --set historyLimit=20 --out small.jsonl
                                                          the messages after a plan
  clawscope export KEY --format pi --shape-only --out report.jsonl
                                                          sizes without words, for a report
  clawscope export KEY --format pi --shape-only --out report/
                                                          the same with its row and its settings

Secrets are taken out of every form: tokens by their shape, values of keys and headers that name them, passwords in addresses, \
private keys, and every other place where one of them stands, behind escapes, percent signs and base64 too; the same secret has the same [redacted:KIND:N]. Pictures in messages \
cannot be looked into and are left out. --no-redact leaves everything in. No rule knows every secret: read what you hand on.

--shape-only keeps ids, times, roles, names of tools and models, usage, sizes, line ends and punctuation, and replaces every other \
letter and digit by one of the same kind, so that `clawscope context --json` tells the same numbers of the file. Where --out \
names a folder, the session's row and the settings that decide about it are written with it, and the folder opens as a store.

A file that is there is not replaced without --force, and nothing is written into a folder of sessions. pi without a plan holds \
the branch with its compactions; with a plan, the messages as they would be sent. A compaction's summary is made offline.

JSON: {schemaVersion, format, session: {key, agent, id, title, path}, provider, model, ruleset, window: {tokens, source}, budget, \
tokens, leaf, exportedAt, shapeOnly, redacted: {secrets: {KIND: count}, images} or null, plan: {tokensBefore, tokensAfter, steps, \
made: [{before, message}]} or null, entries: [{entry, parent, line, depth, active, leaf, context, type, role, tool, tokens, chars, \
time, label, fate: {fate, reason, rule, tokensBefore, tokensAfter} or null, value, after}], findings}; context is the position in \
the context, value the entry, after its message under the plan.";

pub(super) const WATCH: &str = "\
Examples:
  clawscope watch
  clawscope watch ~/.openclaw --session agent:main:main --json

Ends with ctrl-c. Totals are estimates (~) of the messages that the model would be sent at that entry.

JSON, a line each: {schemaVersion, key, agent, path, entry, parent, type, role, tool, tokens, chars, time, contextTokens, \
sessionTokens, window, percent}";

pub(super) const RULE: &str = "\
Examples:
  clawscope rule                                          the sections of every document
  clawscope rule pruning-5.12                             one rule
  clawscope rule pruning 5                                a section
  clawscope rule releases-R60 compaction-8.1 --json       several

Screens and reports cite the rules of the gateway's releases and of pi by document and id, such as `pruning 5.12`. \
A citation of a part, such as `pruning 7.2e`, prints the rule that includes it.

JSON: {schemaVersion, rules: [{document, id, title, text}]}; without RULE no text.";

pub(super) const RULES: &str = "\
Examples:
  clawscope rules                                         the rules of your store's release
  clawscope rules --ruleset 2026.4.15                     those of another release
  clawscope rules --ruleset 2026.4.15 --diff 2026.7.1     what an upgrade changes
  clawscope rules --releases                              every ruleset and its releases

The gateway changes how it trims a context from release to release. clawscope knows 26 rulesets, from 2026.1.24 to 2026.9.6; a ruleset \
is named after its first release. What the upgrade does to one session: `clawscope replay SESSION --ruleset VERSION`; to a store: \
`clawscope explain --all --ruleset VERSION`.";

pub(super) const SETTINGS_HELP: &str = "\
Examples:
  clawscope settings                                      the values of your store, and the defaults
  clawscope settings agent:main:main                      the values of one session
  clawscope settings --ruleset 2026.9.6                   under the rules of another release
  clawscope settings --markdown                           the table of the README

The keys are those of --set, and of openclaw.json below agents.defaults where the gateway has them. A key that the release \
does not read says why. `clawscope doctor` names the file and line of each value.

JSON: {schemaVersion, ruleset: {id, name, from, note}, window, settings: [{key, policy, path, unit, min, max, expected, default, \
value, from, fixed, releases, description}]}; fixed is why the release does not read the key, else null; durations are in ms.";

pub(super) const DOCTOR: &str = "\
Examples:
  clawscope doctor
  clawscope doctor ~/copy-of-openclaw --json
  clawscope doctor --repair                               settle commits that were broken off
  clawscope doctor --migration                            check what the move into a database kept

A commit that a kill, a power failure or a full disk broke off is told by every command that opens its session; reading \
never changes it. --repair appends what is missing of it, or cuts off what is there where that cannot be done, and only \
while nothing else stands behind it. It takes the gateway's lock for that, as a commit does.

Tells by which version's rules the store is read and what settles that. Settings that the version does not have say since \
when they are built in. In a place of pi's the settings are those of its settings.json, of a project's over it and of single \
models; those of a gateway are left out.

JSON: {schemaVersion, place, demo, ruleset: {id, name, from, note}, stateDir, config, databases: \
[{path, agent, schemaVersion, appVersion}], rulesets: {id: transcripts}, counts, agents, contextPruning, \
compaction, compactionSettings, memoryFlush, settings, lifecycle, locks, repairs: [{path, found, outcome, what}], findings}; settings are {key, value, from, over}, over \
being the places that the value goes over; a project of pi's has its own with {project, ...}. lifecycle: [{key, type, mode, atHour, idleMinutes, next: {at, reason, local, due} or \
null, leaves}] tells what begins each session anew by itself, in the time zone of this machine (TZ): a gateway looks at it when \
the next message comes.

--migration checks the move of transcripts from files into a database, which gateways from 2026.8.1 on make \
(`openclaw doctor --session-sqlite import`). Every file that is left, in use or put away as *.imported-<time>, is compared \
with its session, entry by entry. What the importer and the gateway's own repairs change on purpose is counted and is no \
fault. Faults name the entry and its line: lost; added (to a file in use, after the import); changed, with the place; \
re-parented; doubled; moved. A file whose session is not in the database is lost as a whole. Texts are measured, never shown.

JSON of --migration: {schemaVersion, place, demo, databases, clean, totals: {compared, unreadable, lostSessions, entries, \
identical, rewritten, leftOut, later, lost, added, changed, reparented, doubled, moved}, pairs: [{agent, key, session, file, \
database, putAway, error, (as in totals), unreadableLines, faults: [{kind, entry, line, idTakenByLine, againAs, parent: {file, \
database}, places: [{path, file, database, fromChar}], morePlaces}]}], alone: [{agent, session, file, why}], withoutFile, archives}.

Reads every transcript of the store. Exit code 3 when the store, its configuration or a transcript cannot be read; with \
--migration 1 when something was not kept, 0 when all was or there is nothing to compare.";

pub(super) const COMPLETIONS: &str = "\
Examples:
  clawscope completions bash > ~/.local/share/bash-completion/completions/clawscope
  clawscope completions zsh > ~/.zfunc/_clawscope
  clawscope completions fish > ~/.config/fish/completions/clawscope.fish";

pub(super) const MAN: &str = "\
Examples:
  clawscope man | man -l -
  clawscope man simulate > clawscope-simulate.1";
