//! A replay in one pass equals making every call again, with all policies of a run and of a call together, under the
//! rules of every version, at gates that are computed again too.

use std::collections::HashMap;

use clawscope::context::tokens::chars4::estimate_or_zero;
use clawscope::context::{Context, bodies, build_context};
use clawscope::gateway::pruning::{PruneSettings, SoftTrim};
use clawscope::gateway::ruleset::Ruleset;
use clawscope::ids::EntryIx;
use clawscope::policy::clear_tool_uses::{ClearSettings, ClearedBy, TokenCounting, clear_list};
use clawscope::policy::features::ContentFeatures;
use clawscope::policy::guard::guard_list;
use clawscope::policy::history_range::limit_history_under;
use clawscope::policy::images::remove_seen_images;
use clawscope::policy::message_list::{MessageList, MessageOrigin, PlannedMessage};
use clawscope::policy::prune::{Gate, RoundInput, gate_under, prune_list, prune_round_list};
use clawscope::policy::repair::{pair_list, repair_list};
use clawscope::policy::settings::{GuardSettings, ReduceSettings};
use clawscope::policy::truncate::reduce_list;
use clawscope::policy::{Fate, MessageFate, Policy, PolicySet, PolicySettings};
use clawscope::replay::{
    Assumptions, CallReplay, ModelCall, PromptSizeSource, RecordedTrace, ReplaySession, Settings,
    TraceTotals, TrimStats, recorded_trace, simulated_totals, simulated_trace,
};
use clawscope::session::LoadedSession;
use clawscope::session::replay_inputs::ReplayInputs;
use clawscope::store::entry::{EntryKind, Role};
use clawscope::transcript::Leaf;
use proptest::prelude::*;

use crate::support::generate::{Options, transcript};
use crate::support::inspected::inspected;
use crate::support::session;
use clawscope::units::{Chars, Millis, Moment, Tokens};

const RUN_AND_CALL: [Policy; 6] =
    [Policy::Repair, Policy::History, Policy::Images, Policy::Prune, Policy::Guard, Policy::Clear];

fn settings(steps: &[Policy], ruleset: Ruleset, window: f64, history: f64) -> Settings {
    let prune = PruneSettings {
        ttl_ms: Millis(60_000.0),
        keep_last_assistants: if window < 2_000.0 { 2.0 } else { 1.0 },
        soft_trim_ratio: 0.1,
        hard_clear_ratio: 0.4,
        min_prunable_tool_chars: Chars(10.0),
        soft_trim: SoftTrim {
            max_chars: Chars(60.0),
            head_chars: Chars(10.0),
            tail_chars: Chars(10.0),
            ..PruneSettings::default().soft_trim
        },
        ..PruneSettings::default()
    };
    let steps = PolicySettings {
        ruleset,
        enabled: PolicySet::of(steps),
        history_limit: history,
        guard: GuardSettings { budget_share: 0.6, single_share: 0.2 },
        reduce: ReduceSettings { all_chars: Chars(300.0), keeps_sent: false },
        clear: ClearSettings { trigger: 400.0, keep: 1.0, ..ClearSettings::default() },
        ..PolicySettings::pruning_only(prune)
    };
    Settings {
        policies: steps,
        prune_on: true,
        window: Tokens(window),
        guard_window: Tokens(window),
        assumptions: Assumptions::default(),
    }
}

/// A session with all its data, for the rules of a version.
struct Opened {
    _file: session::Session,
    session: LoadedSession,
    inputs: ReplayInputs,
    features: HashMap<EntryIx, ContentFeatures>,
}

impl Opened {
    fn new(seed: u64, options: &Options, ruleset: Ruleset, lost: bool) -> Self {
        let written = with_two_tools(transcript(seed, options));
        let file = session::Session::new(&if lost { without_some_calls(seed, written) } else { written });
        let mut session = inspected(&file.path);
        session.ruleset.id = ruleset;
        let all =
            Policy::ALL.into_iter().fold(PolicySet::NONE, |policies, policy| policies.with(policy, true));
        let inputs = ReplayInputs::read(&session, all).expect("reads").without_calibration();
        let features = features_of(&session, ruleset);
        Self { _file: file, session, inputs, features }
    }

    fn context_before(&self, place: usize) -> Context {
        let Some(before) = place.checked_sub(1) else { return Context::default() };
        let path = &self.session.context.path;
        let leaf = Leaf::Id(self.session.index.display_id(path[before]));
        build_context(&self.session.index, &self.session.tree, &leaf).expect("builds")
    }
}

/// Gives every third result another tool.
fn with_two_tools(transcript: Vec<u8>) -> Vec<u8> {
    let mut text = String::from_utf8(transcript).expect("it is written so");
    for call in (0..200).step_by(3) {
        let named = |tool: &str| format!("\"toolCallId\":\"call_{call}\",\"toolName\":\"{tool}\"");
        text = text.replace(&named("read"), &named("exec"));
    }
    text.into_bytes()
}

/// About every fifth result answers a missing call, whose real call has no result; some answers failed.
fn without_some_calls(seed: u64, transcript: Vec<u8>) -> Vec<u8> {
    let mut text = String::from_utf8(transcript).expect("it is written so");
    for call in (0..200).filter(|call| (seed ^ call).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61 == 0) {
        text = text
            .replace(&format!("\"toolCallId\":\"call_{call}\""), &format!("\"toolCallId\":\"lost_{call}\""));
    }
    with_failed_answers(seed, &text)
}

/// Makes about every third answer with calls fail.
fn with_failed_answers(seed: u64, transcript: &str) -> Vec<u8> {
    let mut text = String::new();
    for (at, line) in (0_u64..).zip(transcript.lines()) {
        let failed = (seed ^ (at << 7)).wrapping_mul(0x9E37_79B9_7F4A_7C15).is_multiple_of(3);
        let stop = if failed { "error" } else { "toolUse" };
        text += &line.replace("\"stopReason\":\"toolUse\"", &format!("\"stopReason\":\"{stop}\""));
        text.push('\n');
    }
    text.into_bytes()
}

fn features_of(session: &LoadedSession, ruleset: Ruleset) -> HashMap<EntryIx, ContentFeatures> {
    let LoadedSession { source, index, context, .. } = session;
    let has_message = |ix: &&EntryIx| {
        let entry = index.entry(**ix);
        entry.message.is_some() && (entry.becomes_message() || entry.kind == EntryKind::Compaction)
    };
    let features = |ix: &EntryIx| {
        let entry = clawscope::store::body::read_entry(source, index, *ix).expect("its line");
        let message = bodies::entry_message(&entry, index.entry(*ix).kind);
        (*ix, ContentFeatures::of_under(ruleset.rules(), &message))
    };
    context.path.iter().filter(has_message).map(features).collect()
}

/// The numbers of a call.
#[derive(Debug, PartialEq)]
struct Made {
    gate: Gate,
    tokens: f64,
    messages: usize,
    done: [(u32, u32); 4],
}

impl Made {
    fn of(call: &CallReplay) -> Self {
        let done = |done: TrimStats| (done.trimmed, done.cleared);
        Self {
            gate: call.gate,
            tokens: call.tokens.get(),
            messages: call.messages,
            done: [call.pruned, call.guarded, call.cleared, call.reduce_trim].map(done),
        }
    }
}

/// A trace made call by call, each from the transcript.
struct Naive<'a> {
    opened: &'a Opened,
    session: ReplaySession<'a>,
    settings: &'a Settings,
    touch: Option<Moment>,
    assumed: Option<Moment>,
    /// The end of the previous call, and whether its run compacted.
    before: Option<Moment>,
    compacted: bool,
    /// Start of the run.
    run: usize,
}

impl Naive<'_> {
    /// Returns the numbers of a call; `None` after a compaction within its run, because the transcript does not record
    /// what earlier runs removed.
    fn call(&mut self, calls: &[ModelCall], at: usize) -> Option<Made> {
        let (opened, path) = (self.opened, self.session.path);
        let call = &calls[at];
        let from = at.checked_sub(1).map_or(0, |before| calls[before].path_index);
        let index = &opened.session.index;
        let compacts = |place: usize| index.entry(path[place]).kind == EntryKind::Compaction;
        let speaks = |place: &usize| {
            let entry = index.entry(path[*place]);
            let answers = matches!(entry.role(), Some(Role::Assistant | Role::ToolResult));
            entry.becomes_message() && entry.message.is_some() && !answers
        };
        if let Some(start) = (from..call.path_index).find(speaks) {
            self.compacted |= (from..start).any(compacts);
            self.begin_run(start);
            self.compacted = (start..call.path_index).any(compacts);
        } else {
            self.compacted |= (from..call.path_index).any(compacts);
        }
        self.before = Some(call.ended);
        let policies = &self.settings.policies;
        let prune = self.settings.prune_on.then_some(&policies.prune);
        let gate = gate_under(
            policies.ruleset.rules(),
            prune,
            self.session.prune_eligible,
            self.touch,
            call.started,
        );
        let context = opened.context_before(call.path_index);
        let features: Vec<ContentFeatures> =
            context.messages.iter().map(|message| opened.features[&message.entry].clone()).collect();
        let loaded = opened.context_before(self.run).messages.len();
        let (made, touched) = self.make(&context, &features, if self.compacted { 0 } else { loaded }, gate);
        if touched {
            self.touch = Some(call.started);
        }
        Some(made).filter(|_| !self.compacted)
    }

    fn begin_run(&mut self, start: usize) {
        if let Some(ended) = self.before.filter(|_| self.session.prune_eligible && !self.compacted) {
            self.assumed = Some(ended);
        }
        let ix = self.session.path[start];
        let recorded = self.session.cache_touches.iter().rev().find(|(touched, _)| *touched < ix);
        let recorded = recorded.map(|(_, time)| *time);
        self.touch = if self.session.cache_touches.is_empty() { self.assumed } else { recorded };
        self.run = start;
    }

    fn make(
        &self,
        context: &Context,
        features: &[ContentFeatures],
        loaded: usize,
        gate: Gate,
    ) -> (Made, bool) {
        let settings = &self.settings.policies;
        let (rules, policies) = (settings.ruleset.rules(), settings.enabled);
        let item = |at: usize| PlannedMessage { origin: MessageOrigin::Context(at as u32), change: None };
        let mut list = MessageList::from_context(context, Some(features));
        list.messages_mut().truncate(loaded);
        if policies.has(Policy::Repair) {
            repair_list(&mut list, self.session.repair);
        }
        if policies.has(Policy::History) {
            let count = list.len();
            limit_history_under(rules, &mut list, settings.history_limit, count);
            if policies.has(Policy::Repair) {
                pair_list(&mut list, self.session.repair);
            }
        }
        if policies.has(Policy::Images) {
            remove_seen_images(&mut list, rules);
        }
        let mut reduced = (0, 0);
        if policies.has(Policy::Reduce) {
            let (truncate, reduce) = (&settings.truncate, &settings.reduce);
            reduced = tally(&reduce_list(&mut list, rules, self.settings.window, truncate, reduce));
        }
        if list.is_empty() && loaded > 0 {
            // An empty list is not taken over.
            *list.messages_mut() = (0..loaded).map(item).collect();
        }
        list.messages_mut().extend((loaded..context.messages.len()).map(item));
        let mut done = [(0, 0), (0, 0), (0, 0), reduced];
        let mut touched = false;
        if policies.has(Policy::Prune) {
            let words = &self.opened.session.index.values;
            let (prune, window) = (&settings.prune, self.settings.window);
            let pruned = if rules.needs_text_features() {
                let (remembered, drops_thinking) = (None, self.session.drops_thinking);
                let input = RoundInput { words, settings: prune, window, gate, remembered, drops_thinking };
                prune_round_list(&mut list, rules, input)
            } else {
                prune_list(&mut list, rules, words, prune, window, gate)
            };
            if let Ok(outcome) = pruned {
                done[0] = tally(&outcome.fates);
                touched = outcome.has_changes();
            }
        }
        if policies.has(Policy::Guard)
            && let Ok((fates, _)) = guard_list(&mut list, rules, self.settings.guard_window, &settings.guard)
        {
            done[1] = tally(&fates);
        }
        if policies.has(Policy::Clear)
            && let Ok((fates, _)) = clear_list(&mut list, &settings.clear)
        {
            done[2] = tally(&fates);
        }
        let sum: u64 = list.sizes().map(|size| estimate_or_zero(&size)).sum();
        let tokens = (self.opened.session.fixed_tokens() + sum) as f64;
        (Made { gate, tokens, messages: list.len(), done }, touched)
    }
}

fn tally(fates: &[MessageFate]) -> (u32, u32) {
    let count = |of: &[Fate]| fates.iter().filter(|fate| of.contains(&fate.fate)).count() as u32;
    (count(&[Fate::SoftTrimmed, Fate::Truncated]), count(&[Fate::Cleared]))
}

/// Each parameter of clearing, by the client and by a server.
fn clearings() -> [ClearSettings; 9] {
    let plain = || ClearSettings { trigger: 150.0, keep: 2.0, ..ClearSettings::default() };
    let server = |clear_at_least: f64| ClearSettings {
        cleared_by: ClearedBy::Server { prompt_tokens: 100 },
        clear_at_least,
        ..plain()
    };
    [
        plain(),
        ClearSettings { clear_at_least: 40.0, counting: TokenCounting::Model, ..plain() },
        ClearSettings { exclude_tools: vec!["exec".into()], ..plain() },
        server(60.0),
        ClearSettings { clear_at_least: 90.0, keep: 0.0, ..plain() },
        ClearSettings { counting: TokenCounting::Model, ..server(0.0) },
        ClearSettings { keep: -3.0, ..plain() },
        ClearSettings { clear_tool_inputs: true, ..plain() },
        ClearSettings { placeholder: "cleared, as it was long ago".into(), clear_at_least: 60.0, ..plain() },
    ]
}

/// The number of calls on which each policy acted, over the traces that were compared with naive ones.
type Acted = [u32; 4];

fn compare(opened: &Opened, session: &ReplaySession<'_>, settings: &Settings, acted: &mut Acted) {
    let nothing = Settings {
        policies: PolicySettings { enabled: PolicySet::NONE, ..settings.policies.clone() },
        ..settings.clone()
    };
    let always = || true;
    let record = recorded_trace(session, &nothing, &always).expect("wanted");
    let trace = simulated_trace(session, settings, &record, &always).expect("wanted");
    let totals = simulated_totals(session, settings, &record, &always);
    assert_eq!(totals, Some(TraceTotals::of(&record.calls, &trace)));
    let (touch, assumed) = (None, None);
    let mut naive =
        Naive { opened, session: *session, settings, touch, assumed, before: None, compacted: false, run: 0 };
    for (at, sent) in trace.iter().enumerate() {
        let Some(made) = naive.call(&record.calls, at) else { continue };
        assert_eq!(
            Made::of(sent),
            made,
            "#{at} under {:?} {}",
            settings.policies.enabled,
            settings.policies.ruleset.id()
        );
        acted.iter_mut().zip(made.done).for_each(|(acted, done)| *acted += u32::from(done != (0, 0)));
        assert_same(sent, &record, at);
    }
}

/// Asserts that the parts of a call add up to it.
fn assert_same(sent: &CallReplay, record: &RecordedTrace, at: usize) {
    let split = sent.split.read + sent.split.write + sent.split.input;
    let is_counted = !sent.failed && sent.size_source != PromptSizeSource::Unknown;
    assert!(
        !is_counted || sent.is_measured || (split - sent.expected).abs() < Tokens(1e-6),
        "#{at}: {sent:?}"
    );
    let own = &record.trace[at];
    let moved = own.expected + (sent.tokens - own.tokens);
    // Nothing can remove more than its share.
    let least = own.expected * (sent.tokens / own.tokens).min(1.0);
    let expected = moved.max(least).max(Tokens::ZERO);
    assert!((sent.expected - expected).abs() < Tokens(1e-6), "#{at}: {sent:?}");
}

/// Sessions with a user message before the first call, as in every real one.
fn options(compactions: bool) -> Options {
    Options { steps: 24, unknown: false, compactions, ..Options::default() }
}

/// The parts of a session, and the settings of its replay.
#[derive(Debug, Clone, Copy)]
struct Case {
    seed: u64,
    window: f64,
    history: f64,
    ruleset: Ruleset,
    compactions: bool,
    lost: bool,
}

fn of_all_steps(case: Case, acted: &mut Acted) {
    let Case { seed, window, history, ruleset, compactions, lost } = case;
    let opened = Opened::new(seed, &options(compactions), ruleset, lost);
    let whole = opened.inputs.replay_session(&opened.session);
    let untouched = ReplaySession { cache_touches: &[], ..whole };
    for session in [whole, untouched] {
        let session = ReplaySession { prune_eligible: true, ..session };
        for policies in [
            &[Policy::Prune, Policy::Guard][..],
            &[Policy::Repair, Policy::Guard],
            &[Policy::Repair, Policy::Images, Policy::Prune],
            &[Policy::Repair, Policy::History, Policy::Reduce, Policy::Prune, Policy::Guard],
            &[Policy::Repair, Policy::History, Policy::Images, Policy::Prune, Policy::Guard],
            &RUN_AND_CALL,
        ] {
            compare(&opened, &session, &settings(policies, ruleset, window, history), acted);
        }
        for (nth, clear) in clearings().into_iter().enumerate() {
            let before =
                [&[][..], &[Policy::Guard], &[Policy::Repair, Policy::History, Policy::Prune, Policy::Guard]];
            let policies = [before[nth % before.len()], &[Policy::Clear]].concat();
            let mut settings = settings(&policies, ruleset, window, history);
            settings.policies.clear = clear;
            compare(&opened, &session, &settings, acted);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn one_pass_is_every_call_by_itself_with_all_steps_together(
        seed in any::<u64>(),
        window in 100_u32..4_000,
        history in 0_u32..4,
        version in 0..Ruleset::ALL.len(),
        compactions in any::<bool>(),
        lost in any::<bool>(),
    ) {
        let (ruleset, window, history) = (Ruleset::ALL[version], f64::from(window), f64::from(history));
        of_all_steps(Case { seed, window, history, ruleset, compactions, lost }, &mut [0; 4]);
    }
}

/// One for each way in which calls are pruned, guarded and limited.
const RULESETS: [Ruleset; 8] = [
    Ruleset::V2026_2_17,
    Ruleset::V2026_3_2,
    Ruleset::V2026_3_22,
    Ruleset::V2026_4_5,
    Ruleset::V2026_5_28,
    Ruleset::V2026_7_1,
    Ruleset::V2026_9_6,
    Ruleset::Pi1_5,
];

/// The property tests something only if policies act: here each does, often, under the rules that have it.
#[test]
fn every_step_of_a_call_acts_in_the_sessions_that_are_compared() {
    let mut acted = [0; 4];
    for seed in 0..5 {
        for ruleset in RULESETS {
            let (compactions, lost) = (seed % 2 == 0, seed != 1);
            of_all_steps(
                Case { seed, window: 1_500.0, history: 3.0, ruleset, compactions, lost },
                &mut acted,
            );
        }
    }
    assert!(acted.iter().all(|count| *count >= 30), "{acted:?}");
}
