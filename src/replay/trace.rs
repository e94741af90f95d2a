//! One trace of a replay: it reads the path entry by entry and builds the prompt of every call.

use std::collections::HashMap;

use crate::context::tokens::chars4::estimate_message;
use crate::context::tokens_before::recorded_tokens_before;
use crate::ids::EntryIx;
use crate::policy::compact::BranchEntry;
use crate::policy::message_list::PlannedMessage;
use crate::policy::{Policy, PolicySet};
use crate::replay::base::{ReplayBase, is_context_edit};
use crate::replay::cache::PrefixCache;
use crate::replay::calls::{CacheKey, ModelCall, PendingCompaction, RecordUse};
use crate::replay::message_arena::MessageArena;
use crate::replay::outcome::{CallReplay, CompactionEvent, LossLog, PrunedForm, TrimStats};
use crate::replay::prefix_sums::{MessageMeasure, PrefixSums};
use crate::replay::range_totals::{ListStart, PromptEdits, RangeTotals};
use crate::replay::{ReplaySession, Settings};
use crate::store::entry::{EntryKind, MessageSize, Role, StopReason};
use crate::store::intern::{IdIx, ValueIx};
use crate::units::{Moment, Tokens};

/// The messages that a run began with, where they are not a range of the path in its order.
#[derive(Debug, Clone)]
pub(super) struct LoadedHistory {
    pub(super) messages: Vec<PlannedMessage>,
    /// Tokens before each message, and the sum of all as the last element.
    pub(super) prefix_tokens: Vec<Tokens>,
    pub(super) totals: RangeTotals,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LastModelCall {
    /// Prompt and answer in tokens, as the runtime compares them with its threshold; NaN where nothing was counted.
    pub(super) tokens: Tokens,
    /// The prompt alone, which a gateway stores as the session's total; NaN where nothing was counted.
    pub(super) prompt_tokens: Tokens,
    pub(super) stop_reason: StopReason,
    pub(super) ended: Moment,
    pub(super) cache_key: CacheKey,
}

pub(super) struct Trace<'a> {
    pub(super) session: &'a ReplaySession<'a>,
    pub(super) settings: &'a Settings,
    /// The trace decides itself when to compact.
    pub(super) may_compact: bool,
    pub(super) arena: MessageArena<'a>,
    pub(super) measure: MessageMeasure,
    pub(super) prefix_sums: PrefixSums,
    /// Messages of the path read so far.
    pub(super) messages_seen: usize,
    /// The start of the session's message list; `run_start` is that of the current run.
    pub(super) session_start: ListStart,
    pub(super) run_start: ListStart,
    /// A user message was read and no call was made yet.
    pub(super) awaits_call: bool,
    /// The current call is the first of its run.
    pub(super) starts_run: bool,
    /// Messages of the path at the start of the run.
    pub(super) run_base_len: usize,
    /// Index of the last answer so far in the arena.
    pub(super) last_answer: Option<usize>,
    pub(super) loaded: Option<LoadedHistory>,
    /// The prefix sums predict every repair, so that a run needs no message list for it.
    pub(super) is_paired: bool,
    /// Prunability of the results of each tool.
    pub(super) prunable_tools: HashMap<ValueIx, bool>,
    /// Totals of pruned results; the flag is whether their details are stripped.
    pub(super) pruned_totals: HashMap<(usize, PrunedForm, bool), RangeTotals>,
    /// A context edit changed a message, so that the shared state does not describe it.
    pub(super) has_context_edits: bool,
    /// Messages before this index have no details; `images_removed_until` is the same for images.
    pub(super) stripped_until: usize,
    pub(super) images_removed_until: usize,
    /// The last cache touch that this run knows; `assumed_touch` is the end of the last run.
    pub(super) last_touch: Option<Moment>,
    pub(super) assumed_touch: Option<Moment>,
    pub(super) history_trim: TrimStats,
    /// Changes that the budget of all results made to this run's list.
    pub(super) reduce_trim: TrimStats,
    pub(super) branch: TraceBranch,
    /// Messages of the path before the first entry of each id.
    pub(super) entry_positions: HashMap<IdIx, usize>,
    pub(super) last_call: Option<LastModelCall>,
    pub(super) compacted: Option<CompactionEvent>,
    /// Calls made so far.
    pub(super) calls_made: usize,
    pub(super) record_use: RecordUse,
    pub(super) pending: PendingCompaction,
    pub(super) truncated: Option<CompactionEvent>,
    /// A compaction happened in this run, so that the run leaves no touch (pruning 4.4).
    pub(super) compacted_in_run: bool,
    pub(super) cache: PrefixCache<CacheKey, PromptEdits>,
    /// The previous prompt was the recorded one.
    pub(super) matched_record: bool,
    pub(super) total_cost: f64,
    /// The messages that prompts lack, if requested.
    pub(super) loss_log: Option<Box<LossLog>>,
    /// Tokens of the counted answers so far, and their number.
    pub(super) counted_answers: (f64, f64),
}

impl<'a> Trace<'a> {
    /// Creates a trace at the start of the path. Only a simulated trace may skip written compactions.
    pub(super) fn new(
        session: &'a ReplaySession<'a>,
        base: &'a ReplayBase,
        settings: &'a Settings,
        simulated: bool,
    ) -> Self {
        let arena = MessageArena::new(session, base);
        let measure =
            MessageMeasure::new(session, base, settings.guard_window, settings.window, &settings.policies);
        let policies = settings.policies.enabled;
        Self {
            session,
            settings,
            may_compact: simulated && settings.has_compaction(),
            prefix_sums: PrefixSums::new(base.len(), &measure),
            measure,
            arena,
            messages_seen: 0,
            session_start: ListStart::default(),
            run_start: ListStart::default(),
            awaits_call: false,
            starts_run: false,
            run_base_len: 0,
            last_answer: None,
            loaded: None,
            is_paired: !policies.has(Policy::Repair) || base.has_local_repairs || base.is_paired(session),
            prunable_tools: if policies.has(Policy::Prune) {
                prunable_tools(session, base, settings)
            } else {
                HashMap::new()
            },
            pruned_totals: HashMap::new(),
            has_context_edits: false,
            stripped_until: 0,
            images_removed_until: 0,
            last_touch: None,
            assumed_touch: None,
            history_trim: TrimStats::default(),
            reduce_trim: TrimStats::default(),
            branch: TraceBranch::default(),
            entry_positions: HashMap::new(),
            last_call: None,
            compacted: None,
            calls_made: 0,
            record_use: RecordUse::None,
            pending: PendingCompaction::default(),
            truncated: None,
            compacted_in_run: false,
            cache: PrefixCache::new(session.retention),
            matched_record: true,
            total_cost: 0.0,
            loss_log: None,
            counted_answers: (0.0, 0.0),
        }
    }

    pub(super) fn policies(&self) -> PolicySet {
        self.settings.policies.enabled
    }

    /// Reads the next entry of the path.
    pub(super) fn push_entry(&mut self, place: usize) {
        let ix = self.session.path[place];
        let entry = self.session.index.entry(ix);
        let is_compaction = entry.kind == EntryKind::Compaction;
        let makes_message = entry.becomes_message() && entry.message.is_some();
        let speaks = makes_message && !matches!(entry.role(), Some(Role::Assistant | Role::ToolResult));
        if speaks && !self.awaits_call {
            self.end_run(ix);
            self.begin_run(ix);
        }
        if is_compaction && self.may_compact && !self.takes_over(place) {
            return;
        }
        if self.may_compact && !self.branch.has_already(ix) {
            self.branch.push(self.session.branch[place], self.messages_seen);
        }
        if is_context_edit(self.session.index, ix) {
            self.apply_context_edit(ix);
        }
        if is_compaction {
            self.push_compaction(place, ix);
        }
        if let Some(id) = entry.id {
            self.entry_positions.entry(id).or_insert(self.messages_seen);
        }
        if makes_message && entry.role() == Some(Role::Assistant) {
            self.last_answer = Some(self.messages_seen);
        }
        if makes_message {
            self.push_message();
            while self.arena.base.is_missing(self.messages_seen) {
                self.push_message();
            }
        }
    }

    fn push_message(&mut self) {
        self.prefix_sums.push(&self.measure.message_totals(&self.arena, self.messages_seen));
        self.messages_seen += 1;
    }

    /// Applies a written compaction (compaction 4.2, 4.3).
    pub(super) fn push_compaction(&mut self, place: usize, ix: EntryIx) {
        let Some(size) = self.session.index.entry(ix).message else { return };
        let kept = self.kept_from(place);
        let front = self.arena.push_recorded_summary(place, size);
        let by_overflow = self.last_call.is_some_and(|last| last.stop_reason == StopReason::Error);
        let known = recorded_tokens_before(self.session.index, self.session.path, place);
        let earlier = self.compacted.and_then(|earlier| earlier.tokens_before);
        self.compact_to(
            ListStart { summary: Some(front), from: kept.unwrap_or(self.messages_seen) },
            by_overflow,
            Some(ix),
        );
        if let Some(done) = &mut self.compacted {
            done.tokens_before = earlier.or(known).or(done.tokens_before);
        }
        self.branch.keep_from(kept.unwrap_or(self.messages_seen));
    }

    /// Returns the first message that a compaction of the transcript keeps, if it is known.
    pub(super) fn kept_from(&self, place: usize) -> Option<usize> {
        let entry = self.session.index.entry(self.session.path[place]);
        entry.reference.and_then(|id| self.entry_positions.get(&id).copied())
    }

    /// Replays a call. `record` is the recorded trace's result for the same call; `None` in the recorded trace itself.
    pub(super) fn replay_call(&mut self, call: &ModelCall, record: Option<&CallReplay>) -> CallReplay {
        self.starts_run = std::mem::take(&mut self.awaits_call);
        let answer = self.resolve_call(call, record);
        let counted = match call.usage {
            Some(usage) if answer.is_measured => usage.context_tokens,
            Some(_) => answer.expected + answer.split.output,
            None if self.settings.assumptions.assume_usage && !answer.failed => {
                answer.expected + answer.split.output
            }
            // A server that cuts a prompt answers, and counts what it left of the prompt.
            None => {
                let cut = call.refused.and_then(|refused| refused.counted_when_cut());
                cut.map_or(Tokens(f64::NAN), |cut| cut.min(answer.expected + answer.split.output))
            }
        };
        if let Some(output) = call.usage.map(|usage| usage.output).filter(|tokens| tokens.is_finite()) {
            self.counted_answers = (self.counted_answers.0 + output.get(), self.counted_answers.1 + 1.0);
        }
        let prompt = match call.usage {
            Some(usage) if answer.is_measured => usage.prompt_tokens(),
            _ => answer.expected,
        };
        self.last_call = Some(LastModelCall {
            tokens: counted,
            prompt_tokens: if counted.is_nan() { counted } else { prompt },
            stop_reason: call.stop_reason,
            ended: call.ended,
            cache_key: call.cache_key,
        });
        self.calls_made += 1;
        answer
    }
}

/// Returns for each tool on the path whether its results may be pruned (pruning 5.12).
fn prunable_tools(
    session: &ReplaySession<'_>,
    base: &ReplayBase,
    settings: &Settings,
) -> HashMap<ValueIx, bool> {
    let filter = settings.policies.prune.tool_filter();
    let mut tools = HashMap::new();
    for at in base.results.iter().filter(|at| !base.is_missing(**at)) {
        let tool = base.context.messages[*at].size.tool_name;
        tools.entry(tool).or_insert_with(|| filter.is_prunable(session.index.values.value(tool)));
    }
    tools
}

// The branch of a trace so far, as a compaction reads it.

/// The branch of a trace so far, as a compaction reads it.
#[derive(Debug, Clone, Default)]
pub(super) struct TraceBranch {
    pub(super) entries: Vec<BranchEntry>,
    /// Messages of the path before each entry.
    pub(super) messages_before: Vec<usize>,
    /// The first entry that the last compaction kept.
    pub(super) first_kept: Option<usize>,
    /// Estimated tokens of all messages; NaN if one cannot be estimated.
    tokens: f64,
    /// A compaction found nothing to summarise, because it would have kept all messages.
    is_short: bool,
}

impl TraceBranch {
    /// Adds an entry with `before` messages of the path before it.
    pub(super) fn push(&mut self, entry: BranchEntry, before: usize) {
        self.tokens += estimated(&entry);
        // Whatever else begins a new range of entries.
        self.is_short &= entry.kind == EntryKind::Message;
        self.entries.push(entry);
        self.messages_before.push(before);
    }

    /// Takes the newest entry back.
    pub(super) fn pop(&mut self) {
        self.tokens -= self.entries.pop().as_ref().map_or(0.0, estimated);
        self.messages_before.pop();
    }

    /// Whether one of the newest entries is this one: it was added before its place on the path, and a compaction followed.
    pub(super) fn has_already(&self, entry: EntryIx) -> bool {
        self.entries.iter().rev().take(2).any(|own| own.entry == entry)
    }

    /// Returns the part of `keep` tokens that a provider's count of the context leaves at least (compaction 12, row "Cut point").
    pub(super) fn keep_at_count(&self, keep: Tokens, counted: Tokens) -> Tokens {
        let share = self.tokens / counted.get();
        if share.is_finite() { keep * share.min(1.0) } else { keep }
    }

    /// Whether a compaction that keeps `keep` tokens certainly has nothing to summarise. A session that is refused again and
    /// again attempts one at every call.
    pub(super) fn keeps_all(&self, keep: Tokens) -> bool {
        self.is_short && self.tokens < keep.get()
    }

    /// Notes that a compaction found nothing to summarise. More messages change that only if they exceed `keep` tokens: up to
    /// then the cut is at the first message that may begin the kept part.
    pub(super) fn note_refusal(&mut self, keep: Tokens) {
        let is_range = |entry: &&BranchEntry| entry.kind != EntryKind::Compaction;
        let begins = |entry: &BranchEntry| matches!(entry.role(), Some(Role::User | Role::Assistant));
        self.is_short = self.tokens < keep.get()
            && self.entries.last().is_some_and(|entry| entry.kind == EntryKind::Message)
            && self.entries.iter().rev().take_while(is_range).any(begins);
    }

    pub(super) fn resize(&mut self, entry: EntryIx, size: MessageSize) {
        let own = self.entries.iter_mut().filter(|own| own.entry == entry);
        for own in own {
            let before = estimated(own);
            own.message = Some(size).filter(|size| size.role != Role::Other);
            self.tokens += estimated(own) - before;
        }
        self.is_short = false;
    }

    /// Sets the first message that the last compaction keeps.
    pub(super) fn keep_from(&mut self, message: usize) {
        self.first_kept = Some(self.messages_before.partition_point(|before| *before < message));
        self.is_short = false;
    }
}

/// Returns the tokens of an entry's message by the estimate of compactions; NaN if the runtime cannot estimate it.
fn estimated(entry: &BranchEntry) -> f64 {
    entry.message.map_or(0.0, |size| estimate_message(&size).map_or(f64::NAN, Tokens::get))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gateway::ruleset::{Compaction, Rules, Ruleset};
    use crate::js;
    use crate::policy::compact::{PreviousCompaction, prepare_under};
    use crate::store::scan::measure_message;

    /// Builds a message of this size in tokens, or an entry of another kind.
    fn entry(at: usize, (role, tokens): (usize, usize)) -> BranchEntry {
        let text = "x".repeat(4 * tokens);
        let json = match role {
            0 => format!(r#"{{"role":"user","content":"{text}"}}"#),
            1 | 2 => format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#),
            _ => format!(r#"{{"role":"toolResult","content":"{text}"}}"#),
        };
        let kind = match role {
            0..5 => EntryKind::Message,
            5 => EntryKind::Compaction,
            _ => EntryKind::ModelChange,
        };
        let size = (role < 6).then(|| measure_message(&js::parse(&json).expect("JSON")).size);
        let entry = EntryIx(at as u32);
        BranchEntry { entry, kind, has_id: true, message: size, lacks_message: false, projected: None }
    }

    /// Whether a compaction of the safeguard summarises nothing.
    fn is_refused(rules: &Rules, branch: &TraceBranch, keep: Tokens) -> bool {
        let before = PreviousCompaction { first_kept: branch.first_kept, ..PreviousCompaction::default() };
        let tokens = |entry: &BranchEntry| estimate_message(&entry.message.expect("a message"));
        let prepared = prepare_under(rules, &branch.entries, &before, keep, tokens).expect("measurable");
        let is_real = |entry: &BranchEntry| {
            matches!(entry.role(), Some(Role::User | Role::Assistant | Role::ToolResult))
        };
        prepared.is_none_or(|prepared| !branch.entries[prepared.history()].iter().any(is_real))
    }

    proptest! {
        #[test]
        fn a_branch_that_fits_the_kept_tokens_has_nothing_to_summarise(
            entries in prop::collection::vec((0_usize..7, 1_usize..40), 1..40),
            keep in 1_u32..400,
        ) {
            let keep = Tokens(f64::from(keep));
            for ruleset in Ruleset::ALL.iter().filter(|it| it.rules().compaction != Compaction::Projected) {
                let mut branch = TraceBranch::default();
                for (at, made) in entries.iter().enumerate() {
                    branch.push(entry(at, *made), at);
                    let is_refused = is_refused(ruleset.rules(), &branch, keep);
                    prop_assert!(!branch.keeps_all(keep) || is_refused, "{ruleset:?} at {at}");
                    if is_refused {
                        branch.note_refusal(keep);
                    }
                }
            }
        }
    }
}
