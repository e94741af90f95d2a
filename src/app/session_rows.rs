//! The rows of the sessions pane: sessions below their agent and their day, sub-agents below the session that started
//! them.

use std::collections::{HashMap, HashSet};

use crate::format::{age_group, wall_clock};
use crate::ids::SessionKey;
use crate::session::family::Families;
use crate::session::order::{SessionOrder, SortColumn};
use crate::session::{Mark, SessionItem};
use crate::units::Moment;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionRow {
    /// An agent's heading, with the days of its first sessions.
    Agent {
        name: String,
        days: String,
    },
    /// The heading of further days of the same agent.
    Days(String),
    Item(ItemRow),
    /// A blank row between agents.
    Gap,
}

/// The row of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemRow {
    /// Index in the list.
    pub at: usize,
    /// Number of ancestors above it that are shown.
    pub depth: usize,
    /// Sessions folded below it.
    pub hidden: usize,
}

/// The list that rows are made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowInput<'a> {
    pub items: &'a [SessionItem],
    pub families: &'a Families,
    /// Sessions that a filter selects, in the order of the list. `None` without a filter.
    pub found: Option<&'a [usize]>,
    pub order: SessionOrder,
    /// Sessions whose sub-agents are hidden, and jobs whose runs are shown.
    pub folded: &'a HashSet<SessionKey>,
    pub now_ms: Moment,
}

/// Builds the rows. Only the order by age has headings, and only without a filter it has trees.
pub(super) fn session_rows(input: &RowInput<'_>) -> Vec<SessionRow> {
    let is_root = |at: &usize| input.families.parent(*at).is_none();
    let by_age = input.order.column == SortColumn::Age;
    let mut order: Vec<usize> = match input.found {
        Some(found) => found.to_vec(),
        None if by_age => (0..input.items.len()).filter(is_root).collect(),
        None => (0..input.items.len()).collect(),
    };
    if !by_age {
        input.order.sort(input.items, &mut order);
        let row = |at| SessionRow::Item(ItemRow { at, depth: 0, hidden: 0 });
        return order.into_iter().map(row).collect();
    }
    if input.order.reversed {
        input.order.sort(input.items, &mut order);
        let agents = agent_ranks(input.items);
        order.sort_by_key(|at| (agents.get(input.items[*at].agent.as_str()), aside(&input.items[*at])));
    }
    with_headings(input, &order)
}

/// Numbers the agents in the order of the list.
fn agent_ranks(items: &[SessionItem]) -> HashMap<&str, usize> {
    let mut ranks = HashMap::new();
    for item in items {
        let next = ranks.len();
        ranks.entry(item.agent.as_str()).or_insert(next);
    }
    ranks
}

fn aside(item: &SessionItem) -> (bool, bool) {
    (item.marks.iter().any(|mark| mark.is_archive()), item.has(Mark::Orphan))
}

/// The heading of an item, before the calendar turns its day into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heading {
    Archived,
    NoRecord,
    NoDate,
    /// Days since 1970.
    Day(i64),
}

impl Heading {
    fn new(item: &SessionItem) -> Self {
        match (aside(item), item.updated_ms) {
            ((true, _), _) => Self::Archived,
            ((false, true), _) => Self::NoRecord,
            (_, None) => Self::NoDate,
            (_, Some(at)) => Self::Day(wall_clock(at).day()),
        }
    }

    fn text(self, now_ms: Moment) -> String {
        match self {
            Self::Archived => "archived".to_owned(),
            Self::NoRecord => "no record".to_owned(),
            Self::NoDate => "no date".to_owned(),
            Self::Day(day) => age_group(day, wall_clock(now_ms).day()),
        }
    }
}

fn with_headings(input: &RowInput<'_>, order: &[usize]) -> Vec<SessionRow> {
    let mut rows = Vec::with_capacity(order.len());
    let mut agent: Option<&str> = None;
    let mut last_days = String::new();
    let mut known: Option<(Heading, String)> = None;
    for at in order {
        let item = &input.items[*at];
        let heading = Heading::new(item);
        let days = match known.take().filter(|(known, _)| *known == heading) {
            Some((_, days)) => days,
            None => heading.text(input.now_ms),
        };
        if agent != Some(&item.agent) {
            rows.extend(agent.is_some().then_some(SessionRow::Gap));
            rows.push(SessionRow::Agent { name: item.agent.clone(), days: days.clone() });
            agent = Some(&item.agent);
        } else if days != last_days {
            rows.push(SessionRow::Days(days.clone()));
        }
        last_days.clone_from(&days);
        known = Some((heading, days));
        push_tree(input, *at, &mut rows);
    }
    rows
}

/// Adds a session and, unless a filter is on, the sessions that it started.
fn push_tree(input: &RowInput<'_>, root: usize, rows: &mut Vec<SessionRow>) {
    let mut open = vec![(root, 0)];
    while let Some((at, depth)) = open.pop() {
        let children = if input.found.is_some() { &[][..] } else { input.families.children(at) };
        let folds = !children.is_empty() && folds(input.items, input.families, input.folded, at);
        let hidden = if folds { descendants(input.families, at) } else { 0 };
        rows.push(SessionRow::Item(ItemRow { at, depth, hidden }));
        if !folds {
            open.extend(children.iter().rev().map(|child| (*child, depth + 1)));
        }
    }
}

/// Whether the sessions below one are hidden. Those of a job are unless a person shows them.
pub(super) fn folds(
    items: &[SessionItem],
    families: &Families,
    toggled: &HashSet<SessionKey>,
    at: usize,
) -> bool {
    toggled.contains(&items[at].key) != families.job(at, items).is_some()
}

fn descendants(families: &Families, at: usize) -> usize {
    let mut open = families.children(at).to_vec();
    let mut count = 0;
    while let Some(next) = open.pop() {
        count += 1;
        open.extend(families.children(next));
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing;
    use crate::units::Millis;

    const NOW_MS: Moment = Moment(1_795_564_800_000.0);

    fn item(agent: &str, name: &str, days: i64, parent: &str) -> SessionItem {
        SessionItem {
            key: SessionKey(name.into()),
            agent: agent.into(),
            updated_ms: Some(NOW_MS - Millis(days as f64 * 86_400_000.0)),
            parent: (!parent.is_empty()).then(|| SessionKey(parent.into())),
            compactions: Some(days.unsigned_abs()),
            ..testing::item()
        }
    }

    fn lines(
        items: &[SessionItem],
        order: SessionOrder,
        folded: &[&str],
        found: Option<&[usize]>,
    ) -> Vec<String> {
        let families = Families::with_jobs(items);
        let folded = folded.iter().map(|key| SessionKey((*key).into())).collect();
        let input = RowInput { items, families: &families, found, order, folded: &folded, now_ms: NOW_MS };
        let line = |row: &SessionRow| match row {
            SessionRow::Agent { name, days } => format!("{name} {days}"),
            SessionRow::Days(days) => days.clone(),
            SessionRow::Gap => String::new(),
            SessionRow::Item(ItemRow { at, depth, hidden }) => {
                let hidden = if *hidden > 0 { format!(" +{hidden}") } else { String::new() };
                format!("{}{}{hidden}", "  ".repeat(*depth), items[*at].key)
            }
        };
        session_rows(&input).iter().map(line).collect()
    }

    fn store() -> Vec<SessionItem> {
        let mut archived = item("main", "old", 0, "");
        archived.set_mark(Mark::Reset, true);
        vec![
            item("main", "a", 0, ""),
            item("main", "b", 1, ""),
            archived,
            item("web", "sub", 0, "b"),
            item("web", "deep", 0, "sub"),
            item("web", "c", 40, ""),
        ]
    }

    #[test]
    fn the_order_by_age_has_agents_days_and_trees() {
        let rows = lines(&store(), SessionOrder::default(), &[], None);
        let expected = [
            "main today",
            "a",
            "yesterday",
            "b",
            "  sub",
            "    deep",
            "archived",
            "old",
            "",
            "web October",
            "c",
        ];
        assert_eq!(rows, expected);
        let folded = lines(&store(), SessionOrder::default(), &["b"], None);
        assert_eq!(folded[3..5], ["b +2", "archived"]);
    }

    #[test]
    fn the_oldest_come_first_within_each_agent_when_reversed() {
        let order = SessionOrder { reversed: true, ..SessionOrder::default() };
        let rows = lines(&store(), order, &["b"], None);
        assert_eq!(rows, ["main yesterday", "b +2", "today", "a", "archived", "old", "", "web October", "c"]);
    }

    #[test]
    fn any_other_order_and_a_filter_are_flat() {
        let order = SessionOrder { column: SortColumn::Compactions, reversed: false };
        assert_eq!(lines(&store(), order, &[], None), ["c", "b", "a", "old", "sub", "deep"]);
        let found = lines(&store(), SessionOrder::default(), &[], Some(&[0, 4]));
        assert_eq!(found, ["main today", "a", "", "web today", "deep"]);
    }

    #[test]
    fn the_runs_of_a_job_are_one_row_until_a_person_shows_them() {
        let run = |name: &str, days: i64, tokens: u64| SessionItem {
            path: Some(format!("/s/{name}").into()),
            tokens: Some(crate::session::TokenCount { tokens, ..Default::default() }),
            ..item("main", &format!("agent:main:cron:nightly{name}"), days, "")
        };
        let runs = [run("", 0, 900), run(":run:b", 0, 900), run(":run:a", 1, 500), run(":run:c", 9, 400)];
        let mut items = runs.to_vec();
        // The second key of the newest run.
        items[1].path = items[0].path.clone();
        items.push(item("main", "other", 3, ""));
        let rows = lines(&items, SessionOrder::default(), &[], None);
        assert_eq!(rows, ["main today", "agent:main:cron:nightly +3", "last week", "other"]);
        let shown = lines(&items, SessionOrder::default(), &["agent:main:cron:nightly"], None);
        assert_eq!(shown[1..3], ["agent:main:cron:nightly", "  agent:main:cron:nightly:run:b"]);
        let job = Families::with_jobs(&items).job(0, &items).unwrap();
        assert_eq!((job.count, job.growth), (3, Some((500, true))));
        let without_base = &items[1..];
        let rows = lines(without_base, SessionOrder::default(), &[], None);
        assert_eq!(rows[1], "agent:main:cron:nightly:run:b +2", "the newest run stands for the others");
    }
}
