//! Whole replays of small sessions, field by field: every call, the sums, the events and the losses. Fields with their
//! default value are left out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::*;
use crate::gateway::models::Price;
use crate::gateway::ruleset::Ruleset;
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::settings::GuardSettings;
use crate::replay::cache::TokenSplit;
use crate::units::{Chars, Moment};

fn rounded(number: impl Into<f64>) -> String {
    let number = number.into();
    let text = format!("{number:.6}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn dollars(usd: Option<f64>) -> String {
    usd.map_or("-".to_owned(), rounded)
}

fn trim(name: &str, done: &TrimStats) -> Option<String> {
    let TrimStats { trimmed, cleared, tokens } = done;
    (*done != TrimStats::default()).then(|| format!("{name} {trimmed}+{cleared} -{}", rounded(*tokens)))
}

fn event(name: &str, done: Option<CompactionEvent>) -> Option<String> {
    let done = done?;
    let flags = [(done.by_overflow, "overflow"), (done.is_recorded, "recorded")];
    let flags: Vec<&str> = flags.into_iter().filter(|(on, _)| *on).map(|(_, word)| word).collect();
    let before =
        done.tokens_before.map(|it| format!("{}{}", if it.is_estimate { "~" } else { "" }, it.tokens.get()));
    Some(format!(
        "{name} {}x {} -{} messages -{} before {} cost {} recorded {}",
        done.count,
        flags.join(" "),
        done.messages,
        rounded(done.tokens),
        before.unwrap_or_else(|| "-".to_owned()),
        dollars(done.summary_cost),
        dollars(done.summary_recorded),
    ))
}

fn call_line(at: usize, call: &CallReplay) -> String {
    let flags = [(call.overflowed, "overflowed"), (call.failed, "failed"), (call.is_measured, "measured")];
    let flags = flags.into_iter().filter(|(on, _)| *on).map(|(_, word)| word.to_owned());
    let entry = |name: &str, ix: Option<EntryIx>| ix.map(|ix| format!("{name} e{}", ix.0));
    let gate = call.gate.reason().map_or_else(|| format!("{:?}", call.gate), |why| why.word().to_owned());
    let details = [
        trim("pruned", &call.pruned),
        trim("guarded", &call.guarded),
        trim("cleared", &call.cleared),
        trim("history", &call.history_trim),
        trim("reduced", &call.reduce_trim),
        call.checked.map(|route| format!("{route:?}")),
        event("compacted", call.compacted.as_deref().copied()),
        event("compacted after", call.compacted_after.as_deref().copied()),
        event("truncated", call.truncated.as_deref().copied()),
        entry("changed", call.first_changed),
        entry("prefix", call.prefix_changed),
    ];
    let TokenSplit { read, write, input, output } = call.split;
    let split = [read, write, input, output].map(rounded).join("/");
    let costs = [call.cost, call.recorded_cost, call.modelled_cost, call.cache_cost].map(dollars).join("/");
    let head = format!(
        "  #{at} {} {:?} {} in {}: {gate}; {split}; {costs}; {}",
        rounded(call.tokens),
        call.size_source,
        rounded(call.expected),
        call.messages,
        rounded(call.total_cost),
    );
    std::iter::once(head).chain(flags).chain(details.into_iter().flatten()).collect::<Vec<_>>().join("; ")
}

fn totals_line(name: &str, totals: &TraceTotals) -> String {
    let TraceTotals { peak, answered, refused, cost_breakdown: cost, .. } = totals;
    let prompt = |(tokens, at): &(Tokens, Option<usize>)| format!("{}@{at:?}", rounded(*tokens));
    let sizes = [
        totals.largest_prompt,
        totals.freed_tokens,
        totals.withheld_tokens,
        totals.removed_tokens,
        totals.cache_read,
        totals.cache_write,
        totals.input,
    ];
    format!(
        "  {name}: calls {} overflows {} failed {} measured {} peak {} {} answered {} refused {} changed {} compactions {}; {}; cost {} modelled {} summaries {} recorded {} listed {} unrecorded {}+{}",
        totals.calls,
        totals.overflows,
        totals.failed,
        totals.measured_calls,
        prompt(peak),
        totals.peak_is_measured,
        prompt(answered),
        prompt(refused),
        totals.changed_messages,
        totals.compactions,
        sizes.map(rounded).join("/"),
        dollars(totals.cost),
        dollars(totals.modelled_cost),
        rounded(totals.summary_cost),
        dollars(cost.recorded),
        dollars(cost.listed),
        cost.unrecorded_calls,
        cost.unrecorded_summaries,
    )
}

fn loss_line(loss: &ContextLoss) -> String {
    let until = loss.until_call.map_or_else(String::new, |call| call.to_string());
    format!(
        "    e{} {} {}..{until} {} -> {}",
        loss.entry.0,
        loss.cause.as_str(),
        loss.from_call,
        rounded(loss.tokens_before),
        rounded(loss.tokens_after)
    )
}

fn event_line(event: &PolicyEvent) -> String {
    format!(
        "    {} at #{} for {} at +{}m: {} messages from {:?}, {} tokens, {}",
        event.kind.word(),
        event.call,
        event.calls,
        rounded((event.time.get() - START as f64) / MINUTE as f64),
        event.messages,
        event.first.map(|ix| ix.0),
        rounded(event.tokens),
        dollars(event.cost)
    )
}

fn stats_line(stats: &FiringStats) -> String {
    let numbers = [stats.tokens.get(), stats.cost, stats.call_interval, stats.freed_share].map(rounded);
    format!("    {} {}x {}", stats.kind.word(), stats.times, numbers.join(" "))
}

/// Everything that a replay says of a session: the recorded trace, and the simulated one.
pub(super) fn described(
    session: &ReplaySession<'_>,
    recorded: &Settings,
    simulated: &Settings,
) -> [String; 2] {
    let both = replay(session, recorded, simulated);
    let record = RecordedTrace::new(session, recorded);
    let log = firing_log(&both, session.provider_window);
    let trace = |calls: &[CallReplay], totals: &TraceTotals, losses: &[ContextLoss]| {
        let calls = calls.iter().enumerate().map(|(at, call)| call_line(at, call));
        let sums = std::iter::once(totals_line("sum", totals));
        calls.chain(sums).chain(losses.iter().map(loss_line)).collect::<Vec<_>>()
    };
    let [was, would] = both.totals();
    let mut first = trace(&both.recorded, &was, &context_losses(session, recorded, &record, false));
    first.push(format!("  contradicted {:?}", contradicted_policies(&record).iter().collect::<Vec<_>>()));
    let mut second = trace(&both.simulated, &would, &context_losses(session, simulated, &record, true));
    second.extend(log.events.iter().map(event_line).chain(log.stats.iter().map(stats_line)));
    [first, second].map(|lines| lines.join("\n"))
}

pub(super) fn described_at_once([recorded, simulated]: [String; 2]) -> String {
    format!("  recorded\n{recorded}\n  simulated\n{simulated}")
}

/// Features under a ruleset, as sessions have them.
fn features(script: &Script, ruleset: Ruleset) -> Vec<Option<Arc<ContentFeatures>>> {
    let message = |line: &str| js::parse(line).expect("JSON").get("message").cloned();
    let features = |line: &str| Some(Arc::new(ContentFeatures::of_under(ruleset.rules(), &message(line)?)));
    script.text.lines().map(features).collect()
}

pub(super) struct Story {
    pub(super) name: &'static str,
    pub(super) script: Script,
    pub(super) window: f64,
    pub(super) refused: Vec<RefusedCall>,
    pub(super) recorded: Settings,
    pub(super) simulated: Settings,
}

impl Story {
    pub(super) fn new(name: &'static str, script: Script, policies: &[Policy]) -> Self {
        let (recorded, simulated) = (settings(&[]), settings(policies));
        Self { name, script, window: 10_000.0, refused: Vec::new(), recorded, simulated }
    }

    pub(super) fn under(mut self, ruleset: Ruleset) -> Self {
        self.recorded.policies.ruleset = ruleset;
        self.simulated.policies.ruleset = ruleset;
        self
    }

    pub(super) fn with(mut self, change: impl Fn(&mut Settings)) -> Self {
        change(&mut self.simulated);
        self
    }

    pub(super) fn ask<T>(&self, ask: impl FnOnce(&ReplaySession<'_>) -> T) -> T {
        let features = features(&self.script, self.simulated.policies.ruleset);
        let features = Some(features).filter(|_| self.script.has_texts);
        self.script.with_session(Tokens(self.window), &self.refused, |session| {
            let features = features.as_deref();
            ask(&ReplaySession {
                features,
                fixed_pressure: FixedPressure { system: Tokens(30.0), ..FixedPressure::default() },
                fixed_tokens: 50,
                ..*session
            })
        })
    }

    pub(super) fn told_of(&self, session: &ReplaySession<'_>) -> String {
        described_at_once(described(session, &self.recorded, &self.simulated))
    }
}

pub(super) fn texts() -> Script {
    Script { has_texts: true, ..Script::default() }
}

/// Three runs with a large result each.
pub(super) fn results() -> Script {
    let run = |script: Script, prompt: u64| {
        script
            .after(7)
            .user()
            .answer(prompt, true)
            .result(9_000)
            .answer(prompt + 2_300, true)
            .result(3_000)
            .answer(prompt + 3_100, false)
    };
    run(run(run(texts(), 50), 3_200), 6_300)
}

/// Runs whose results answer no call, come twice or are missing.
pub(super) fn unpaired() -> Script {
    let script = texts().user().answer(40, true).user().answer(90, true).result(800).result(900);
    script
        .after(7)
        .user()
        .answer(300, true)
        .result(4_000)
        .answer(1_200, false)
        .after(1)
        .user()
        .answer(1_250, false)
}

pub(super) fn pictures() -> Script {
    let image = r#"{"type":"image","mimeType":"image/png","data":"QUJD"}"#;
    let shown = |script: Script| {
        script.entry(&format!(r#""type":"message","message":{{"role":"user","content":[{image}]}}"#))
    };
    let drawn = |script: Script| {
        let id = script.entries - 1;
        script.entry(&format!(
            r#""type":"message","message":{{"role":"toolResult","toolCallId":"c{id}","toolName":"draw","content":[{image}],"details":{{"path":"a.png"}}}}"#
        ))
    };
    let script = shown(texts()).answer(1_500, false).after(1).user().answer(1_600, true);
    let script = drawn(script).answer(2_900, false);
    let script = shown(script).answer(4_300, false).user().answer(4_400, false).user().answer(4_500, false);
    script.user().answer(4_600, false)
}

/// A compaction in the transcript, with results around it.
pub(super) fn summarised() -> Script {
    let script = texts()
        .user()
        .answer(2_000, true)
        .result(4_000)
        .answer(3_100, false)
        .user()
        .answer(3_200, true)
        .result(2_000);
    let script = script
        .answer(3_800, false)
        .after(2)
        .entry(r#""type":"compaction","summary":"so far","firstKeptEntryId":"e4","tokensBefore":3900"#);
    script.user().answer(1_100, true).result(6_000).answer(2_700, false)
}

pub(super) fn refused_run() -> Script {
    let script = results().after(1).user().refused("prompt is too long: 12000 tokens > 10000 maximum");
    script.user().answer(9_500, false)
}

fn stories() -> Vec<Story> {
    use Policy::{Check, Clear, Compact, Guard, History, Images, Prune, Reduce, Repair, Truncate};
    let refused = || vec![refused_at(refused_run().entries as u32 - 3, Some(12_000.0), Some(10_000.0))];
    let small_guard = |all: &mut Settings| {
        all.policies.guard = GuardSettings { budget_share: 0.3, single_share: 0.05 };
    };
    let clearing = |all: &mut Settings| {
        all.policies.clear = ClearSettings { trigger: 900.0, keep: 1.0, ..ClearSettings::default() };
    };
    let two_turns = |all: &mut Settings| all.policies.history_limit = 1.0;
    let budget = |all: &mut Settings| {
        (all.policies.reduce.all_chars, all.policies.reduce.keeps_sent) = (Chars(15_000.0), false);
        all.policies.truncate.max_chars = Chars(4_000.0);
    };
    let compacting = Story {
        refused: refused(),
        ..Story::new("a refused prompt is compacted", refused_run(), &[Compact])
    };
    let truncating = Story {
        refused: refused(),
        ..Story::new("a refused prompt is truncated", refused_run(), &[Compact, Truncate])
    };
    vec![
        Story::new("pruned after pauses", results(), &[Prune]),
        Story::new("hard-cleared after pauses", results(), &[Prune, Guard])
            .with(|all| all.policies.prune.hard_clear_ratio = 0.2),
        Story::new("guarded 2026.3.2", results(), &[Guard]).under(Ruleset::V2026_3_2).with(small_guard),
        Story::new("guarded 2026.3.22", results(), &[Guard]).under(Ruleset::V2026_3_22).with(small_guard),
        Story::new("guarded 2026.4.5", results(), &[Guard]).under(Ruleset::V2026_4_5).with(small_guard),
        Story::new("guarded 2026.4.8", results(), &[Guard]).under(Ruleset::V2026_4_7).with(small_guard),
        Story::new("guarded 2026.9.2", results(), &[Guard]).under(Ruleset::V2026_9_6).with(small_guard),
        Story::new("cleared", results(), &[Clear]).with(clearing),
        Story::new("pruned, guarded and cleared", results(), &[Prune, Guard, Clear])
            .with(small_guard)
            .with(clearing),
        Story::new("cleared with the arguments", results(), &[Clear])
            .with(clearing)
            .with(|all| all.policies.clear.clear_tool_inputs = true),
        Story::new("one turn 2026.3.2", results(), &[Repair, History])
            .under(Ruleset::V2026_3_2)
            .with(two_turns),
        Story::new("one turn 2026.9.2", summarised(), &[Repair, History])
            .under(Ruleset::V2026_9_6)
            .with(two_turns),
        Story::new("one turn behind a summary", summarised(), &[History, Guard])
            .with(small_guard)
            .with(|all| all.policies.history_limit = 1.0),
        Story::new("a budget of all results", results(), &[Reduce]).under(Ruleset::V2026_5_2).with(budget),
        Story::new("a budget of all results, pruned", results(), &[Reduce, Prune])
            .under(Ruleset::V2026_5_2)
            .with(budget),
        Story::new("repaired", unpaired(), &[Repair]),
        Story::new("repaired and pruned", unpaired(), &[Repair, Prune, Guard]).with(small_guard),
        Story::new("repaired 2026.9.2", unpaired(), &[Repair, Images, History])
            .under(Ruleset::V2026_9_6)
            .with(two_turns),
        Story::new("images 2026.2.19", pictures(), &[Repair, Images]).under(Ruleset::V2026_2_17),
        Story::new("images 2026.4.8", pictures(), &[Repair, Images]).under(Ruleset::V2026_4_7),
        Story::new("images 2026.9.2", pictures(), &[Repair, Images]).under(Ruleset::V2026_9_6),
        Story::new("a written compaction", summarised(), &[Repair, Guard]).with(small_guard),
        Story::new("a written compaction is made again", summarised(), &[Compact])
            .with(|all| all.policies.compaction.reserve_tokens = Tokens(6_300.0)),
        compacting,
        truncating,
        Story {
            refused: refused(),
            ..Story::new("a refused prompt is checked", refused_run(), &[Check, Compact, Truncate])
                .under(Ruleset::V2026_5_2)
        }
        .with(|all| all.policies.check.mid_turn = true),
        Story { refused: refused(), ..Story::new("a smaller prompt fits", refused_run(), &[]) }
            .with(|all| all.assumptions.fixed_reduction = 4_000.0),
        Story::new("usage is assumed", results(), &[Compact]).with(|all| {
            all.assumptions = Assumptions {
                runtime_window: Some(Tokens(8_000.0)),
                assume_usage: true,
                ideal_compaction: true,
                ..Assumptions::default()
            };
        }),
    ]
}

/// Tells stories; a recorded trace that was described before is named by its number.
pub(super) fn told_all(stories: &[Story]) -> String {
    let mut known = Vec::new();
    let mut lines = Vec::new();
    for story in stories {
        let [recorded, simulated] =
            story.ask(|session| described(session, &story.recorded, &story.simulated));
        lines.push(story.name.to_owned());
        if let Some(number) = known.iter().position(|other| *other == recorded) {
            lines.push(format!("  recorded as {number}"));
        } else {
            lines.push(format!("  recorded {}\n{recorded}", known.len()));
            known.push(recorded);
        }
        lines.push(format!("  simulated\n{simulated}\n"));
    }
    lines.join("\n")
}

#[test]
fn small_sessions_are_replayed_field_by_field() {
    insta::assert_snapshot!(told_all(&stories()));
}

/// Answers of two models, with a change of thinking, an aborted call that was billed, and costs of the file.
fn two_models() -> Script {
    let answer = |script: Script, model: &str, stop: &str, usage: &str| {
        script.entry(&format!(
            r#""type":"message","message":{{"role":"assistant","provider":"p","model":"{model}","content":[{{"type":"text","text":"done, and at some length"}}],"stopReason":"{stop}","usage":{usage}}}"#
        ))
    };
    let usage = |input: u64, read: u64, rest: &str| {
        format!(
            r#"{{"input":{input},"output":20,"cacheRead":{read},"cacheWrite":0,"totalTokens":{}{rest}}}"#,
            input + read + 20
        )
    };
    let script = answer(Script::default().user(), "large", "stop", &usage(3_000, 0, ""));
    let script =
        answer(script.after(1).user(), "large", "stop", &usage(100, 3_000, r#","cost":{"total":0.5}"#));
    let script = script.entry(r#""type":"thinking_level_change","thinkingLevel":"high""#);
    let script = answer(script.after(1).user(), "large", "aborted", &usage(70, 3_100, ""));
    let script = answer(script.user(), "large", "stop", &usage(3_300, 0, r#","cost":{"total":0}"#));
    let script = script.entry(r#""type":"model_change","provider":"p","modelId":"small""#);
    let script = answer(script.after(1).user(), "small", "stop", &usage(3_500, 0, ""));
    let script = answer(script.after(2).user(), "small", "length", &usage(3_700, 0, ""));
    answer(script.after(90).user(), "small", "stop", &usage(3_800, 0, ""))
}

#[test]
fn each_model_has_its_window_and_its_price_and_a_record_may_know_less() {
    let compacting = Story::new("two models", two_models(), &[Policy::Compact]);
    let price = Price::flat([2.0, 8.0, 0.25, 3.0]);
    let described = compacting.ask(|session| {
        let keys: Vec<_> = session.path.iter().filter_map(|ix| session.index.entry(*ix).model).collect();
        let (large, small) = (keys[0], keys[keys.len() - 1]);
        let windows =
            HashMap::from([(small, ModelLimits { provider: Tokens(4_000.0), runtime: Tokens(4_600.0) })]);
        let prices = HashMap::from([(large, Some(price)), (small, None)]);
        let (short, unreliable) = (HashSet::from([EntryIx(12)]), HashSet::from([EntryIx(3)]));
        let known =
            ReplaySession { windows: &windows, prices: &prices, retention: Retention::Long, ..*session };
        let less = ReplaySession {
            price: None,
            cut_short: &short,
            unreliable_answers: &unreliable,
            mode: CompactionMode::Safeguard,
            retention: Retention::None,
            ..*session
        };
        [known, less].map(|session| compacting.told_of(&session)).join("\n")
    });
    insta::assert_snapshot!(described);
}

#[test]
fn fitted_factors_recorded_touches_and_eligibility_are_respected() {
    let both = &[Policy::Prune, Policy::Guard, Policy::Compact];
    let story = Story::new("fitted", results(), both)
        .with(|all| all.policies.compaction.reserve_tokens = Tokens(4_000.0));
    let weights: Vec<Tokens> =
        (0..story.script.entries).map(|at| Tokens(11.5 + (at % 7) as f64 * 303.25)).collect();
    let described = story.ask(|session| {
        let fit = Some(Calibrated { fixed: Tokens(99.75), weights: &weights });
        let touches =
            [(EntryIx(5), Moment::from_whole(START)), (EntryIx(11), Moment::from_whole(START + 600_000))];
        let fitted = ReplaySession { calibrated: fit, drops_thinking: true, ..*session };
        let touched = ReplaySession { cache_touches: &touches, ..*session };
        let barred = ReplaySession { prune_eligible: false, ..*session };
        let mut eligible = story.simulated.clone();
        eligible.assumptions.prune_eligible = true;
        [
            story.told_of(&fitted),
            story.told_of(&touched),
            described_at_once(described(&barred, &story.simulated, &eligible)),
        ]
        .join("\n")
    });
    insta::assert_snapshot!(described);
}

#[test]
fn a_projecting_runtime_edits_its_context_and_compacts_between_turns() {
    let edit = |script: Script, target: usize, replacement: &str| {
        script.entry(&format!(r#""type":"context_edit","targetId":"e{target}","replacement":{replacement}"#))
    };
    let script = Script { is_projected: true, ..texts() };
    let script = script.user().answer(900, true).result(6_000).answer(2_500, true).result(3_000);
    let script = edit(script, 2, r#"{"content":[{"type":"text","text":"short"}]}"#).answer(1_900, false);
    let script =
        edit(script.after(7).user().answer(2_000, true).result(9_000), 4, "null").answer(4_400, true);
    let script = edit(script.result(800), 99, "null").answer(4_700, false);
    let described =
        [&[Policy::Compact][..], &[Policy::Repair, Policy::Prune, Policy::Guard]].map(|policies| {
            let story = Story::new("edited", script.clone(), policies).under(Ruleset::Pi1_5);
            let story = story.with(|all| all.policies.compaction.reserve_tokens = Tokens(5_200.0));
            let story =
                Story { recorded: Settings { window: Tokens(9_000.0), ..story.recorded.clone() }, ..story };
            story.ask(|session| story.told_of(session))
        });
    insta::assert_snapshot!(described.join("\n"));
}
