//! The texts of `--help`. Lines that begin with two spaces are laid out by hand, for 80 columns.

use crate::gateway::ruleset::Ruleset;

/// A group of commands in the help: its name, and each command with what it does.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

/// The commands that the help lists.
pub(super) const GROUPS: [Group; 6] = [
    (
        "Look",
        &[
            ("sessions", "List sessions; with a SESSION, show its record"),
            ("search", "Search every transcript of a store"),
            ("tree", "Draw a transcript as a tree with sizes and branches"),
            ("context", "Show the messages of the next call"),
            ("watch", "Print one line for each new entry of a store"),
        ],
    ),
    (
        "Explain",
        &[
            ("explain", "Explain why a session overflowed, and which settings help"),
            ("cost", "Show what calls cost, and what the prompt cache missed"),
        ],
    ),
    (
        "Try",
        &[
            ("simulate", "Preview pruning and compaction under other settings"),
            ("replay", "Replay every call of a session under other settings"),
            ("sweep", "Find the smallest change of settings that fits every call"),
            ("check", "Check that every call fits a budget; exit code 1 if not"),
        ],
    ),
    (
        "Write",
        &[
            ("commit", "Write a pruned or compacted branch; show it without --apply"),
            ("undo", "Switch back to the branch before; list and compare branches"),
        ],
    ),
    ("Share", &[("export", "Export a session without its secrets, or stores as Parquet")]),
    (
        "Set up",
        &[
            ("doctor", "Check the store, its configuration and the settings in force"),
            ("settings", "List every setting with its value, default and meaning"),
            ("rules", "Print the rules of a release, or one rule"),
            ("demo", "Write the demo store to a new folder"),
            ("guide", "Print a topic of the guide"),
        ],
    ),
];

/// Returns what a command does, as the help lists it; nothing for a command that it does not list.
pub(super) fn about(name: &str) -> &'static str {
    let mut commands = GROUPS.iter().flat_map(|(_, commands)| *commands);
    commands.find(|(known, _)| *known == name).map_or("", |(_, about)| *about)
}

/// Returns the help of `--ruleset`.
pub(super) fn ruleset() -> String {
    let known = Ruleset::known_releases();
    format!(
        "Apply the rules of this release: {known} (as pi-1.5.2) [default: that of the store, else 2026.3.2]"
    )
}

/// Returns the layout of the help: the commands in their groups before the options.
pub(super) fn template() -> String {
    let mut lines: Vec<String> = Vec::new();
    for (group, commands) in GROUPS {
        for (at, (name, about)) in commands.iter().enumerate() {
            let group = if at == 0 { group } else { "" };
            lines.push(format!("{group:<9}{name:<9} {about}"));
        }
    }
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\n\n{{options}}{{after-help}}",
        lines.join("\n")
    )
}

pub(super) const USAGE: &str = "clawscope [OPTIONS] [PATH] | clawscope COMMAND [OPTIONS]";

pub(super) const ABOUT: &str = "\
Why did this LLM session overflow its context window, and which settings would have prevented it?

Reads sessions of an OpenClaw gateway or of pi. Writes only with --apply or --repair, or when you confirm it on the screen. \
Numbers with ~ are estimates.";

pub(super) const AFTER_HELP: &str = "\
SESSION is a key, an id or a unique prefix of it, or the path of a transcript. Try `clawscope --demo`, `clawscope explain SESSION`, \
`clawscope guide`. Commands that print data take --json. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 unreadable, \
4 refused.";

pub(super) const SESSIONS: &str = "\
Examples:
  clawscope sessions
  clawscope sessions --sort cost --filter 'age:<2d'
  clawscope sessions ~/.openclaw --agent main
  clawscope sessions --demo --json | jq -r '.sessions[].key'
  clawscope sessions KEY                   what the store knows about one

A filter has words and conditions: >80% or full:>80% (of the window), tokens:>100k, cost:>1 (USD), age:<2d, compactions:>2, \
overflows:>0, model:opus, agent:main, channel:telegram, kind:cron, id:8f1b, is:orphan, has:subagent. ! in front excludes.

A session without a name shows the start of its first user message. clawscope shortens the text that a gateway puts \
around a message to a mark such as ⟨telegram⟩, and masks secrets; --no-redact shows them.

With a SESSION: its record with its toggles, policies, overrides and counters, including fields that clawscope does not \
know, and what it cost with the sub-agents that it started. A word with a slash, or the name of an existing file or \
folder, is a store.";

pub(super) const SEARCH: &str = "\
Examples:
  clawscope search libatomic
  clawscope search timeout ~/.openclaw --limit 0
  clawscope search libatomic --json | jq -r '.sessions[].session.key'

A hit is one message that contains every word: in its text, thinking, tool calls, results or summary. clawscope does not search ids, \
images or settings of the provider. Sessions with the most hits on the active branch come first, then the most recent; the hits of a \
session are newest first. clawscope keeps the 100 newest hits of each of the 200 most recent sessions, and 10 of every \
other, but counts all of them.";

pub(super) const TREE: &str = "\
Examples:
  clawscope tree agent:main:main
  clawscope tree ./2f6c.jsonl --json | jq '.nodes[] | select(.active)'

● is on the active path, ○ on another branch, ◀ marks the active leaf. A branch is indented where it leaves the path. \
An answer that the user did not see (NO_REPLY) is marked. Secrets are masked; --no-redact shows them.";

pub(super) const CONTEXT: &str = "\
Examples:
  clawscope context agent:main:main
  clawscope context ./2f6c.jsonl --json
  clawscope context KEY --store ~/copy-of-openclaw --leaf 4fe1 --messages
  clawscope context KEY --breakdown        show what fills the window
  clawscope context KEY --set contextTokens=100000
                                           show the next call under a setting
  clawscope context KEY --estimators       show the error of each estimator
  clawscope context KEY --recorded --run 2
                                           compare with the second newest run

--breakdown adds up to the estimate. The remainder is the provider's count of the last prompt minus the estimate of the \
same prompt, with its reason.

--estimators: pi (chars/4, as pi and compaction count), gateway (chars/4, as pruning counts), weighted (chars/4 with \
the weights of 2026.9 for Chinese, Japanese and Korean), usage (the last count plus chars/4 of everything since), \
calibrated (tokens per char for each script, fitted to the counts of this session). The error is (estimate - measured) / measured; if it is negative, the estimate is too low.

--recorded compares the messages that the gateway recorded at the start of a run with those that clawscope builds from \
the transcript. It makes and lists the changes that every gateway makes first, and ignores places that the recorder cut \
or masked.";

pub(super) const EXPLAIN: &str = "\
Examples:
  clawscope explain agent:main:main
  clawscope explain KEY --json | jq -r '.verdict.line'
  clawscope explain --all --window 131072
  clawscope explain KEY --set historyLimit=50   would this have helped?
  clawscope explain KEY --recovery         what the gateway tried afterwards

The first line is the answer; the second is the change that would have fixed it. Four blocks follow: what happened, what \
made the call large, why no guard prevented it, and who counted how many tokens.

To find a fix, clawscope replays the whole session with every setting that the release reads, alone and in pairs. A change \
helps if every call fits. With --set, --settings or --window the third line says whether your change would have helped, and \
the table begins with it. `check`, `replay` and `sweep` with the same --set print the same numbers.

--recovery follows the last call that the provider refused as too large, attempt by attempt, beside what the transcript \
records. If no call was refused, it shows what the next overflow would lead to. Whether a prompt then fits is an estimate, \
scaled by the size of the refused call. Its signs: \u{26a0} refused, \u{2713} done, \u{2717} failed, \u{2192} retried.

`clawscope guide explain` describes every class of overflow.";

pub(super) const COST: &str = "\
Examples:
  clawscope cost                        sums of the store, by session and day
  clawscope cost KEY                    every call of a session
  clawscope cost KEY --json \\
      | jq '.calls[] | select(.miss.isMiss)'

The cost is that of `sessions`: every branch, with summaries and calls of tools; a ~ marks list prices.

A call misses the cache if it reads at least 1,025 tokens less than the size of the previous prompt. That is pi's own rule, so the \
sums equal those of pi 1.5. A first call, and a call after a compaction or a reset, has a new prompt and misses nothing. \
`clawscope guide cost` describes the causes.";

pub(super) const REPLAY: &str = "\
Examples:
  clawscope replay KEY                            with the settings in force
  clawscope replay KEY --set contextPruning.ttl=5m
  clawscope replay KEY --policy gateway,compact \\
      --set compaction.keepRecentTokens=30000
  clawscope replay KEY --ruleset 2026.7.1         what an upgrade would do
  clawscope replay KEY --timeline                 in sentences
  clawscope replay KEY --lost                     what was needed again
  clawscope replay KEY --all --json \\
      | jq '.calls[] | select(.simulated.overflow)'

`recorded` is the session with the settings in force and its recorded compactions; `simulated` is the same session with \
yours. Tool results and answers stay the same; an answer that the provider never gave costs nothing. Prompts are the \
provider's counts, adjusted by what your settings change; estimates have a ~. `clawscope guide replay` describes costs, \
compactions and limits.

--lost shows for every message that is missing from a prompt whether it was needed again: the model repeated the same call, \
or the model or the user used an id, path, number or error that only this message has. With other settings, it does the \
same for the prompts that those settings would have sent. Tokens and costs of repetitions are estimates at list prices. \
`clawscope guide lost` describes the rules.

Signs:
  ! overflow   \u{2717} still does not fit   \u{3a3} compacted
  ~ trimmed   \u{2702} cleared   \u{21e5} cut in the transcript";

pub(super) const SWEEP: &str = "\
Examples:
  clawscope sweep KEY                     the two settings that matter most
  clawscope sweep KEY --vary contextPruning.ttl=15m..2h:15m \\
      --vary historyLimit=5,10,20
  clawscope sweep KEY --headroom 10% --patch patch.json5
  clawscope sweep KEY --vary contextPruning.hardClearRatio=0.2..0.6:0.1 --json \\
      | jq .smallestChange

clawscope replays the whole session for every combination of the values. Best trade-offs are the combinations that no \
other beats in cost, peak and tokens freed together. The smallest change is the combination with the fewest changed \
settings in which every call fits the first time, with the headroom free; of several, the one whose values move least, \
then the cheapest.

A value `as is` keeps the configured one; any other value of a pruning setting turns pruning on. clawscope never writes openclaw.json or \
pi's settings.json: you apply the patch or the commands yourself.";

pub(super) const CHECK: &str = "\
Examples:
  clawscope check KEY --budget 90%
  clawscope check KEY --budget 150000 --set contextPruning.ttl=5m --json

Replays the session (`clawscope replay --help`). Exit code 0: every prompt fits the budget; 1: at least one does not. The \
size of a prompt is the provider's count, adjusted by what your settings change, or an estimate if there is no count. \
Without --budget, a call that the provider answered always counts as fitting.";

pub(super) const SIMULATE: &str = "\
Examples:
  clawscope simulate KEY                          pruning as configured
  clawscope simulate KEY --gates                  what it would do right now
  clawscope simulate KEY --set contextPruning.softTrimRatio=0.2 \\
      --set historyLimit=20
  clawscope simulate KEY --settings new.json5 --now 2026-03-05T15:00:00Z --json
  clawscope simulate KEY --policy gateway         what the gateway sends
  clawscope simulate KEY --policy compact \\
      --set compaction.keepRecentTokens=30000
  clawscope simulate KEY --policy compact --with extractive
                                                  write the summary, count it
  clawscope simulate KEY --summary                print the summary
  clawscope simulate KEY --summary --calls        the gateway's calls and cost

clawscope writes nothing. It applies policies in the gateway's order: compact and truncate change the transcript; \
repair, history and images run once per run; prune, guard and clear run for every call.

The gateway prunes only if mode is cache-ttl, the provider and model are eligible, and the ttl has passed since the last \
call. The preview ignores these gates and shows their state; --gates and --now respect them. `clawscope settings` lists \
the keys of --set.

The summary is assumed to be as long as the earlier summaries of the session, else 2,000 tokens. --with writes it and \
counts its length. --summary prints the one that a compaction with the session's settings would store, including the file \
lists, tool failures and workspace rules that the gateway adds in mode safeguard: the summary on standard output, \
everything else on standard error. `clawscope guide config` describes your own summarizer. ctrl-c cancels; a summary that \
fails ends with exit code 4.

Signs:
  · kept   ◆ protected   ~ soft-trimmed   ✂ cleared
  ⇥ truncated   Σ summarised   ✗ dropped";

pub(super) const COMMIT: &str = "\
Examples:
  clawscope commit KEY                            show it; write nothing
  clawscope commit KEY --apply
  clawscope commit KEY --policy compact --apply   a compaction, offline
  clawscope commit KEY --policy compact,prune --with command --apply
  clawscope undo KEY --apply                      switch back

A commit appends a new branch with the shortened results, under the gateway's own lock, if the file has not changed since \
clawscope read it. Existing lines never change and the old branch stays. For pi 1.5, clawscope appends one \
context_edit for each changed message to the active branch instead.

A compaction needs a summary. Without --with, a dry run writes it offline (extractive), so that it costs nothing; --apply \
follows config.toml. clawscope checks everything else first. If the summary fails, it writes nothing and the exit code \
is 4.

clawscope refuses to commit the history limit and the repair of tool calls: the gateway applies them in memory on every \
run and never to the file.";

pub(super) const UNDO: &str = "\
Examples:
  clawscope undo KEY                              show it; write nothing
  clawscope undo KEY --apply
  clawscope undo KEY --redo --apply               make the commit active again
  clawscope undo KEY --commit 3f9c21aa --apply    undo it and everything after
  clawscope undo KEY --list                       list commits and undos
  clawscope undo KEY --compare                    before the last commit and now
  clawscope undo KEY --compare 3f9c21aa 77d0b1e4 --all --json

An undo appends one line that makes the branch before the last commit active; the commit stays in the file. If that \
branch ends in a compaction, a copy of the compaction follows, because it must be the last line.

Every commit and undo leaves a record in the transcript, which no runtime sends to a model. A commit is active while the \
active branch contains it.

--compare matches tool results by their call, other messages by role and size; a commit's record names the messages that it \
changed. Tokens are estimates (~). Recorded costs come from the provider's answers; the next prompt's cost comes from the \
model's price.";

pub(super) const EXPORT: &str = "\
Examples:
  clawscope export KEY --format html --out session.html
  clawscope export KEY --format md --policy prune --out plan.md
  clawscope export KEY --format json | jq '.entries[] | select(.active)'
  clawscope export KEY --format svg --out screen.svg
  clawscope export KEY --format pi --out branch.jsonl
  clawscope export KEY --format pi --policy compact,history \\
      --set historyLimit=20 --out small.jsonl
  clawscope export KEY --format pi --shape-only --out report.jsonl
  clawscope export KEY --format pi --shape-only --out report/
  clawscope export --format parquet --out fleet
  clawscope export /srv/a/.openclaw /srv/b/.openclaw \\
      --format parquet --out fleet
  clawscope export --format parquet --out fleet \\
      --replay short=contextPruning.ttl=5m --query overflows-per-week

Every format replaces secrets with [redacted:KIND:N] and leaves out images; --no-redact keeps both. No rule finds every \
secret, so read the file before you share it.

--shape-only replaces every letter and digit of the conversation and keeps sizes, generated ids, times, roles, usage and the names of known tools and models, so \
that `clawscope context` prints the same numbers. If --out is a folder, clawscope adds the session's record and settings, \
and the folder opens as a store.

Without a plan, format pi contains the branch with its compactions; with a plan, the messages as they would be sent. \
clawscope does not overwrite a file without --force and does not write into a folder of sessions.

Format parquet writes one folder for each table, with one file for each session, below host=NAME/day=DATE: the UTC day on \
which the session began. A later run reads only sessions that changed, and removes those that their store no longer lists. \
A killed run leaves the old files in place. No words of a conversation are written without --text. `clawscope guide \
dataset` describes every column and recipe, and `clawscope schema parquet` prints them as JSON.";

pub(super) const WATCH: &str = "\
Examples:
  clawscope watch
  clawscope watch ~/.openclaw --session agent:main:main --json
  clawscope watch --alert 80% --alert 95%          say when a session gets full

ctrl-c stops it. Totals are estimates (~) of the context that ends at the entry.";

pub(super) const GUIDE: &str = "\
Examples:
  clawscope guide                                 list the topics
  clawscope guide keys                            print the keys
  clawscope guide explain | less";

pub(super) const RULES: &str = "\
Examples:
  clawscope rules                                 your store's release
  clawscope rules --ruleset 2026.4.15             another release
  clawscope rules --ruleset 2026.4.15 --diff 2026.7.1
  clawscope rules --releases                      every ruleset
  clawscope rules pruning-5.12                    one rule in full
  clawscope rules pruning 5                       a section
  clawscope rules --sections                      the sections of all documents

Releases with the same rules share a ruleset, named after the first of them. `clawscope replay SESSION --ruleset RELEASE` \
shows what an upgrade does to a session; `clawscope explain --all --ruleset RELEASE` what it does to a store.

Screens and reports cite rules by document and id, such as `pruning 5.12`. A citation of a part, such as `pruning 7.2e`, \
prints the rule that contains it.";

pub(super) const SETTINGS_HELP: &str = "\
Examples:
  clawscope settings                       values of your store, and defaults
  clawscope settings agent:main:main       values of one session
  clawscope settings --ruleset 2026.9.6    values under another release
  clawscope settings --markdown            the table of the guide
  clawscope settings --presets             your presets, for --settings NAME

The keys are those of --set. openclaw.json has them below agents.defaults, unless they are built into the gateway. For a key \
that the release does not read, the table shows why. `clawscope doctor` names the file and line of each value.

A preset is a file presets/NAME.toml in the folder of config.toml. Its keys are those of --set:
  \"contextPruning.ttl\" = \"30m\"
  historyLimit = 20";

pub(super) const DOCTOR: &str = "\
Examples:
  clawscope doctor
  clawscope doctor ~/copy-of-openclaw --json
  clawscope doctor --repair                       finish interrupted commits
  clawscope doctor --migration                    check the database import
  clawscope doctor --self                         this program and your terminal

Reads every transcript of the store and lists problems, the release and its ruleset, every setting in force with the file \
and line that sets it, and when each session will reset.

--repair finishes a commit that a kill, a power failure or a full disk interrupted. It takes \
the gateway's lock and never removes a byte that was in the file.

--migration compares every remaining transcript file with its session in the database, which gateways since 2026.8.1 \
use. It lists each entry that is lost, added, changed, moved, duplicated or has another parent, with its line, and \
counts the changes that the importer makes on purpose. It does not print texts.

--self shows version and build, what the terminal can do and which variable says so, the paths of settings and log, and \
which other programs clawscope found. It reads no session and asks the terminal nothing.

Exit code 3: the store, its configuration or a transcript cannot be read, or with --self clawscope's own settings. With --migration, 1: the import lost or changed \
something.";

pub(super) const COMPLETIONS: &str = "\
Examples:
  clawscope completions bash \\
      > ~/.local/share/bash-completion/completions/clawscope
  clawscope completions zsh > ~/.zfunc/_clawscope
  clawscope completions fish > ~/.config/fish/completions/clawscope.fish";

pub(super) const DEMO: &str = "\
Examples:
  clawscope demo --out ./demo
  clawscope ./demo                                open it on the screen
  clawscope commit agent:research:main --store ./demo --apply

--demo makes a new copy for each run and removes it, so nothing can be committed there.";

pub(super) const SCHEMA: &str = "\
Examples:
  clawscope schema
  clawscope schema explain > explain.schema.json";

pub(super) const MAN: &str = "\
Examples:
  clawscope man | man -l -
  clawscope man simulate > clawscope-simulate.1
  clawscope man --out ~/.local/share/man/man1     the pages of all commands";
