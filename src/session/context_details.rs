//! Body-derived data for policies that sizes cannot decide, read from the transcript once per context.

use std::collections::HashMap;

use crate::context::{Context, ContextMessage, bodies};
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::{PruneWeight, Pruner, Rules};
use crate::ids::EntryIx;
use crate::policy::compact::{
    BranchEntry, CompactionInput, PreviousCompaction, branch_entries_for_runtime, weighted_tokens,
};
use crate::policy::features::ContentFeatures;
use crate::policy::prune::CHARS_PER_TOKEN;
use crate::policy::prune::projections::{MARKER_TYPE, ProjectionSnapshot};
use crate::store::body::{self, BodyError};
use crate::store::entry::{Entry, EntryKind, Role};
use crate::store::index::Index;
use crate::store::measure::PRUNE_IMAGE_CHARS;
use crate::store::source::Source;
use crate::units::{Chars, Moment, Tokens};

/// The branch as a compaction reads it, and the content features of every message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextDetails {
    /// Entries of the path, root first.
    pub branch: Vec<BranchEntry>,
    pub previous_compaction: PreviousCompaction,
    /// Weighted tokens of each message, when the ruleset weights characters.
    pub weighted_tokens: HashMap<EntryIx, Tokens>,
    /// One per message of the context.
    pub features: Vec<ContentFeatures>,
    /// Pruned and cut results that the gateway's pruner stored (pruning 8.2).
    pub stored_pruning: ProjectionSnapshot,
}

/// Details of a context from before its transcript grew.
#[derive(Debug, Clone, Copy)]
pub struct PreviousDetails<'a> {
    pub context: &'a Context,
    pub details: &'a ContextDetails,
}

impl ContextDetails {
    /// Reads every message of the context back, one at a time.
    pub fn read(
        source: &Source,
        index: &Index,
        context: &Context,
        rules: &'static Rules,
    ) -> Result<Self, BodyError> {
        let all = Self::read_while(source, index, context, rules, None, &mut || true)?;
        Ok(all.unwrap_or_default())
    }

    /// Like [`Self::read`], but reuses `known` for messages that were read under the same ruleset, and returns `None`
    /// once `wanted` returns false. `wanted` is called before each message that is read.
    pub fn read_while(
        source: &Source,
        index: &Index,
        context: &Context,
        rules: &'static Rules,
        known: Option<PreviousDetails<'_>>,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>, BodyError> {
        let known_features: HashMap<EntryIx, &ContentFeatures> =
            known.map(features_by_entry).unwrap_or_default();
        let mut features = Vec::with_capacity(context.messages.len());
        let mut tokens = HashMap::new();
        for message in &context.messages {
            if let Some(kept) = known_features.get(&message.entry) {
                features.push((*kept).clone());
                let weighted = known.and_then(|known| known.details.weighted_tokens.get(&message.entry));
                tokens.extend(weighted.map(|weighted| (message.entry, *weighted)));
                continue;
            }
            if !wanted() {
                return Ok(None);
            }
            let body = bodies::read_message(source, index, message)?;
            features.push(ContentFeatures::of_under(rules, &body));
            tokens.extend(weighted_tokens(rules, &body).map(|weighted| (message.entry, weighted)));
        }
        let entry = |ix| body::read_entry(source, index, ix);
        let branch = branch_entries_for_runtime(index, &context.entries_since_reset(index), entry)?;
        let before = PreviousCompaction::read(index, &branch, entry)?;
        let remembered = read_stored_pruning(source, index, &context.path, rules)?;
        Ok(Some(Self {
            branch,
            previous_compaction: before,
            weighted_tokens: tokens,
            features,
            stored_pruning: remembered,
        }))
    }

    pub fn compaction_input(&self) -> CompactionInput<'_> {
        CompactionInput {
            branch: &self.branch,
            previous: &self.previous_compaction,
            weighted_tokens: &self.weighted_tokens,
        }
    }
}

/// Returns the snapshot in force at the end of a path. Reads only markers, newest first, back to a reset (sqlite G5).
pub(super) fn read_stored_pruning(
    source: &Source,
    index: &Index,
    path: &[EntryIx],
    rules: &'static Rules,
) -> Result<ProjectionSnapshot, BodyError> {
    for at in markers(rules, index, path) {
        let marker = body::read_entry(source, index, path[at])?;
        if let Some(snapshot) = ProjectionSnapshot::from_branch([&marker]) {
            return Ok(ProjectionSnapshot { run_started: run_started(index, &path[..at]), ..snapshot });
        }
    }
    Ok(ProjectionSnapshot::default())
}

/// Returns the positions on a path of the markers since the last reset that may hold a snapshot, newest first.
pub(super) fn markers(rules: &Rules, index: &Index, path: &[EntryIx]) -> impl Iterator<Item = usize> {
    let stored = rules.pruner == Pruner::Projections { stored: true };
    let path = path.iter().enumerate().rev().take_while(move |_| stored);
    let since_reset = path.take_while(|(_, ix)| index.entry(**ix).kind != EntryKind::Reset);
    let is_marker =
        |entry: &Entry| index.values.value(entry.payload).is_some_and(|word| word.str_is(MARKER_TYPE));
    since_reset.filter_map(move |(at, ix)| {
        let entry = index.entry(*ix);
        (entry.kind == EntryKind::Custom && is_marker(entry)).then_some(at)
    })
}

/// Returns the time of the newest user message of a path.
fn run_started(index: &Index, path: &[EntryIx]) -> Option<Moment> {
    let is_user = |entry: &&Entry| entry.message.as_ref().is_some_and(|message| message.role == Role::User);
    let entry = path.iter().rev().map(|ix| index.entry(*ix)).find(is_user)?;
    Some(entry.time_ms).filter(|time| !time.is_nan())
}

fn features_by_entry(known: PreviousDetails<'_>) -> HashMap<EntryIx, &ContentFeatures> {
    let entries = known.context.messages.iter().map(|message| message.entry);
    entries.zip(&known.details.features).collect()
}

// Which prompts pruning may change, by sizes alone: finding out for each call of a run with its texts would take time that
// grows with the square of the run.

/// Chars that a byte of an entry counts at most for pruning: 3 bytes of a Chinese character count 4 chars.
const MOST_CHARS_PER_BYTE: f64 = 4.0 / 3.0;

/// Upper bounds of what pruning counts in the first messages of a context.
pub(super) struct PruneReach<'a> {
    settings: &'a PruneSettings,
    /// Chars of the window.
    window: Chars,
    /// At each position, the chars of all messages before it.
    total: Vec<Chars>,
    /// At each position, the chars of the results before it.
    results: Vec<Chars>,
    /// The first result that may be trimmed.
    first_trimmed: Option<usize>,
    /// Positions of the answers.
    answers: Vec<usize>,
}

impl<'a> PruneReach<'a> {
    /// `window` is the session's, in tokens; `details` make the bounds exact where sizes are not.
    pub(super) fn new(
        (rules, settings, window): (&Rules, &'a PruneSettings, Tokens),
        index: &Index,
        context: &Context,
        details: Option<&ContextDetails>,
    ) -> Self {
        let mut reach = Self {
            settings,
            window: window.to_chars(CHARS_PER_TOKEN),
            total: vec![Chars::ZERO],
            results: vec![Chars::ZERO],
            first_trimmed: None,
            answers: Vec::new(),
        };
        for (at, message) in context.messages.iter().enumerate() {
            let features = details.and_then(|details| details.features.get(at));
            reach.add(at, message.size.role, most_chars(rules, index, message, features));
        }
        reach
    }

    fn add(&mut self, at: usize, role: Role, chars: Chars) {
        let is_result = role == Role::ToolResult;
        self.total.push(self.total[at] + chars);
        self.results.push(self.results[at] + if is_result { chars } else { Chars::ZERO });
        if is_result && self.first_trimmed.is_none() && chars > self.settings.soft_trim.max_chars {
            self.first_trimmed = Some(at);
        }
        if role == Role::Assistant {
            self.answers.push(at);
        }
    }

    /// Whether pruning may change a prompt of the first `sent` messages.
    pub(super) fn may_prune(&self, sent: usize) -> bool {
        let Self { settings, .. } = self;
        let Some(cutoff) = self.cutoff(sent) else { return false };
        let is_below = |share: f64| self.total[sent] / self.window < share;
        let is_trimmed = self.first_trimmed.is_some_and(|at| at < cutoff);
        let too_few = self.results[cutoff] < settings.min_prunable_tool_chars;
        let is_cleared = settings.hard_clear.enabled
            && self.results[cutoff] > Chars::ZERO
            && !is_below(settings.hard_clear_ratio)
            && !too_few;
        !is_below(settings.soft_trim_ratio) && (is_trimmed || is_cleared)
    }

    /// Returns the position of the first answer that is kept whole with all behind it.
    fn cutoff(&self, sent: usize) -> Option<usize> {
        let answers = self.answers.partition_point(|at| *at < sent);
        match self.settings.keep_last_assistants as usize {
            0 => Some(sent),
            keep => answers.checked_sub(keep).map(|at| self.answers[at]),
        }
    }
}

/// Returns the chars that pruning counts of a message at most; infinity where counting throws.
fn most_chars(
    rules: &Rules,
    index: &Index,
    message: &ContextMessage,
    features: Option<&ContentFeatures>,
) -> Chars {
    let size = &message.size;
    let measured = match rules.prune_size.weight {
        PruneWeight::Units => Some(size.prune_chars),
        _ => features.and_then(ContentFeatures::prune_chars),
    };
    let bytes = index.entry(message.entry).bytes();
    let most =
        || Chars(bytes.get() as f64) * MOST_CHARS_PER_BYTE + PRUNE_IMAGE_CHARS * f64::from(size.images);
    let chars = measured.map_or_else(most, |chars| chars.value().unwrap_or(Chars(f64::INFINITY)));
    chars.max(size.joined_chars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::session::testing::{call, loaded_session, result, transcript, user};

    fn lines(count: usize) -> String {
        let all = [
            user("go"),
            call("c1", "exec", "{}"),
            result("c1", "exec", "one\ntwo", ""),
            user("and on"),
            user("and on still"),
        ];
        transcript(&all[..count])
    }

    #[test]
    fn after_growth_only_new_messages_are_read() {
        let rules = Ruleset::V2026_9_6.rules();
        let (before, after) = (loaded_session(&lines(3), 1e5), loaded_session(&lines(5), 1e5));
        let context_details =
            ContextDetails::read(&before.source, &before.index, &before.context, rules).unwrap();
        let known = PreviousDetails { context: &before.context, details: &context_details };
        let mut requested = 0;
        let mut count = || {
            requested += 1;
            true
        };
        let (source, index, context) = (&after.source, &after.index, &after.context);
        let grown =
            ContextDetails::read_while(source, index, context, rules, Some(known), &mut count).unwrap();
        assert_eq!(requested, 2);
        assert_eq!(grown, Some(ContextDetails::read(source, index, context, rules).unwrap()));
    }

    #[test]
    fn reading_details_can_be_cancelled() {
        let rules = Ruleset::default().rules();
        let all = loaded_session(&lines(5), 1e5);
        let mut left = 2;
        let mut wanted = || {
            left -= 1;
            left > 0
        };
        let read =
            ContextDetails::read_while(&all.source, &all.index, &all.context, rules, None, &mut wanted)
                .unwrap();
        assert_eq!((read, left), (None, 0));
    }

    #[test]
    fn a_marker_belongs_to_the_run_of_the_user_message_before_it() {
        let marker = r#"{"type":"custom","customType":"openclaw.cache-ttl","data":{"prunedToolResults":[{"key":"tool:c1","mode":"soft"}]}}"#;
        let all =
            loaded_session(&transcript(&[user("go"), user("and on"), marker.to_owned(), user("more")]), 1e5);
        let details =
            ContextDetails::read(&all.source, &all.index, &all.context, Ruleset::V2026_9_6.rules()).unwrap();
        let before = all.index.entries.iter().filter(|entry| entry.message.is_some()).nth(1).unwrap();
        assert_eq!(details.stored_pruning.run_started, Some(before.time_ms));
    }
}

#[cfg(test)]
mod prune_reach_tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::session::testing::{call, loaded_session, result, transcript, user};

    /// Whether pruning may change the prompts of a run whose calls get results of these lengths, in a window of 10,000
    /// tokens.
    fn reached(settings: &PruneSettings, lengths: &[usize]) -> Vec<bool> {
        let mut entries = vec![user("go")];
        for (at, length) in lengths.iter().enumerate() {
            let id = format!("c{at}");
            entries.extend([call(&id, "exec", "{}"), result(&id, "exec", &"x".repeat(*length), "")]);
        }
        let session = loaded_session(&transcript(&entries), 10_000.0);
        let reach = PruneReach::new(
            (Ruleset::V2026_3_2.rules(), settings, Tokens(10_000.0)),
            &session.index,
            &session.context,
            None,
        );
        (0..=lengths.len()).map(|calls| reach.may_prune(1 + 2 * calls)).collect()
    }

    #[test]
    fn a_long_result_is_reached_once_three_answers_follow_and_the_prompt_fills_its_share() {
        let settings = PruneSettings::default();
        assert_eq!(reached(&settings, &[6_000, 10, 10, 10, 10]), [false; 6], "below 30 %");
        let found = reached(&settings, &[12_000, 10, 10, 10, 10]);
        assert_eq!(found, [false, false, false, false, true, true]);
    }

    #[test]
    fn many_short_results_are_reached_when_they_may_be_cleared() {
        let few = PruneSettings { min_prunable_tool_chars: Chars(9_000.0), ..PruneSettings::default() };
        let found = reached(&few, &[1_500; 16]);
        let first = found.iter().position(|may| *may);
        assert_eq!(first, Some(14), "20,000 chars are half of the window: {found:?}");
        let found = reached(&PruneSettings::default(), &[1_500; 16]);
        assert_eq!(found, [false; 17], "24,000 chars are fewer than 50,000");
    }
}
