//! Two branches of a session beside each other: where they part, what each sends to the model, what it cost and what the
//! next prompt from it would. Pure.

use std::collections::HashSet;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::commit::{Receipt, receipts};
use crate::context::budget::Budget;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{Context, ContextMessage, build};
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::cost::{amount, cost_short};
use crate::inspect::spending::Prices;
use crate::inspect::words::grouped_by;
use crate::replay::Cost;
use crate::store::entry::{MessageSize, Role, Usage};
use crate::store::index::Index;
use crate::store::intern::IdIx;
use crate::transcript::{Leaf, copied_answers};

/// One of the two.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The entry it ends at.
    pub leaf: EntryIx,
    /// Its name.
    pub name: String,
    /// It is the session's own leaf.
    pub active: bool,
    /// Entries from the root on.
    pub entries: usize,
    /// Entries behind the one both have last.
    pub own_entries: usize,
    /// Messages that the model is sent.
    pub messages: usize,
    /// What fills the window, estimated tokens.
    pub budget: Budget,
    /// Answers that a provider counted; copies count as what they are copies of.
    pub calls: usize,
    /// Their cost, failed ones included.
    pub spent: Cost,
    /// Of that what was spent behind the entry both have last, copies left out: they were paid for once.
    pub own_spent: Cost,
    /// Cost of the next prompt while nothing of it is cached, USD; none without a price.
    pub next_cold: Option<f64>,
    /// The same while all of it is.
    pub next_warm: Option<f64>,
}

/// A fact of a branch: its name, and how it reads.
pub type Fact = (&'static str, fn(&Branch) -> String);

impl Branch {
    /// What a list tells of a branch, by name.
    pub const FACTS: [Fact; 8] = [
        ("leaf", |branch| format!("{}{}", branch.name, if branch.active { " (active)" } else { "" })),
        ("entries, its own", |branch| format!("{}, {}", branch.entries, branch.own_entries)),
        ("messages sent", |branch| branch.messages.to_string()),
        ("next prompt", |branch| format!("~{}", grouped_by(branch.tokens(), ','))),
        ("next prompt costs, cold", |branch| dollars_or_none(branch.next_cold)),
        ("next prompt costs, warm", |branch| dollars_or_none(branch.next_warm)),
        ("cost of its calls", |branch| cost_or_none(&branch.spent)),
        ("of that only here", |branch| cost_or_none(&branch.own_spent)),
    ];

    /// Estimated tokens of the next prompt.
    pub fn tokens(&self) -> u64 {
        self.budget.total()
    }
}

/// What became of a message from one branch to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Both send the same.
    Same,
    /// Both send it, with other content.
    Differs,
    /// Only the first branch sends it.
    OnlyFirst,
    /// Only the second branch sends it.
    OnlySecond,
}

impl Change {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Same, Self::Differs, Self::OnlyFirst, Self::OnlySecond];

    /// The word in JSON and on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Differs => "differs",
            Self::OnlyFirst => "onlyFirst",
            Self::OnlySecond => "onlySecond",
        }
    }

    /// The same for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Same => "the same on both",
            Self::Differs => "with other content",
            Self::OnlyFirst => "on the first only",
            Self::OnlySecond => "on the second only",
        }
    }

    /// The sign before a row.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Same => " ",
            Self::Differs => "~",
            Self::OnlyFirst => "-",
            Self::OnlySecond => "+",
        }
    }
}

/// A message of one branch or of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// What became of it.
    pub change: Change,
    /// Who speaks.
    pub role: Role,
    /// Where it stands on each branch.
    pub entries: [Option<EntryIx>; 2],
    /// Estimated tokens on each branch; 0 where it is not sent.
    pub tokens: [u64; 2],
}

impl Row {
    /// The tool of a result.
    pub fn tool(&self, index: &Index) -> Option<String> {
        let entry = self.entries[1].or(self.entries[0])?;
        let size = index.entry(entry).message.filter(|size| size.role == Role::ToolResult)?;
        index.words.text(size.tool)
    }
}

/// Two branches.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The first, which the other is compared with.
    pub first: Branch,
    /// The second.
    pub second: Branch,
    /// The last entry both have; none where they have none.
    pub parting: Option<EntryIx>,
    /// Entries both have.
    pub shared: usize,
    /// Every message of either, in order.
    pub rows: Vec<Row>,
}

impl Comparison {
    /// Compares the branches that end at two entries. None where the runtime builds no context for one of them.
    ///
    /// `receipts` are the session's own: they name the entries that were changed, whatever their sizes say.
    pub fn new(
        inspection: &Inspection,
        first: EntryIx,
        second: EntryIx,
        receipts: &[Receipt],
    ) -> Option<Self> {
        let paths = [first, second].map(|leaf| inspection.tree.walk(&inspection.index, leaf));
        let shared = paths[0].iter().zip(&paths[1]).take_while(|(a, b)| a == b).count();
        let [a, b] = [first, second].map(|leaf| context(inspection, leaf));
        let (a, b) = (a?, b?);
        Some(Self {
            first: branch(inspection, first, &paths[0], shared, &a),
            second: branch(inspection, second, &paths[1], shared, &b),
            parting: shared.checked_sub(1).map(|at| paths[0][at]),
            shared,
            rows: rows(&changed(inspection, receipts), &a.messages, &b.messages),
        })
    }

    /// Messages that changed in some way, and their tokens on each branch.
    pub fn count(&self, change: Change) -> (usize, [u64; 2]) {
        let of = self.rows.iter().filter(|row| row.change == change);
        of.fold((0, [0, 0]), |(count, sum), row| {
            (count + 1, [sum[0] + row.tokens[0], sum[1] + row.tokens[1]])
        })
    }
}

/// Compares two branches; where an end is not given, the branch before the newest commit with the active one. What is wrong
/// is told in a sentence.
pub fn compared(inspection: &Inspection, leaves: [Option<EntryIx>; 2]) -> Result<Comparison, String> {
    let receipts = receipts(&inspection.index, &inspection.source).map_err(|error| error.to_string())?;
    let path = inspection.source.path().display();
    let own = inspection.tree.leaf(&inspection.index, &Leaf::Own);
    let second = leaves[1].or(own).ok_or_else(|| format!("{path}: there is no active branch."))?;
    let first = leaves[0].or_else(|| other_branch(inspection, &receipts));
    let first = first.ok_or_else(|| format!("{path}: there is only one branch."))?;
    Comparison::new(inspection, first, second, &receipts)
        .ok_or_else(|| format!("{path}: the runtime cannot build a context from one of these entries."))
}

/// The branch to compare the active one with where nobody names one: where the newest commit or undo of the active path
/// came from, else the newest other end of the tree.
pub fn other_branch(inspection: &Inspection, receipts: &[Receipt]) -> Option<EntryIx> {
    let (index, tree) = (&inspection.index, &inspection.tree);
    let own = tree.leaf(index, &Leaf::Own)?;
    let left = receipts.iter().rev().find_map(|receipt| tree.find_text(index, &receipt.from_leaf));
    let ends = || index.iter().rev().map(|(ix, _)| ix);
    left.filter(|ix| *ix != own).or_else(|| {
        ends().find(|ix| *ix != own && tree.children(*ix).is_empty() && !tree.walk(index, *ix).is_empty())
    })
}

fn context(inspection: &Inspection, leaf: EntryIx) -> Option<Context> {
    let name = inspection.index.name(leaf);
    build(&inspection.index, &inspection.tree, &Leaf::Id(name)).ok()
}

fn branch(
    inspection: &Inspection,
    leaf: EntryIx,
    path: &[EntryIx],
    shared: usize,
    context: &Context,
) -> Branch {
    let (index, tree) = (&inspection.index, &inspection.tree);
    let usage = |ix: &EntryIx| index.entry(*ix).message?.usage.filter(Usage::is_counted);
    let copies = copied_answers(index, path);
    let prices = Prices::new(inspection);
    let own = path[shared..].iter().filter(|ix| !copies.contains(ix));
    let budget = Budget::of(inspection.fixed, context);
    let millions = budget.total() as f64 / 1e6;
    let price = inspection.price.as_ref();
    // Where writing to the cache has no price of its own it costs what input costs.
    let write = price.map(|price| if price.cache_write > 0.0 { price.cache_write } else { price.input });
    Branch {
        leaf,
        name: index.name(leaf),
        active: tree.leaf(index, &Leaf::Own) == Some(leaf),
        entries: path.len(),
        own_entries: path.len() - shared,
        messages: context.messages.len(),
        budget,
        calls: path.iter().filter_map(usage).count(),
        spent: spent(&prices, index, path.iter()),
        own_spent: spent(&prices, index, own),
        next_cold: write.map(|price| price * millions),
        next_warm: price.map(|price| price.cache_read * millions),
    }
}

fn dollars_or_none(cost: Option<f64>) -> String {
    cost.map_or_else(|| "\u{2014}".to_owned(), |usd| amount(usd, true))
}

fn cost_or_none(cost: &Cost) -> String {
    cost_short(cost).unwrap_or_else(|| "\u{2014}".to_owned())
}

/// The cost of the calls among some entries, failed ones included.
fn spent<'a>(prices: &Prices<'_>, index: &Index, entries: impl Iterator<Item = &'a EntryIx>) -> Cost {
    entries.fold(Cost::default(), |mut cost, ix| {
        let entry = index.entry(*ix);
        let counted = entry.message.and_then(|size| size.usage).filter(Usage::is_counted);
        let billed = index.beside.get(ix).copied().filter(|_| entry.is_call());
        if let Some(usage) = counted.or(billed) {
            cost.add_usage(&usage, prices.of(*ix).as_ref());
        }
        cost
    })
}

/// What tells a message from the others and stays when it is copied and shortened. Results are told by the call they
/// answer; of everything else the sizes stay.
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord, Clone, Copy)]
struct Likeness {
    role: &'static str,
    call: Option<IdIx>,
    chars: u64,
}

fn likeness(message: &ContextMessage) -> Likeness {
    let size = &message.size;
    let result = size.role == Role::ToolResult && size.call.is_some();
    Likeness {
        role: size.role.word(),
        call: size.call.filter(|_| result),
        chars: if result { 0 } else { size.pi_chars.chars() },
    }
}

/// Entries with the copies that were changed, either way round.
fn changed(inspection: &Inspection, receipts: &[Receipt]) -> HashSet<[EntryIx; 2]> {
    let find = |name: &String| inspection.tree.find_text(&inspection.index, name);
    let pairs = receipts.iter().flat_map(|receipt| &receipt.changed);
    let pairs = pairs.filter_map(|(from, to)| Some([find(from)?, find(to)?]));
    pairs.flat_map(|[from, to]| [[from, to], [to, from]]).collect()
}

fn rows(changed: &HashSet<[EntryIx; 2]>, first: &[ContextMessage], second: &[ContextMessage]) -> Vec<Row> {
    let like = |messages: &[ContextMessage]| messages.iter().map(likeness).collect::<Vec<_>>();
    let (a, b) = (like(first), like(second));
    let mut rows = Vec::with_capacity(first.len().max(second.len()));
    for op in capture_diff_slices(Algorithm::Patience, &a, &b) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            let pairs = first[old_index..old_index + len].iter().zip(&second[new_index..new_index + len]);
            rows.extend(pairs.map(|(a, b)| both(changed, a, b)));
        } else {
            rows.extend(first[op.old_range()].iter().map(|message| one(message, 0)));
            rows.extend(second[op.new_range()].iter().map(|message| one(message, 1)));
        }
    }
    rows
}

fn both(changed: &HashSet<[EntryIx; 2]>, a: &ContextMessage, b: &ContextMessage) -> Row {
    let pair = [a.entry, b.entry];
    let same = a.entry == b.entry || (sizes(&a.size) == sizes(&b.size) && !changed.contains(&pair));
    Row {
        change: if same { Change::Same } else { Change::Differs },
        role: a.size.role,
        entries: pair.map(Some),
        tokens: [estimate_or_zero(&a.size), estimate_or_zero(&b.size)],
    }
}

/// What a change of content changes. Every change that was committed is known besides.
fn sizes(size: &MessageSize) -> [u64; 6] {
    let of = |count: u32| u64::from(count);
    let counted = [size.pi_chars.chars(), size.prune_chars.chars()];
    let [pi, prune] = counted;
    [pi, prune, of(size.text_chars), of(size.images), of(size.thinking_chars), of(size.call_chars)]
}

fn one(message: &ContextMessage, side: usize) -> Row {
    let (mut entries, mut tokens) = ([None, None], [0, 0]);
    entries[side] = Some(message.entry);
    tokens[side] = estimate_or_zero(&message.size);
    Row {
        change: if side == 0 { Change::OnlyFirst } else { Change::OnlySecond },
        role: message.size.role,
        entries,
        tokens,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::testing::{call, inspection, message, result, transcript, user};

    const USAGE: &str = r#""usage":{"input":1000,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":1010,"cost":{"total":0.25}}"#;

    fn answer(text: &str) -> String {
        message(&format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],{USAGE}}}"#))
    }

    /// A question, a call, a long result, an answer; then the result shortened on a branch from the call, and the answer
    /// copied behind it.
    fn session() -> Inspection {
        let parent =
            |entry: String, parent: &str| entry.replacen('{', &format!("{{\"parentId\":\"{parent}\","), 1);
        inspection(
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
    fn branches_are_told_apart_from_where_they_part() {
        let session = session();
        let other = other_branch(&session, &[]).unwrap();
        let told = Comparison::new(&session, other, EntryIx(5), &[]).unwrap();
        assert_eq!((told.first.name.as_str(), told.second.name.as_str()), ("e3", "e5"));
        assert_eq!((told.shared, told.parting), (2, Some(EntryIx(1))));
        assert!(told.second.active && !told.first.active);
        assert_eq!([told.first.messages, told.second.messages], [4, 4]);
        assert_eq!([told.first.own_entries, told.second.own_entries], [2, 2]);
        let (differs, tokens) = told.count(Change::Differs);
        assert_eq!((differs, tokens), (1, [1000, 2]));
        assert_eq!(told.count(Change::Same).0, 3);
        assert_eq!(told.first.tokens() - told.second.tokens(), 998);
    }

    #[test]
    fn what_was_paid_once_is_not_the_branchs_own_twice() {
        let session = session();
        let told = Comparison::new(&session, EntryIx(3), EntryIx(5), &[]).unwrap();
        assert_eq!([told.first.spent.total(), told.second.spent.total()], [Some(0.25), Some(0.25)]);
        assert_eq!(
            [told.first.own_spent.total(), told.second.own_spent.total()],
            [Some(0.25), None],
            "the copy was not paid"
        );
        assert_eq!([told.first.calls, told.second.calls], [1, 1]);
    }

    #[test]
    fn a_branch_beside_itself_is_the_same() {
        let session = session();
        let told = Comparison::new(&session, EntryIx(5), EntryIx(5), &[]).unwrap();
        assert!(told.rows.iter().all(|row| row.change == Change::Same));
        assert_eq!((told.shared, told.first.own_entries), (4, 0));
    }

    #[test]
    fn the_commit_says_what_changed_where_sizes_do_not() {
        let session = session();
        let receipt = Receipt {
            kind: crate::commit::ReceiptKind::Commit,
            entry: EntryIx(5),
            id: "e5".into(),
            time: 0.0,
            from_leaf: "e3".into(),
            undoes: None,
            steps: Vec::new(),
            changed: vec![("e3".into(), "e5".into())],
            tokens_before: None,
            tokens_after: None,
            tool: None,
        };
        let told = Comparison::new(&session, EntryIx(3), EntryIx(5), std::slice::from_ref(&receipt)).unwrap();
        assert_eq!(told.count(Change::Differs).0, 2);
        let receipt = Receipt { from_leaf: "e1".into(), ..receipt };
        assert_eq!(other_branch(&session, &[receipt]), Some(EntryIx(1)));
    }
}
