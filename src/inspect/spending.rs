//! What a session took in all, on every branch and beside the conversation (store-pi-1.5 B12).

use std::collections::HashSet;

use crate::ids::EntryIx;
use crate::store::entry::Usage;
use crate::store::index::Index;
use crate::transcript::copied_in_file;

/// Usage of several calls, summed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// How many were counted.
    pub calls: usize,
    /// Tokens neither read from nor written to the cache.
    pub input: f64,
    /// Tokens of the replies.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
    /// Recorded cost, USD; none where no call has one.
    pub cost: Option<f64>,
}

impl Spent {
    fn add(mut self, usage: &Usage) -> Self {
        // What is odd about one count is not to spoil the sum.
        let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
        self.calls += 1;
        self.input += finite(usage.input);
        self.output += finite(usage.output);
        self.cache_read += finite(usage.cache_read);
        self.cache_write += finite(usage.cache_write);
        if usage.cost.is_finite() {
            self.cost = Some(self.cost.unwrap_or(0.0) + usage.cost);
        }
        self
    }
}

/// What a session took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spending {
    /// Answers of the model, on every branch; copies left out, since they were paid for once.
    pub answers: Spent,
    /// Answers that failed or were aborted: billed all the same.
    pub failed: Spent,
    /// Work beside the conversation: `usage` entries, summaries of compactions and branches, calls made by tools.
    pub beside: Spent,
}

impl Spending {
    /// Cost of all of them, USD; none where nothing is recorded.
    pub fn cost(&self) -> Option<f64> {
        [self.answers.cost, self.failed.cost, self.beside.cost]
            .into_iter()
            .flatten()
            .reduce(|sum, cost| sum + cost)
    }
}

/// What a whole transcript tells of its costs.
pub fn spending(index: &Index) -> Spending {
    let copies = copied_in_file(index);
    let answers = index
        .iter()
        .filter(|(ix, _)| !copies.contains(ix))
        .filter_map(|(_, entry)| entry.message?.usage.filter(Usage::is_counted));
    let mut beside: Vec<(EntryIx, Usage)> = index.beside.iter().map(|(ix, usage)| (*ix, *usage)).collect();
    // Sums of doubles depend on their order.
    beside.sort_by_key(|(ix, _)| *ix);
    let (failed, beside): (Vec<_>, Vec<_>) =
        beside.into_iter().partition(|(ix, _)| index.entry(*ix).is_call());
    Spending {
        answers: answers.fold(Spent::default(), |spent, usage| spent.add(&usage)),
        failed: originals(index, &failed).fold(Spent::default(), Spent::add),
        beside: beside.iter().fold(Spent::default(), |spent, (_, usage)| spent.add(usage)),
    }
}

/// Failed answers without their copies: a branch that was rewritten holds them again, with the same usage and text.
fn originals<'a>(index: &Index, failed: &'a [(EntryIx, Usage)]) -> impl Iterator<Item = &'a Usage> {
    let mut seen = HashSet::new();
    let likeness = |ix: EntryIx, usage: &Usage| {
        let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cost];
        (parts.map(f64::to_bits), index.entry(ix).message.map(|size| size.text_chars))
    };
    let first =
        failed.iter().map(|(ix, usage)| (seen.insert(likeness(*ix, usage)), usage)).collect::<Vec<_>>();
    first.into_iter().filter_map(|(is_first, usage)| is_first.then_some(usage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::testing::inspection;

    fn answer(id: &str, parent: &str, input: u32, cost: f64) -> String {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-11-01T00:00:00.000Z","message":{{"role":"assistant","content":[{{"type":"text","text":"hi"}}],"provider":"p","model":"m","stopReason":"stop","usage":{{"input":{input},"output":5,"cacheRead":2,"cacheWrite":1,"totalTokens":{},"cost":{{"total":{cost}}}}}}}}}"#,
            input + 8
        )
    }

    #[test]
    fn answers_of_all_branches_and_the_work_beside_them_are_summed_and_copies_are_not() {
        let usage = r#"{"type":"usage","id":"u1","parentId":"a1","timestamp":"2026-11-01T00:00:00.000Z","usage":{"input":100,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":100,"cost":{"total":0.5}}}"#;
        let lines = [
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
            r#"{"type":"message","id":"m1","parentId":null,"timestamp":"2026-11-01T00:00:00.000Z","message":{"role":"user","content":"q"}}"#.to_owned(),
            answer("a1", "m1", 10, 0.25),
            usage.to_owned(),
            answer("a2", "m1", 20, 1.0),
            // A branch that was rewritten holds the first answer again.
            answer("c1", "m1", 10, 0.25),
        ];
        let spent = spending(&inspection(&lines.join("\n"), 200_000.0).index);
        assert_eq!((spent.answers.calls, spent.answers.input, spent.answers.output), (2, 30.0, 10.0));
        assert_eq!((spent.answers.cache_read, spent.answers.cache_write), (4.0, 2.0));
        assert_eq!((spent.beside.calls, spent.beside.input, spent.beside.cost), (1, 100.0, Some(0.5)));
        assert_eq!(spent.cost(), Some(1.75));
    }

    #[test]
    fn what_nobody_counted_costs_nothing_that_is_known() {
        assert_eq!(Spending::default().cost(), None);
    }
}
