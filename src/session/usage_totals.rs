//! Sums up a session's usage on every branch and outside the conversation (store-pi-1.5 B12).

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::commit::receipt_kind;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::models::Price;
use crate::gateway::ruleset::Rules;
use crate::ids::EntryIx;
use crate::policy::compact::MAX_RESULT_UNITS;
use crate::policy::guard::GuardLimits;
use crate::replay::{Cost, TotalCost};
use crate::session::lineage::inherited_calls;
use crate::session::overflow::implausible_counts;
use crate::session::price::{PriceSource, list_prices};
use crate::session::prompt_estimates::PromptEstimates;
use crate::session::{ItemUsage, LoadedSession};
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::transcript::{copied_in_file, marked_keys};
use crate::units::{Chars, Tokens};

const PER_MILLION: f64 = 1e6;
/// Tokens of the instructions of a summary, and of those of the summary of a split turn's beginning: about as many in
/// every known runtime.
const INSTRUCTIONS: [Tokens; 2] = [Tokens(400.0), Tokens(250.0)];

/// Usage of several calls, summed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageTotals {
    /// Number of calls.
    pub calls: usize,
    /// Tokens neither read from nor written to the cache.
    #[schemars(with = "Option<f64>")]
    pub input: Tokens,
    /// Tokens of the replies.
    #[schemars(with = "Option<f64>")]
    pub output: Tokens,
    #[schemars(with = "Option<f64>")]
    pub cache_read: Tokens,
    #[schemars(with = "Option<f64>")]
    pub cache_write: Tokens,
    /// USD.
    #[serde(with = "TotalCost")]
    pub cost: Cost,
}

impl UsageTotals {
    fn add(mut self, usage: &Usage, price: Option<&Price>) -> Self {
        // One count that is not a number must not spoil the sum.
        let finite = |tokens: Tokens| if tokens.is_finite() { tokens } else { Tokens::ZERO };
        self.calls += 1;
        self.input += finite(usage.input);
        self.output += finite(usage.output);
        self.cache_read += finite(usage.cache_read);
        self.cache_write += finite(usage.cache_write);
        self.cost.add_usage(usage, price);
        self
    }
}

/// Usage of a session by kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct SessionUsage {
    /// Answers of the model on every branch, without copies, which were billed only once.
    pub answers: UsageTotals,
    /// Answers that failed or were aborted.
    pub failed: UsageTotals,
    /// Calls outside the conversation, such as summaries.
    #[serde(rename = "beside")]
    pub side_calls: UsageTotals,
    /// Summaries whose usage the store does not record, by estimate.
    pub summaries: UsageTotals,
}

impl SessionUsage {
    /// Returns the cost of all counted calls, without the estimated summaries.
    pub fn cost(&self) -> Cost {
        self.answers.cost.combined_with(self.failed.cost).combined_with(self.side_calls.cost)
    }

    /// Returns the totals of all kinds of calls.
    pub fn for_item(&self) -> ItemUsage {
        let parts = [&self.answers, &self.failed, &self.side_calls];
        let tokens = |part: &UsageTotals| part.input + part.output + part.cache_read + part.cache_write;
        ItemUsage {
            calls: parts.iter().map(|part| part.calls as u64).sum(),
            tokens: (parts.iter().map(|part| tokens(part)).sum::<Tokens>().max(Tokens::ZERO)).whole(),
            cost: self.cost(),
        }
    }
}

/// Sums up the usage of the whole transcript.
pub fn session_usage(session: &LoadedSession) -> SessionUsage {
    let rules = session.ruleset.id.rules();
    transcript_usage(PriceSource::from(session), rules, &implausible_counts(&session.overflow_scope()))
}

/// Sums up the answers that are not among these entries, such as those on other branches. `None` if some of the entries
/// are copies: their originals were billed.
pub fn answers_besides(session: &LoadedSession, entries: &[EntryIx]) -> Option<UsageTotals> {
    let mut copies = copied_in_file(&session.index);
    copies.extend(inherited_calls(&session.index));
    if entries.iter().any(|ix| copies.contains(ix)) {
        return None;
    }
    let entries: HashSet<EntryIx> = entries.iter().copied().collect();
    let prices = PriceCache::new(session);
    let implausible = implausible_counts(&session.overflow_scope());
    let billed = billed_calls(&session.index, &implausible).answers.into_iter();
    let others = billed.filter(|(ix, _)| !entries.contains(ix));
    let add = |spent: UsageTotals, (ix, usage)| spent.add(&usage, prices.price_of(ix).as_ref());
    Some(others.fold(UsageTotals::default(), add))
}

/// Sums up the usage of a transcript whose session is not loaded.
pub(crate) fn transcript_usage(
    source: PriceSource<'_>,
    rules: &Rules,
    implausible: &HashSet<EntryIx>,
) -> SessionUsage {
    let index = source.index;
    let prices = PriceCache::from_source(source);
    let BilledCalls { answers, failed, side_calls } = billed_calls(index, implausible);
    let sum = |calls: Vec<(EntryIx, Usage)>| {
        calls.iter().fold(UsageTotals::default(), |spent, (ix, usage)| {
            spent.add(usage, prices.price_of(*ix).as_ref())
        })
    };
    SessionUsage {
        answers: sum(answers),
        failed: sum(failed),
        side_calls: sum(side_calls),
        summaries: estimate_summaries(index, rules, &prices),
    }
}

/// Estimates the summaries that a model wrote and whose usage is not in the file: what each took in, and its
/// length. The cost is the list price.
fn estimate_summaries(index: &Index, rules: &Rules, prices: &PriceCache<'_>) -> UsageTotals {
    let inherited: HashSet<EntryIx> = inherited_calls(index).into_iter().collect();
    // A commit writes its summary right behind its record, and names its own cost.
    let is_committed = |ix: EntryIx| {
        ix.index().checked_sub(1).is_some_and(|at| receipt_kind(index, EntryIx(at as u32)).is_some())
    };
    let mut seen = HashSet::new();
    let written: Vec<(EntryIx, Tokens)> = index
        .auxiliary_entries()
        .filter(|(ix, entry)| {
            entry.kind == EntryKind::Compaction
                && !index.unanchored_usage.contains_key(ix)
                && !inherited.contains(ix)
                && !is_committed(*ix)
        })
        .filter_map(|(ix, entry)| Some((ix, entry, estimate_or_zero(&entry.message?))))
        // A rewritten branch holds a compaction again.
        .filter(|(_, entry, tokens)| seen.insert((entry.payload_number.to_bits(), *tokens)))
        .map(|(ix, _, tokens)| (ix, Tokens(tokens as f64)))
        .collect();
    if written.is_empty() {
        return UsageTotals::default();
    }
    let single = Chars::from_len(MAX_RESULT_UNITS);
    let read = GuardLimits { budget: Chars(f64::INFINITY), single, stop: None };
    let estimates = PromptEstimates::new(index, rules.summary_cuts_results().then_some(read));
    written.into_iter().fold(UsageTotals::default(), |mut sum, (ix, output)| {
        let requests = estimates.summary_requests(index, ix, rules.compaction);
        let parts = [requests.history, requests.prefix].into_iter().zip(INSTRUCTIONS);
        let sent = parts.filter_map(|(part, instructions)| Some(part? + instructions));
        let sent: Vec<Tokens> = sent.collect();
        let largest = sent.iter().copied().fold(Tokens::ZERO, Tokens::max);
        let input: Tokens = sent.into_iter().sum();
        let listed = |price: Price| {
            let price = price.at(largest.get());
            (input.get() * price.input + output.get() * price.output) / PER_MILLION
        };
        sum.calls += 1;
        sum.input += input;
        sum.output += output;
        sum.cost.add_summaries(1, None, prices.price_of(ix).map(listed));
        sum
    })
}

/// The calls of a transcript that were billed, each once and in file order.
pub(crate) struct BilledCalls {
    /// Answers of the model on every branch.
    pub(crate) answers: Vec<(EntryIx, Usage)>,
    /// Answers that failed or were aborted.
    pub(crate) failed: Vec<(EntryIx, Usage)>,
    /// Calls outside the conversation.
    pub(crate) side_calls: Vec<(EntryIx, Usage)>,
}

/// Lists the billed calls of a transcript, without copies on rewritten branches or from a parent session. Of an
/// impossible usage only the reply counts.
pub(crate) fn billed_calls(index: &Index, implausible: &HashSet<EntryIx>) -> BilledCalls {
    let inherited: HashSet<EntryIx> = inherited_calls(index).into_iter().collect();
    let mut copies = copied_in_file(index);
    copies.extend(&inherited);
    let answers = index
        .iter()
        .filter(|(ix, entry)| entry.is_model_call() && !copies.contains(ix))
        .filter_map(|(ix, entry)| Some((ix, entry.message?.usage.filter(Usage::has_prompt_tokens)?)))
        .map(|(ix, usage)| (ix, if implausible.contains(&ix) { usage.without_prompt() } else { usage }))
        .collect();
    let beside = index.unanchored_usage.iter().filter(|(ix, _)| !inherited.contains(ix));
    let mut beside: Vec<(EntryIx, Usage)> = beside.map(|(ix, usage)| (*ix, *usage)).collect();
    // Sums of doubles depend on their order, and a hash map has none.
    beside.sort_by_key(|(ix, _)| *ix);
    let (failed, side_calls): (Vec<_>, Vec<_>) =
        beside.into_iter().partition(|(ix, _)| index.entry(*ix).is_model_call());
    BilledCalls { answers, failed: without_copies(index, failed), side_calls }
}

/// The list prices of a transcript's models.
pub(crate) struct PriceCache<'a> {
    source: PriceSource<'a>,
    prices: HashMap<(ValueIx, ValueIx), Option<Price>>,
}

impl<'a> PriceCache<'a> {
    pub(crate) fn new(session: &'a LoadedSession) -> Self {
        Self::from_source(PriceSource::from(session))
    }

    fn from_source(source: PriceSource<'a>) -> Self {
        let entries = source.index.iter().map(|(ix, _)| ix);
        Self { source, prices: list_prices(&source, entries) }
    }

    /// Returns the list price of the model that an entry names, else that of the session's model.
    pub(crate) fn price_of(&self, ix: EntryIx) -> Option<Price> {
        let model = self.source.index.entry(ix).model;
        model.map_or(self.source.price, |model| self.prices.get(&model).copied().flatten())
    }
}

/// Removes copies of failed answers, which a rewritten branch holds again.
fn without_copies(index: &Index, mut failed: Vec<(EntryIx, Usage)>) -> Vec<(EntryIx, Usage)> {
    let mut seen = HashSet::new();
    failed.retain(|(ix, usage)| {
        let keys: Vec<_> = marked_keys(index.entry(*ix), usage).collect();
        let is_copy = keys.iter().any(|key| seen.contains(key));
        seen.extend(keys);
        !is_copy
    });
    failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::session::testing::loaded_session;

    fn answer(id: &str, parent: &str, input: u32, cost: f64) -> String {
        // A copy `c1` keeps the time of the answer `a1`.
        let time = id.trim_start_matches(char::is_alphabetic);
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-11-01T00:00:00.000Z","message":{{"role":"assistant","timestamp":178000000000{time},"content":[{{"type":"text","text":"hi"}}],"provider":"p","model":"m","stopReason":"stop","usage":{{"input":{input},"output":5,"cacheRead":2,"cacheWrite":1,"totalTokens":{},"cost":{{"total":{cost}}}}}}}}}"#,
            input + 8
        )
    }

    #[test]
    fn usage_sums_answers_of_all_branches_and_side_calls_without_copies() {
        let usage = r#"{"type":"usage","id":"u1","parentId":"a1","timestamp":"2026-11-01T00:00:00.000Z","usage":{"input":100,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":100,"cost":{"total":0.5}}}"#;
        let lines = [
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
            r#"{"type":"message","id":"m1","parentId":null,"timestamp":"2026-11-01T00:00:00.000Z","message":{"role":"user","content":"q"}}"#.to_owned(),
            answer("a1", "m1", 10, 0.25),
            usage.to_owned(),
            answer("a2", "m1", 20, 1.0),
            // A rewritten branch holds the first answer again.
            answer("c1", "m1", 10, 0.25),
        ];
        let spent = session_usage(&loaded_session(&lines.join("\n"), 200_000.0));
        assert_eq!(
            (spent.answers.calls, spent.answers.input, spent.answers.output),
            (2, Tokens(30.0), Tokens(10.0))
        );
        assert_eq!((spent.answers.cache_read, spent.answers.cache_write), (Tokens(4.0), Tokens(2.0)));
        assert_eq!(
            (spent.side_calls.calls, spent.side_calls.input, spent.side_calls.cost.recorded),
            (1, Tokens(100.0), Some(0.5))
        );
        assert_eq!((spent.cost().recorded, spent.cost().unrecorded_calls), (Some(1.75), 0));
    }

    #[test]
    fn a_reply_of_the_gateway_with_the_usage_of_its_run_is_no_call() {
        let reply = |input: u32| {
            let sums = r#""output":10,"cacheRead":4,"cacheWrite":2,"#;
            answer("a3", "a2", input, 0.0).replace(r#""output":5,"cacheRead":2,"cacheWrite":1,"#, sums)
        };
        let calls = |input: u32| {
            let lines = [
                r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
                r#"{"type":"message","id":"m1","parentId":null,"timestamp":"2026-11-01T00:00:00.000Z","message":{"role":"user","content":"q"}}"#.to_owned(),
                answer("a1", "m1", 10, 0.25),
                answer("a2", "a1", 20, 0.25),
                reply(input),
            ];
            session_usage(&loaded_session(&lines.join("\n"), 200_000.0)).answers.calls
        };
        assert_eq!(calls(30), 2, "the sums of both calls");
        assert_eq!(calls(31), 3);
    }

    #[test]
    fn equal_consecutive_answers_are_separate_calls_and_mirrors_do_not_count() {
        let mirror = answer("x1", "a3", 5_000, 7.0)
            .replace(r#""provider":"p","model":"m""#, r#""provider":"openclaw","model":"delivery-mirror""#);
        let lines = [
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
            r#"{"type":"message","id":"m1","parentId":null,"timestamp":"2026-11-01T00:00:00.000Z","message":{"role":"user","content":"q"}}"#.to_owned(),
            answer("a1", "m1", 10, 0.25),
            answer("a2", "a1", 10, 0.25),
            answer("a3", "a2", 10, 0.25),
            mirror,
            // A rewritten branch holds the last two again.
            answer("c2", "a1", 10, 0.25),
            answer("c3", "c2", 10, 0.25),
        ];
        let spent = session_usage(&loaded_session(&lines.join("\n"), 200_000.0));
        assert_eq!((spent.answers.calls, spent.answers.input), (3, Tokens(30.0)));
        assert_eq!(spent.cost().recorded, Some(0.75));
    }

    #[test]
    fn a_summary_without_usage_is_estimated_from_the_messages_that_it_took_in() {
        let mut lines = vec![
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
            format!(r#"{{"type":"message","id":"m1","parentId":null,"timestamp":"2026-11-01T00:00:00.000Z","message":{{"role":"user","content":"{}"}}}}"#, "x".repeat(4_000)),
            answer("a1", "m1", 1_000, 0.25),
            r#"{"type":"message","id":"m2","parentId":"a1","timestamp":"2026-11-01T00:00:00.000Z","message":{"role":"user","content":"on"}}"#.to_owned(),
        ];
        let compaction = |id: &str, usage: &str| {
            format!(
                r#"{{"type":"compaction","id":"{id}","parentId":"m2","timestamp":"2026-11-01T00:00:00.000Z","summary":"{}","firstKeptEntryId":"m2","tokensBefore":1000{usage}}}"#,
                "y".repeat(400)
            )
        };
        let spent = |lines: &[String]| {
            let mut session = loaded_session(&lines.join("\n"), 200_000.0);
            session.price = Some(Price::flat([1.0, 10.0, 0.0, 0.0]));
            session_usage(&session)
        };
        lines.push(compaction("k1", ""));
        let once = spent(&lines);
        assert_eq!((once.summaries.calls, once.summaries.input), (1, Tokens(1_401.0)));
        assert!((100..130).contains(&once.summaries.output.whole()), "{once:?}");
        let cost = once.summaries.cost;
        assert_eq!((cost.recorded, cost.unrecorded_calls, cost.unrecorded_summaries), (None, 0, 1));
        assert!(cost.listed.is_some_and(|usd| (0.0024..0.003).contains(&usd)), "{cost:?}");
        assert_eq!(once.cost().total(), Some(0.25), "an estimate is not added to what was counted");
        lines.push(compaction("k2", ""));
        assert_eq!(spent(&lines).summaries, once.summaries, "a copy on a rewritten branch");
    }

    /// Estimates the summaries of a branch of these messages and compactions, each the child of the one before: a user
    /// message `u`, an answer `a` of a number of chars, and a compaction `k` that keeps from an entry on.
    fn summaries(branch: &[(char, usize)], ruleset: Ruleset) -> UsageTotals {
        let mut lines = vec![r#"{"type":"session","version":3,"id":"s"}"#.to_owned()];
        for (at, (kind, number)) in branch.iter().enumerate() {
            let head = format!(
                r#""id":"e{at}","parentId":"e{}","timestamp":"2026-11-01T00:00:00.000Z""#,
                at.wrapping_sub(1)
            );
            let text = "x".repeat(*number);
            lines.push(match kind {
                'u' => format!(r#"{{"type":"message",{head},"message":{{"role":"user","content":"{text}"}}}}"#),
                'a' => format!(r#"{{"type":"message",{head},"message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#),
                _ => format!(r#"{{"type":"compaction",{head},"summary":"{}","firstKeptEntryId":"e{number}","tokensBefore":{at}}}"#, "y".repeat(400)),
            });
        }
        let mut session = loaded_session(&lines.join("\n"), 200_000.0);
        session.ruleset.id = ruleset;
        session_usage(&session).summaries
    }

    #[test]
    fn the_beginning_of_a_split_turn_takes_a_request_of_its_own() {
        let whole =
            summaries(&[('u', 4_000), ('a', 400), ('u', 80), ('a', 400), ('k', 2)], Ruleset::V2026_3_2);
        assert_eq!(whole.input, Tokens(1_100.0 + 400.0));
        let split =
            summaries(&[('u', 4_000), ('a', 400), ('u', 80), ('a', 400), ('k', 3)], Ruleset::V2026_3_2);
        assert_eq!((split.calls, split.input), (1, Tokens(1_100.0 + 400.0 + 20.0 + 250.0)));
        let only = summaries(&[('u', 4_000), ('a', 400), ('k', 1)], Ruleset::V2026_3_2);
        assert_eq!(only.input, Tokens(1_000.0 + 250.0), "no history, no request for it");
    }

    #[test]
    fn the_part_that_a_compaction_kept_is_summarised_by_the_next_one_only_where_the_release_does_so() {
        let branch = [('u', 4_000), ('u', 8_000), ('k', 1), ('u', 400), ('u', 80), ('k', 4)];
        let second = |ruleset| {
            let all = summaries(&branch, ruleset).input - summaries(&branch[..3], ruleset).input;
            (all - Tokens(400.0)).whole()
        };
        let summary = 100;
        assert_eq!(second(Ruleset::V2026_3_2), summary + 100);
        assert_eq!(second(Ruleset::V2026_9_6), summary + 2_000 + 100);
    }

    #[test]
    fn a_newer_runtime_summarises_the_start_of_a_result() {
        let result = format!(
            r#"{{"type":"message","id":"r1","parentId":"a1","timestamp":"2026-11-01T00:00:00.000Z","message":{{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{{"type":"text","text":"{}"}}]}}}}"#,
            "x".repeat(40_000)
        );
        let lines = [
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/"}"#,
            r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-11-01T00:00:00.000Z","message":{"role":"user","content":"on"}}"#,
            &result,
            r#"{"type":"message","id":"m2","parentId":"r1","timestamp":"2026-11-01T00:00:00.000Z","message":{"role":"user","content":"on"}}"#,
            r#"{"type":"compaction","id":"k1","parentId":"m2","timestamp":"2026-11-01T00:00:00.000Z","summary":"done","firstKeptEntryId":"m2","tokensBefore":1000}"#,
        ];
        let taken_in = |ruleset| {
            let mut session = loaded_session(&lines.join("\n"), 200_000.0);
            session.ruleset.id = ruleset;
            session_usage(&session).summaries.input
        };
        assert_eq!(taken_in(Ruleset::V2026_3_2), Tokens(10_401.0));
        assert_eq!(taken_in(Ruleset::V2026_3_8), Tokens(901.0), "its pi cuts results");
        assert_eq!(taken_in(Ruleset::V2026_9_6), Tokens(901.0), "so does the gateway's own runtime");
    }

    #[test]
    fn a_session_without_usage_has_no_known_cost() {
        assert_eq!(SessionUsage::default().cost(), Cost::default());
    }

    #[test]
    fn a_failed_call_is_billed_once_though_a_rewritten_branch_holds_it_again() {
        let failed = |id: &str| {
            answer(id, "m1", 10, 0.25).replace(r#""stopReason":"stop""#, r#""stopReason":"aborted""#)
        };
        let lines = [
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
            r#"{"type":"message","id":"m1","parentId":null,"timestamp":"2026-11-01T00:00:00.000Z","message":{"role":"user","content":"q"}}"#.to_owned(),
            failed("a1"),
            failed("c1"),
        ];
        let spent = session_usage(&loaded_session(&lines.join("\n"), 200_000.0));
        assert_eq!((spent.answers.calls, spent.failed.calls), (0, 1));
        assert_eq!((spent.cost().recorded, spent.cost().is_estimated()), (Some(0.25), false));
    }
}
