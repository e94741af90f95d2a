//! Compares two branches of a session: where they fork, the messages that each sends, their past cost and the cost of
//! the next prompt. Pure.

use std::collections::HashSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::commit::{Receipt, ReceiptKind, receipts};
use crate::context::budget::Budget;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{Context, ContextMessage, build_context};
use crate::doc::{Align, Cell, Doc, Row, Table, Tone};
use crate::format::{format_amount, format_count, format_counted, format_estimate, format_number};
use crate::ids::{EntryIx, word_in_json};
use crate::js::Members;
use crate::replay::{Cost, TotalCost};
use crate::report::cost::format_cost;
use crate::session::usage_totals::PriceCache;
use crate::session::{CountSource, LoadedSession, TokenCount};
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, MessageSize, Role, Usage};
use crate::store::index::Index;
use crate::store::intern::IdIx;
use crate::store::measure::CompactChars;
use crate::transcript::{Leaf, copied_answers};

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComparedBranch {
    #[serde(rename = "leaf")]
    pub name: String,
    /// Whether this is the session's active leaf.
    pub active: bool,
    /// Entries from the root.
    pub entries: usize,
    /// Entries that only this branch has.
    #[serde(rename = "ownEntries")]
    pub unique_entries: usize,
    /// Messages sent to the model.
    pub messages: usize,
    /// Tokens of the next prompt, as the list of sessions counts them.
    #[serde(rename = "tokens", serialize_with = "tokens_only")]
    #[schemars(with = "u64")]
    pub next_prompt: TokenCount,
    /// The parts of the next prompt, on the same scale.
    #[serde(rename = "parts")]
    pub budget: Budget,
    /// Answers that a provider counted; a copy counts as its original.
    pub calls: usize,
    /// Cost of the branch, USD.
    #[serde(rename = "spent", with = "TotalCost")]
    pub cost: Cost,
    /// Cost of the entries only on this branch, USD.
    #[serde(rename = "ownSpent", with = "TotalCost")]
    pub unique_cost: Cost,
    /// Cost of the next prompt without a cache, USD.
    #[serde(rename = "nextCold")]
    pub next_cost_cold: Option<f64>,
    /// Cost of the next prompt from the cache, USD.
    #[serde(rename = "nextWarm")]
    pub next_cost_warm: Option<f64>,
}

fn tokens_only<S: Serializer>(count: &TokenCount, serializer: S) -> Result<S::Ok, S::Error> {
    count.tokens.serialize(serializer)
}

/// A fact about a branch: its name, and a function that formats it.
type BranchFact = (&'static str, fn(&ComparedBranch) -> String);

impl ComparedBranch {
    /// Facts that the document shows for a branch.
    const FACTS: [BranchFact; 8] = [
        ("leaf", |branch| format!("{}{}", branch.name, if branch.active { " (active)" } else { "" })),
        ("entries (total, unique)", |branch| format!("{}, {}", branch.entries, branch.unique_entries)),
        ("messages sent", |branch| branch.messages.to_string()),
        ("next prompt", |branch| {
            format_counted(branch.next_prompt.tokens, !branch.next_prompt.is_estimate())
        }),
        ("next prompt costs, cold", |branch| format_usd_or_none(branch.next_cost_cold)),
        ("next prompt costs, warm", |branch| format_usd_or_none(branch.next_cost_warm)),
        ("cost of answers", |branch| format_cost_or_none(&branch.cost)),
        ("only on this branch", |branch| format_cost_or_none(&branch.unique_cost)),
    ];

    /// Returns the tokens of the next prompt.
    pub fn tokens(&self) -> u64 {
        self.next_prompt.tokens
    }
}

/// The change of a message from the first branch to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageChange {
    /// Both branches send it with equal content.
    Identical,
    /// Both branches send it, with different content.
    Changed,
    /// Only the first branch sends it.
    OnlyFirst,
    /// Only the second branch sends it.
    OnlySecond,
}

word_in_json!(MessageChange, as_str);

impl MessageChange {
    /// Every variant, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Identical, Self::Changed, Self::OnlyFirst, Self::OnlySecond];

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Identical => "same",
            Self::Changed => "differs",
            Self::OnlyFirst => "onlyFirst",
            Self::OnlySecond => "onlySecond",
        }
    }

    /// The label for people, with the sign before its rows.
    fn label(self) -> (&'static str, &'static str, Tone) {
        match self {
            Self::Identical => ("  ", "identical", Tone::Dim),
            Self::Changed => ("~ ", "changed", Tone::Trimmed),
            Self::OnlyFirst => ("- ", "only on the first", Tone::Bad),
            Self::OnlySecond => ("+ ", "only on the second", Tone::Good),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedMessage {
    pub change: MessageChange,
    /// The sender.
    pub role: Role,
    /// The tool of a result.
    pub tool: Option<String>,
    /// Its entry on the first branch.
    pub first: Option<String>,
    /// Its entry on the second branch.
    pub second: Option<String>,
    /// Estimated tokens on each branch; 0 where the message is not sent.
    pub tokens_first: u64,
    pub tokens_second: u64,
    /// The entry that it leads to, on the second branch if that sends it.
    #[serde(skip)]
    pub entry: EntryIx,
}

impl ComparedMessage {
    /// Describes a message that one or both branches send.
    fn new(index: &Index, change: MessageChange, sides: [Option<&ContextMessage>; 2]) -> Option<Self> {
        let message = sides[1].or(sides[0])?;
        let result = Some(&message.size).filter(|size| size.role == Role::ToolResult);
        let tool = result.and_then(|size| index.values.text(size.tool_name));
        let [first, second] = sides.map(|side| side.map(|side| index.display_id(side.entry)));
        let [tokens_first, tokens_second] =
            sides.map(|side| side.map_or(0, |side| estimate_or_zero(&side.size)));
        let (role, entry) = (message.size.role, message.entry);
        Some(Self { change, role, tool, first, second, tokens_first, tokens_second, entry })
    }

    fn row(&self) -> Row {
        let (sign, _, tone) = self.change.label();
        let name = [Some(self.role.as_str()), self.tool.as_deref()].into_iter().flatten();
        let mut cells = vec![Cell::from(name.collect::<Vec<_>>().join(" ")).after_sign(sign, tone)];
        for (entry, tokens) in [(&self.first, self.tokens_first), (&self.second, self.tokens_second)] {
            let tokens = entry.as_ref().map(|_| format_estimate(tokens));
            cells.push(Cell::new(entry.as_deref().unwrap_or_default(), Tone::Dim));
            cells.push(tokens.unwrap_or_default().into());
        }
        Row::from(cells).leading_to(Some(self.entry))
    }
}

/// Messages with the same change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeTotals {
    pub messages: usize,
    pub tokens_first: u64,
    pub tokens_second: u64,
}

impl ChangeTotals {
    fn new(rows: &[ComparedMessage], change: MessageChange) -> Self {
        let mut totals = Self::default();
        for row in rows.iter().filter(|row| row.change == change) {
            totals.messages += 1;
            totals.tokens_first += row.tokens_first;
            totals.tokens_second += row.tokens_second;
        }
        totals
    }
}

/// Two branches of a session, message by message. Tokens of messages are by chars/4; those of a branch are the count of
/// its next prompt.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BranchComparison {
    /// The last shared entry; null if the branches share no entry.
    #[serde(rename = "parting")]
    pub fork_point: Option<String>,
    /// Number of shared entries.
    #[serde(rename = "shared")]
    pub shared_entries: usize,
    pub first: ComparedBranch,
    pub second: ComparedBranch,
    /// Sums by kind of change.
    changes: Members<ChangeTotals>,
    pub rows: Vec<ComparedMessage>,
}

impl BranchComparison {
    /// Compares the branches that end at two entries. Returns `None` if the runtime builds no context for one of them.
    ///
    /// `receipts` are the session's own: they identify changed entries even where the sizes are equal.
    pub fn new(
        session: &LoadedSession,
        first: EntryIx,
        second: EntryIx,
        receipts: &[Receipt],
    ) -> Option<Self> {
        let index = &session.index;
        let paths = [first, second].map(|leaf| session.tree.path_to(index, leaf));
        let shared = paths[0].iter().zip(&paths[1]).take_while(|(a, b)| a == b).count();
        let [a, b] = [first, second].map(|leaf| context_at(session, leaf));
        let (a, b) = (a?, b?);
        let rows = align_messages(index, &changed_pairs(session, receipts), &a.messages, &b.messages);
        let totals = |change: MessageChange| (change.as_str(), ChangeTotals::new(&rows, change));
        Some(Self {
            first: compared_branch(session, first, &paths[0], shared, &a),
            second: compared_branch(session, second, &paths[1], shared, &b),
            fork_point: shared.checked_sub(1).map(|at| index.display_id(paths[0][at])),
            shared_entries: shared,
            changes: MessageChange::ALL.map(totals).into_iter().collect(),
            rows,
        })
    }

    /// Returns the facts of both branches side by side, the sums of the changes, and the changed messages; with `all`
    /// also the identical ones.
    pub fn doc(&self, all: bool) -> Doc {
        let mut doc = Doc::new(self.describe_fork());
        let mut facts = Table::new(&[("", Align::Left), ("first", Align::Right), ("second", Align::Right)]);
        for (name, of) in ComparedBranch::FACTS {
            facts.push(vec![Cell::new(name, Tone::Dim), of(&self.first).into(), of(&self.second).into()]);
        }
        doc.table(facts);
        doc.gap();
        for change in MessageChange::ALL {
            self.say_totals(change, &mut doc);
        }
        let mut messages = Table::new(&[
            ("message", Align::Left),
            ("first", Align::Left),
            ("tokens", Align::Right),
            ("second", Align::Left),
            ("tokens", Align::Right),
        ]);
        for row in self.rows.iter().filter(|row| all || row.change != MessageChange::Identical) {
            messages.push(row.row());
        }
        if !messages.is_empty() {
            doc.gap();
            doc.table(messages);
        }
        doc
    }

    /// Describes the common part: `289 entries in common, up to f17d8bd9`.
    fn describe_fork(&self) -> String {
        let Some(entry) = &self.fork_point else { return "no entry in common".to_owned() };
        let shared = format_count(self.shared_entries as u64, "entry in common", "entries in common");
        format!("{shared}, up to {entry}")
    }

    fn say_totals(&self, change: MessageChange, doc: &mut Doc) {
        let ChangeTotals { messages, tokens_first, tokens_second } = ChangeTotals::new(&self.rows, change);
        if messages == 0 {
            return;
        }
        let (sign, label, tone) = change.label();
        let count = format_number(messages as u64);
        let tokens = match change {
            MessageChange::Changed => {
                format!("{} → {}", format_estimate(tokens_first), format_estimate(tokens_second))
            }
            _ => format_estimate(tokens_first.max(tokens_second)),
        };
        doc.say(tone, &format!("{sign}{count} {label}, {tokens} by chars/4"));
    }
}

/// The reason why two branches cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum BranchComparisonError {
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error("{}: the session has no active branch.", .0.display())]
    NoBranch(PathBuf),
    #[error("{}: the session has only one branch.", .0.display())]
    OneBranch(PathBuf),
    #[error("{}: the runtime cannot build a context from one of these entries.", .0.display())]
    NoContext(PathBuf),
}

/// Compares two branches. A missing end defaults to the branch before the newest commit, compared with the active
/// branch; the record of a compaction stands for the compaction after it.
pub fn compare_branches(
    session: &LoadedSession,
    leaves: [Option<EntryIx>; 2],
) -> Result<BranchComparison, BranchComparisonError> {
    let receipts = receipts(&session.index, &session.source)?;
    let path = || session.source.path().to_path_buf();
    let leaves = leaves.map(|leaf| leaf.map(|ix| end_of_write(session, ix, &receipts)));
    let own = session.tree.leaf(&session.index, &Leaf::Own);
    let second = leaves[1].or(own).ok_or_else(|| BranchComparisonError::NoBranch(path()))?;
    let first = leaves[0].or_else(|| default_other_branch(session, &receipts));
    let first = first.ok_or_else(|| BranchComparisonError::OneBranch(path()))?;
    BranchComparison::new(session, first, second, &receipts)
        .ok_or_else(|| BranchComparisonError::NoContext(path()))
}

/// Returns the last entry that a commit wrote: its record, or the compaction that it put behind the record.
fn end_of_write(session: &LoadedSession, ix: EntryIx, receipts: &[Receipt]) -> EntryIx {
    let is_commit = receipts.iter().any(|receipt| receipt.entry == ix && receipt.kind == ReceiptKind::Commit);
    let mut behind = session.tree.children(ix).iter().filter(|_| is_commit);
    behind.find(|child| session.index.entry(**child).kind == EntryKind::Compaction).copied().unwrap_or(ix)
}

/// Returns the default branch to compare with the active one: the origin of the newest commit or undo on the active
/// path, otherwise the newest other leaf of the tree.
pub fn default_other_branch(session: &LoadedSession, receipts: &[Receipt]) -> Option<EntryIx> {
    let (index, tree) = (&session.index, &session.tree);
    let own = tree.leaf(index, &Leaf::Own)?;
    let left = receipts.iter().rev().find_map(|receipt| tree.find_by_text(index, &receipt.from_leaf));
    let ends = || index.iter().rev().map(|(ix, _)| ix);
    left.filter(|ix| *ix != own).or_else(|| {
        ends().find(|ix| *ix != own && tree.children(*ix).is_empty() && !tree.path_to(index, *ix).is_empty())
    })
}

fn context_at(session: &LoadedSession, leaf: EntryIx) -> Option<Context> {
    let name = session.index.display_id(leaf);
    build_context(&session.index, &session.tree, &Leaf::Id(name)).ok()
}

fn compared_branch(
    session: &LoadedSession,
    leaf: EntryIx,
    path: &[EntryIx],
    shared: usize,
    context: &Context,
) -> ComparedBranch {
    let (index, tree) = (&session.index, &session.tree);
    let usage = |ix: &EntryIx| index.entry(*ix).message?.usage.filter(Usage::has_prompt_tokens);
    let copies = copied_answers(index, path);
    let prices = PriceCache::new(session);
    let own = path[shared..].iter().filter(|ix| !copies.contains(ix));
    let (next_prompt, budget) = next_prompt_at(session, leaf, context);
    let millions = next_prompt.tokens as f64 / 1e6;
    let price = session.price.map(|price| price.at(next_prompt.tokens as f64));
    // Without a price for cache writes, a write costs as much as input.
    let write = price.map(|price| if price.cache_write > 0.0 { price.cache_write } else { price.input });
    ComparedBranch {
        name: index.display_id(leaf),
        active: tree.leaf(index, &Leaf::Own) == Some(leaf),
        entries: path.len(),
        unique_entries: path.len() - shared,
        messages: context.messages.len(),
        budget,
        next_prompt,
        calls: path.iter().filter_map(usage).count(),
        cost: sum_costs(&prices, index, path.iter()),
        unique_cost: sum_costs(&prices, index, own),
        next_cost_cold: write.map(|price| price * millions),
        next_cost_warm: price.map(|price| price.cache_read * millions),
    }
}

/// Returns the next prompt at a leaf and its parts, as the list of sessions counts them.
fn next_prompt_at(session: &LoadedSession, leaf: EntryIx, context: &Context) -> (TokenCount, Budget) {
    let moved = if session.context.leaf == Some(leaf) { None } else { Some(session.at_entry(leaf)) };
    if let Some(at_leaf) = moved.as_ref().map_or(Some(session), Option::as_ref) {
        (at_leaf.next_prompt.total, at_leaf.next_prompt.budget(&at_leaf.context))
    } else {
        let budget = Budget::from_context(session.fixed_chars, context);
        (TokenCount { tokens: budget.total(), source: CountSource::Estimated }, budget)
    }
}

fn format_usd_or_none(cost: Option<f64>) -> String {
    cost.map_or_else(|| "\u{2014}".to_owned(), |usd| format_amount(usd, true))
}

fn format_cost_or_none(cost: &Cost) -> String {
    format_cost(cost).unwrap_or_else(|| "\u{2014}".to_owned())
}

/// Sums the cost of the calls among these entries, failed ones included.
fn sum_costs<'a>(prices: &PriceCache<'_>, index: &Index, entries: impl Iterator<Item = &'a EntryIx>) -> Cost {
    entries.fold(Cost::default(), |mut cost, ix| {
        let entry = index.entry(*ix);
        let counted = entry.message.and_then(|size| size.usage).filter(Usage::has_prompt_tokens);
        let billed = index.unanchored_usage.get(ix).copied().filter(|_| entry.is_model_call());
        if let Some(usage) = counted.or(billed) {
            cost.add_usage(&usage, prices.price_of(*ix).as_ref());
        }
        cost
    })
}

/// Identifies a message across a copy that shortens it. A result is identified by the call that it answers; every other
/// message keeps its sizes.
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord, Clone, Copy)]
struct MessageSignature {
    role: &'static str,
    call: Option<IdIx>,
    chars: u64,
}

fn signature(message: &ContextMessage) -> MessageSignature {
    let size = &message.size;
    let result = size.role == Role::ToolResult && size.call_id.is_some();
    MessageSignature {
        role: size.role.as_str(),
        call: size.call_id.filter(|_| result),
        chars: if result { 0 } else { size.pi_chars.whole_chars().whole() },
    }
}

/// Returns pairs of an entry and its changed copy, in both orders.
fn changed_pairs(session: &LoadedSession, receipts: &[Receipt]) -> HashSet<[EntryIx; 2]> {
    let find = |name: &String| session.tree.find_by_text(&session.index, name);
    let pairs = receipts.iter().flat_map(|receipt| &receipt.changed);
    let pairs = pairs.filter_map(|(from, to)| Some([find(from)?, find(to)?]));
    pairs.flat_map(|[from, to]| [[from, to], [to, from]]).collect()
}

fn align_messages(
    index: &Index,
    changed: &HashSet<[EntryIx; 2]>,
    first: &[ContextMessage],
    second: &[ContextMessage],
) -> Vec<ComparedMessage> {
    let like = |messages: &[ContextMessage]| messages.iter().map(signature).collect::<Vec<_>>();
    let (a, b) = (like(first), like(second));
    let mut rows = Vec::with_capacity(first.len().max(second.len()));
    let mut push = |change, sides| rows.extend(ComparedMessage::new(index, change, sides));
    for op in capture_diff_slices(Algorithm::Patience, &a, &b) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            let pairs = first[old_index..old_index + len].iter().zip(&second[new_index..new_index + len]);
            pairs.for_each(|(a, b)| push(change_between(changed, a, b), [Some(a), Some(b)]));
        } else {
            first[op.old_range()].iter().for_each(|it| push(MessageChange::OnlyFirst, [Some(it), None]));
            second[op.new_range()].iter().for_each(|it| push(MessageChange::OnlySecond, [None, Some(it)]));
        }
    }
    rows
}

/// Returns whether a message that both branches send has equal content.
fn change_between(changed: &HashSet<[EntryIx; 2]>, a: &ContextMessage, b: &ContextMessage) -> MessageChange {
    let is_equal = content_sizes(&a.size) == content_sizes(&b.size) && !changed.contains(&[a.entry, b.entry]);
    if a.entry == b.entry || is_equal { MessageChange::Identical } else { MessageChange::Changed }
}

/// Sizes that a change of content alters. Committed changes are known from receipts as well.
fn content_sizes(size: &MessageSize) -> [u64; 6] {
    let of = |part: CompactChars| part.get().whole();
    let counted = [size.pi_chars, size.prune_chars].map(|size| size.whole_chars().whole());
    let [pi, prune] = counted;
    [
        pi,
        prune,
        of(size.text_chars),
        u64::from(size.images),
        of(size.thinking_chars),
        of(size.tool_call_chars),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::{call, loaded_session, message, result, transcript, user};
    use crate::units::Moment;

    const USAGE: &str = r#""usage":{"input":1000,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":1010,"cost":{"total":0.25}}"#;

    fn answer(text: &str) -> String {
        message(&format!(
            r#"{{"role":"assistant","timestamp":7,"content":[{{"type":"text","text":"{text}"}}],{USAGE}}}"#
        ))
    }

    /// Builds a question, a call, a long result and an answer; then, on a branch from the call, the shortened result
    /// and a copy of the answer.
    fn session() -> LoadedSession {
        let parent =
            |entry: String, parent: &str| entry.replacen('{', &format!("{{\"parentId\":\"{parent}\","), 1);
        loaded_session(
            &transcript(&[
                user("why?"),
                call("c1", "exec", "{}"),
                result("c1", "exec", &"x".repeat(4000), ""),
                answer("so"),
                parent(result("c1", "exec", "short", ""), "e1"),
                parent(answer("so"), "e4"),
            ]),
            200_000.0,
        )
    }

    #[test]
    fn branches_are_compared_from_their_fork() {
        let session = session();
        let other = default_other_branch(&session, &[]).unwrap();
        let reported = BranchComparison::new(&session, other, EntryIx(5), &[]).unwrap();
        assert_eq!((reported.first.name.as_str(), reported.second.name.as_str()), ("e3", "e5"));
        assert_eq!((reported.shared_entries, reported.fork_point.clone()), (2, Some("e1".to_owned())));
        assert!(reported.second.active && !reported.first.active);
        assert_eq!([reported.first.messages, reported.second.messages], [4, 4]);
        assert_eq!([reported.first.unique_entries, reported.second.unique_entries], [2, 2]);
        let differing = ChangeTotals { messages: 1, tokens_first: 1000, tokens_second: 2 };
        assert_eq!(ChangeTotals::new(&reported.rows, MessageChange::Changed), differing);
        assert_eq!(ChangeTotals::new(&reported.rows, MessageChange::Identical).messages, 3);
        // The last answer of each branch measured its prompt.
        assert_eq!(reported.first.tokens(), reported.second.tokens());
    }

    #[test]
    fn a_shared_cost_is_not_counted_twice() {
        let session = session();
        let reported = BranchComparison::new(&session, EntryIx(3), EntryIx(5), &[]).unwrap();
        assert_eq!([reported.first.cost.total(), reported.second.cost.total()], [Some(0.25), Some(0.25)]);
        assert_eq!(
            [reported.first.unique_cost.total(), reported.second.unique_cost.total()],
            [Some(0.25), None],
            "the copy was not paid"
        );
        assert_eq!([reported.first.calls, reported.second.calls], [1, 1]);
    }

    #[test]
    fn a_branch_compared_with_itself_is_identical() {
        let session = session();
        let reported = BranchComparison::new(&session, EntryIx(5), EntryIx(5), &[]).unwrap();
        assert!(reported.rows.iter().all(|row| row.change == MessageChange::Identical));
        assert_eq!((reported.shared_entries, reported.first.unique_entries), (4, 0));
    }

    #[test]
    fn a_receipt_shows_changes_that_sizes_do_not() {
        let session = session();
        let receipt = Receipt {
            kind: crate::commit::ReceiptKind::Commit,
            entry: EntryIx(5),
            id: "e5".into(),
            time: Moment::ZERO,
            from_leaf: "e3".into(),
            undoes: None,
            policies: Vec::new(),
            changed: vec![("e3".into(), "e5".into())],
            tokens_before: None,
            tokens_after: None,
            prompt_tokens: None,
            tool: None,
        };
        let reported =
            BranchComparison::new(&session, EntryIx(3), EntryIx(5), std::slice::from_ref(&receipt)).unwrap();
        assert_eq!(ChangeTotals::new(&reported.rows, MessageChange::Changed).messages, 2);
        let receipt = Receipt { from_leaf: "e1".into(), ..receipt };
        assert_eq!(default_other_branch(&session, &[receipt]), Some(EntryIx(1)));
    }
}
