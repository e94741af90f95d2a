//! Input of an explanation, read once: overflows, the failed call, the counted calls, compactions and other errors.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::policy::prune::touches;
use crate::redact::masked;
use crate::report::explain::compactions::{PastCompaction, read_compactions};
use crate::report::explain::counted_calls::{CountedCall, counted_calls, token_ratio};
use crate::report::explain::failure::Failure;
use crate::report::explain::replay_runner::ReplayRunner;
use crate::session::failing_model::failed_call;
use crate::session::overflow::Overflow;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::{CountSource, LoadedSession};
use crate::store::body::BodyError;
use crate::store::entry::{Entry, Role, StopReason};
use crate::units::Moment;

/// The number of turns from which their median counts as typical.
const MIN_TYPICAL_TURNS: usize = 3;

/// The longest quote of an error, in chars.
pub(super) const MAX_QUOTE_CHARS: usize = 160;

#[derive(Debug)]
pub(super) struct OverflowCase<'a> {
    pub session: &'a LoadedSession,
    /// The call to explain: the first refusal of the last series without an answer in between.
    pub failure: Option<Failure>,
    /// Replays of the session; `None` if nothing overflowed.
    pub replays: Option<ReplayRunner>,
    /// Entries from the root to the failed call, or to the leaf.
    pub path: Vec<EntryIx>,
    pub calls: Vec<CountedCall>,
    pub compactions: Vec<PastCompaction>,
    /// Counted tokens per estimated token, if enough calls were counted.
    pub token_ratio: Option<f64>,
    /// Tokens before the messages: from the report of a run, otherwise the first call's count minus the estimate of its
    /// messages.
    pub fixed_tokens: Option<u64>,
    /// Cache touches in the file with their times, oldest first.
    pub touches: Vec<(EntryIx, Moment)>,
}

impl<'a> OverflowCase<'a> {
    /// Reads the parts of a session that an explanation needs.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub(super) fn read(session: &'a LoadedSession, inputs: Option<&ReplayInputs>) -> Result<Self, BodyError> {
        let explained = failed_call(session);
        let runner = explained
            .map(|overflow| ReplayRunner::read(session, Some(overflow.entry), inputs))
            .transpose()?;
        let whole = runner.as_ref().map_or(session, |runner| &runner.session);
        let on_path = counted_calls(session, &whole.context.path);
        let compactions = read_compactions(session, &whole.context.path, &on_path)?;
        let path = match explained {
            Some(overflow) => session.tree.path_to(&session.index, overflow.entry),
            None => session.context.path.clone(),
        };
        let calls = counted_calls(session, &path);
        let (ratio, first) = (token_ratio(&calls), first_fixed_tokens(session, &path, &calls));
        let failure = explained
            .zip(runner.as_ref())
            .and_then(|(overflow, runner)| Failure::new(runner, overflow, &calls));
        let mut touches: Vec<(EntryIx, Moment)> = touches(&session.index).collect();
        touches.reverse();
        Ok(Self {
            compactions,
            fixed_tokens: session.fixed_chars.map(|_| session.fixed_tokens()).or(first),
            failure,
            replays: runner,
            path,
            calls,
            token_ratio: ratio,
            touches,
            session,
        })
    }

    pub(super) fn overflows(&self) -> &[Overflow] {
        &self.session.overflows
    }

    /// Returns the window of the next call, in tokens: that of the model, which `contextTokens` does not lower for the
    /// provider (compaction 2.8).
    pub(super) fn window(&self) -> u64 {
        self.session.window.model_tokens.whole()
    }

    /// Returns the tokens above which the session compacts (compaction 2.7, 2.8).
    pub(super) fn trigger(&self) -> f64 {
        self.session.trigger_point().tokens.get()
    }

    /// Returns the tokens of the next prompt, and whether the provider counted them.
    pub(super) fn next_prompt(&self) -> (u64, bool) {
        match self.session.item.tokens {
            Some(counted) => (counted.tokens, counted.source == CountSource::Measured),
            None => (self.session.budget().total(), false),
        }
    }

    /// Returns the last counted call and its tokens.
    pub(super) fn last_counted(&self) -> Option<(EntryIx, u64)> {
        self.calls.last().map(|call| (call.entry, call.prompt_tokens))
    }

    /// Returns the tool of a result; secrets are masked.
    pub(super) fn tool_name(&self, entry: EntryIx) -> String {
        let tool = self.session.index.entry(entry).message.map(|size| size.tool_name);
        let name = tool.and_then(|tool| self.session.index.values.text(tool));
        name.map_or_else(|| "tool".to_owned(), |name| masked(&name).into_owned())
    }

    pub(super) fn user_messages(&self) -> Vec<EntryIx> {
        let index = &self.session.index;
        self.path.iter().copied().filter(|ix| index.entry(*ix).role() == Some(Role::User)).collect()
    }

    /// Returns the tokens that a run needs to continue: a typical turn, or two calls of the failing run if these grow
    /// faster.
    pub(super) fn tokens_to_continue(&self) -> u64 {
        let from = self.user_messages().last().copied().unwrap_or(EntryIx(0));
        let run = self.calls.iter().filter(|call| call.entry > from).collect::<Vec<_>>();
        let grown =
            run.windows(2).filter_map(|pair| pair[1].prompt_tokens.checked_sub(pair[0].prompt_tokens));
        self.typical_turn_tokens().max(2 * median(grown.collect()))
    }

    /// Returns the tokens that a typical turn adds: the median growth of the prompt from one turn's end to the next, or
    /// from call to call if there are too few turns.
    pub(super) fn typical_turn_tokens(&self) -> u64 {
        let requested = self.user_messages();
        let turn = |call: &CountedCall| requested.partition_point(|requested| *requested < call.entry);
        let mut ends: Vec<(usize, u64)> = Vec::new();
        for call in &self.calls {
            match ends.last_mut().filter(|(last, _)| *last == turn(call)) {
                Some(end) => end.1 = call.prompt_tokens,
                None => ends.push((turn(call), call.prompt_tokens)),
            }
        }
        let turns: Vec<u64> = ends.windows(2).filter_map(|pair| pair[1].1.checked_sub(pair[0].1)).collect();
        if turns.len() >= MIN_TYPICAL_TURNS {
            return median(turns);
        }
        let calls =
            self.calls.windows(2).filter_map(|pair| pair[1].prompt_tokens.checked_sub(pair[0].prompt_tokens));
        median(calls.collect())
    }
}

/// Whether an entry is an answer of a model that did not fail.
pub(super) fn is_answer(entry: &Entry) -> bool {
    let failed = |stop| matches!(stop, StopReason::Error | StopReason::Aborted);
    entry.is_model_call() && entry.message.is_some_and(|size| !failed(size.stop_reason))
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// Returns the first call's count minus the estimate of its messages.
fn first_fixed_tokens(session: &LoadedSession, path: &[EntryIx], calls: &[CountedCall]) -> Option<u64> {
    let first = calls.first()?;
    let index = &session.index;
    // The prompt of the first call held a beginning that is not in the file.
    if session.lineage.cut_off.is_some() {
        return None;
    }
    let before = path.iter().take_while(|ix| **ix != first.entry);
    let sizes = before.filter(|ix| index.entry(**ix).becomes_message());
    let messages: u64 =
        sizes.filter_map(|ix| index.entry(*ix).message).map(|size| estimate_or_zero(&size)).sum();
    // With many messages, their own estimation error would distort the difference.
    (messages <= first.prompt_tokens / 4).then(|| first.prompt_tokens - messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::explain::testing::{answer, refusal};
    use crate::session::testing::{loaded_session, message, transcript, user};

    fn with_case<T>(entries: &[String], ask: impl FnOnce(OverflowCase<'_>) -> T) -> T {
        let session = loaded_session(&transcript(entries), 200_000.0);
        ask(OverflowCase::read(&session, None).expect("memory is readable"))
    }

    fn turns(prompts: &[&[u64]]) -> Vec<String> {
        let turn = |calls: &&[u64]| -> Vec<String> {
            std::iter::once(user("go on")).chain(calls.iter().map(|prompt| answer(*prompt))).collect()
        };
        prompts.iter().flat_map(turn).collect()
    }

    #[test]
    fn a_typical_turn_is_the_median_growth_from_one_turns_end_to_the_next() {
        let typical = |prompts: &[&[u64]]| with_case(&turns(prompts), |case| case.typical_turn_tokens());
        assert_eq!(typical(&[&[1_000], &[1_200, 1_500], &[3_500], &[3_600]]), 500);
        assert_eq!(typical(&[&[1_000], &[1_100, 1_500]]), 400, "one turn is too few: from call to call");
        assert_eq!(
            typical(&[&[1_000], &[1_200], &[400], &[500], &[900]]),
            200,
            "a prompt that shrank is no growth"
        );
        assert_eq!(typical(&[&[1_000]]), 0);
    }

    #[test]
    fn a_run_that_grows_faster_than_a_turn_needs_two_of_its_calls_to_continue() {
        let needed = |prompts: &[&[u64]]| with_case(&turns(prompts), |case| case.tokens_to_continue());
        assert_eq!(needed(&[&[1_000], &[1_000, 4_000, 6_000]]), 6_000);
        assert_eq!(needed(&[&[1_000], &[2_000], &[3_000], &[4_000, 4_100]]), 1_000);
    }

    #[test]
    fn the_tokens_before_the_messages_follow_from_a_first_call_with_few_messages() {
        let fixed =
            |prompt: u64| with_case(&[user(&"x".repeat(400)), answer(prompt)], |case| case.fixed_tokens);
        assert_eq!(fixed(400), Some(300), "100 tokens are a quarter of the prompt");
        assert_eq!(fixed(399), None);
    }

    #[test]
    fn other_errors_are_kept_with_their_text() {
        let overloaded =
            r#"{"role":"assistant","content":[],"stopReason":"error","errorMessage":"overloaded_error"}"#;
        let silent = r#"{"role":"assistant","content":[],"stopReason":"error","errorMessage":""}"#;
        let entries = [user("hi"), message(overloaded), message(silent), user("again"), refusal()];
        let errors = with_case(&entries, |case| {
            let errors = case.session.errors.iter().filter(|error| !error.text.is_empty());
            errors.map(|error| (error.entry, error.text.clone())).collect::<Vec<_>>()
        });
        assert_eq!(errors, [(EntryIx(1), "overloaded_error".to_owned())]);
    }

    #[test]
    fn the_first_refusal_of_the_last_series_is_explained() {
        let entries = [user("hi"), refusal(), answer(900), user("more"), refusal(), user("again"), refusal()];
        let failed = |entries: &[String]| {
            let session = loaded_session(&transcript(entries), 200_000.0);
            failed_call(&session).map(|overflow| overflow.entry)
        };
        assert_eq!(failed(&entries), Some(EntryIx(4)));
        assert_eq!(failed(&entries[..3]), Some(EntryIx(1)));
        assert_eq!(failed(&entries[..1]), None);
    }
}
