//! `clawscope sessions [PATH]`: reads every transcript of a store and prints one line per session.

use std::io::Write as _;
use std::path::Path;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use super::environment::{Invocation, SessionsByKey, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::parallel::map_by_size;
use super::ruleset::{RulesetJson, ruleset_json};
use super::session_output::{LifecycleJson, lifecycle_json};
use crate::cli::{SessionsArgs, SortBy, StoreArgs, secrets};
use crate::diagnostic::{Diagnostic, Severity};
use crate::doc::{Align, Cell, Table, Tone};
use crate::export::json::JsonOutput;
use crate::format::{format_age, format_cents, format_count, format_estimate, format_number, format_percent};
use crate::gateway::ruleset::Ruleset;
use crate::gateway::window_rules::judge_window;
use crate::js::json_text_of;
use crate::session::family::{Families, Rollup};
use crate::session::lifecycle::Lifecycle;
use crate::session::list::sort_newest_first;
use crate::session::order::{SessionOrder, SortColumn};
use crate::session::overflow::CallState;
use crate::session::query::SessionQuery;
use crate::session::search_text::SearchText;
use crate::session::title::shown_title;
use crate::session::{ItemUsage, Mark, SessionItem, TokenCount};
use crate::store::key::SessionKind;
use crate::units::{Moment, Tokens};

pub(super) fn run(
    args: &SessionsArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut workspace = Workspace::from_path(args.target.as_deref().map(Path::new), place, invocation)?;
    let listed = std::mem::take(&mut workspace.listed.items);
    let (mut items, unread) = read_all(&workspace, listed);
    let chosen = choose(&items, args, workspace.now_ms)?;
    // Redact titles last: from here on they are only displayed.
    let shown = |at: &usize| shown_title(&items[*at], secrets(args.no_redact)).into_owned();
    let titles: Vec<String> = chosen.par_iter().map(shown).collect();
    for (at, title) in chosen.iter().zip(titles) {
        items[*at].title = title;
    }
    let findings: Vec<Diagnostic> = workspace.listed.diagnostics.iter().cloned().chain(unread).collect();
    if args.json {
        let rollups = Families::build(&items).rollups(&items);
        output.json(&report_json(&workspace, (&items, &rollups), &chosen, &findings))?;
    } else {
        // The failure at the end says why a database was not read.
        let findings: Vec<Diagnostic> = findings
            .into_iter()
            .filter(|finding| !workspace.listed.is_about_unread_database(finding))
            .collect();
        let all = items.len() as u64;
        let mut items: Vec<Option<SessionItem>> = items.into_iter().map(Some).collect();
        let items = chosen.iter().filter_map(|at| items[*at].take()).collect();
        print(&workspace, (items, all), &findings, args.sort, output)?;
    }
    workspace.require_databases()
}

/// Returns the indices of the sessions that the filter selects, in the requested order.
fn choose(items: &[SessionItem], args: &SessionsArgs, now_ms: Moment) -> Result<Vec<usize>, Failure> {
    let query = SessionQuery::parse(args.filter.as_deref().unwrap_or_default());
    let searched = if query.is_empty() { &[] } else { items };
    let texts: Vec<SearchText> = searched.iter().map(SearchText::new).collect();
    let selection = query.select(items, &texts, now_ms);
    if let Some(problem) = selection.problem {
        let problem = problem.to_string();
        let end = if problem.ends_with('?') { "" } else { "." };
        return Err(Failure::usage(format!("--filter: {problem}{end}")));
    }
    let mut chosen: Vec<usize> = selection.found.into_iter().map(|(at, _)| at).collect();
    if let Some(sort) = args.sort {
        SessionOrder { column: sort.into(), reversed: args.reverse }.sort(items, &mut chosen);
    }
    Ok(chosen)
}

/// Items that are read before they replace the listed ones, so that memory does not hold a large store's twice.
const BLOCK: usize = 4_096;

/// Loads each item from its transcript; an unreadable one keeps the data from its row and file.
pub(super) fn read_all(
    workspace: &Workspace,
    mut items: Vec<SessionItem>,
) -> (Vec<SessionItem>, Vec<Diagnostic>) {
    let sessions = workspace.store().sessions_by_key();
    let read = |item: &SessionItem| match workspace.count_item(item, &sessions) {
        Ok(counted) => (counted, None),
        Err(_) if item.has(Mark::Missing) || item.path.is_none() => (item.clone(), None),
        Err(failure) => (item.clone(), unreadable_diagnostic(item, failure)),
    };
    let mut findings = Vec::new();
    for block in items.chunks_mut(BLOCK) {
        let transcripts: Vec<_> = block.iter().map(|item| (item.bytes, item.id.as_str())).collect();
        let counted = map_by_size(&transcripts, |at| read(&block[at]));
        for (item, (counted, finding)) in block.iter_mut().zip(counted) {
            *item = counted;
            findings.extend(finding);
        }
    }
    // A transcript's last message replaces the time of its file, which a copy does not keep exactly.
    sort_newest_first(workspace.store(), &mut items);
    (items, findings)
}

/// Reports an unreadable transcript as a diagnostic about its session key.
pub(super) fn unreadable_diagnostic(item: &SessionItem, failure: Failure) -> Option<Diagnostic> {
    let Failure::Reported { message, .. } = failure else { return None };
    let path = item.path.clone().unwrap_or_default();
    // The diagnostic adds the file name itself.
    let what = message.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&message);
    let next = "The list shows only its session record.";
    let finding = Diagnostic::new(path, Severity::Error, what.trim_end_matches('.'), next);
    Some(finding.about(item.key.0.clone()))
}

/// The sessions at some places of a list, which are made while they are written, on all cores: a large store has hundreds
/// of thousands.
struct SessionsAt<'a> {
    places: &'a [usize],
    make: Box<dyn Fn(usize) -> ListedSessionJson + Sync + 'a>,
}

/// Sessions of which one thread makes the text.
const ITEMS_PER_TASK: usize = 64;

impl Serialize for SessionsAt<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.places.len()))?;
        for block in self.places.chunks(BLOCK) {
            let text = |at: &usize| json_text_of(&(self.make)(*at));
            let texts: Vec<_> = block.par_iter().with_min_len(ITEMS_PER_TASK).map(text).collect();
            for text in texts {
                list.serialize_element(&text.map_err(S::Error::custom)?)?;
            }
        }
        list.end()
    }
}

/// The sessions of a store.
#[derive(Serialize, JsonSchema)]
pub(super) struct SessionsJson<'a> {
    place: String,
    /// Whether this is the demo store.
    demo: bool,
    ruleset: RulesetJson,
    #[schemars(with = "Vec<ListedSessionJson>")]
    sessions: SessionsAt<'a>,
    findings: &'a [Diagnostic],
}

impl JsonOutput for SessionsJson<'_> {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedSessionJson {
    /// The routing key.
    key: String,
    agent: String,
    kind: String,
    /// The chat program, if known.
    channel: Option<String>,
    /// Key of the session that started this one.
    parent: Option<String>,
    /// The id of the transcript.
    id: String,
    path: Option<String>,
    title: String,
    provider: String,
    model: String,
    /// Id of the ruleset.
    ruleset: &'static str,
    /// The context window in tokens.
    window: u64,
    /// `warn` or `block` if the gateway finds the window too small.
    window_guard: Option<&'static str>,
    /// Tokens of the next prompt.
    tokens: Option<TokenCount>,
    /// Their share of the window, in percent.
    percent: Option<u64>,
    entries: Option<u64>,
    compactions: Option<u64>,
    /// How the newest calls ended: `overflow`, `refused`, `silent-cut`, `failing` or `healthy`.
    state: Option<&'static str>,
    /// Calls that overflowed.
    overflows: Option<u64>,
    /// Usage of every call on every branch.
    usage: Option<ItemUsage>,
    /// The same with the sessions that this one started, directly or not; null if it started none.
    rollup: Option<Rollup>,
    /// ms since 1970.
    updated_at: Option<i64>,
    /// Size of the transcript.
    bytes: u64,
    /// The marks of the session.
    flags: Vec<&'static str>,
    reset: Option<LifecycleJson>,
}

/// Returns the sessions at the `chosen` places of the list.
fn report_json<'a>(
    workspace: &'a Workspace,
    (items, rollups): (&'a [SessionItem], &'a [Rollup]),
    chosen: &'a [usize],
    findings: &'a [Diagnostic],
) -> SessionsJson<'a> {
    let sessions = workspace.store().sessions_by_key();
    let make = move |at: usize| item_json(workspace, (&items[at], &rollups[at]), &sessions);
    SessionsJson {
        place: workspace.listed.name.clone(),
        demo: workspace.listed.is_demo,
        ruleset: ruleset_json(&workspace.store().ruleset),
        sessions: SessionsAt { places: chosen, make: Box::new(make) },
        findings,
    }
}

/// Returns a session as the list has it.
pub(super) fn item_json(
    workspace: &Workspace,
    (item, rollup): (&SessionItem, &Rollup),
    sessions: &SessionsByKey<'_>,
) -> ListedSessionJson {
    ListedSessionJson {
        key: item.key.0.clone(),
        agent: item.agent.clone(),
        kind: item.kind.clone(),
        channel: item.channel.clone(),
        parent: item.parent.as_ref().map(|key| key.0.clone()),
        id: item.id.clone(),
        path: item.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
        title: item.title.clone(),
        provider: item.provider.clone(),
        model: item.model.clone(),
        ruleset: item.ruleset.id(),
        window: item.window,
        window_guard: window_guard_name(workspace, item),
        tokens: item.tokens,
        percent: item.window_percent(),
        entries: item.entries,
        compactions: item.compactions,
        state: item.state.map(CallState::as_str),
        overflows: item.overflows,
        usage: item.usage,
        rollup: rollup.with_descendants(),
        updated_at: item.updated_ms.map(Moment::whole),
        bytes: item.bytes.get(),
        flags: item.marks.iter().map(|mark| mark.as_str()).collect(),
        reset: reset_json(workspace, item, sessions),
    }
}

fn reset_json(
    workspace: &Workspace,
    item: &SessionItem,
    sessions: &SessionsByKey<'_>,
) -> Option<LifecycleJson> {
    let session = sessions.get(&item.key).filter(|session| session.path == item.path)?;
    let lifecycle = Lifecycle::for_session(workspace.store(), session)?;
    Some(lifecycle_json(&lifecycle, workspace.now_ms))
}

fn window_guard_name(workspace: &Workspace, item: &SessionItem) -> Option<&'static str> {
    let (run, model) = (Tokens(item.run_window as f64), Tokens(item.window as f64));
    let verdict = judge_window(workspace.store().ruleset.id.rules(), run, model);
    let word = if verdict.should_block { "block" } else { "warn" };
    (verdict.should_warn && item.kind != SessionKind::Pi.as_str()).then_some(word)
}

fn print(
    workspace: &Workspace,
    (items, all): (Vec<SessionItem>, u64),
    findings: &[Diagnostic],
    sort: Option<SortBy>,
    output: &mut Output,
) -> Result<(), Failure> {
    let is_empty = items.is_empty();
    let covers =
        if items.iter().any(|item| item.usage.is_some()) { " · cost: answers of all branches" } else { "" };
    for (at, line) in describe_rulesets(workspace, &items).into_iter().enumerate() {
        let line = if at == 0 { format!("{} · {line}{covers}", workspace.listed.name) } else { line };
        output.line(if at == 0 { Tone::Strong } else { Tone::Dim }, &line)?;
    }
    let mut items = items.into_iter().peekable();
    if sort.is_some() && !is_empty {
        output.line(Tone::Plain, "")?;
        table(workspace, items.by_ref(), sort, output.width()).print(output, "")?;
    }
    while let Some(first) = items.next() {
        let agent = first.agent.clone();
        let mut own = vec![first];
        own.extend(std::iter::from_fn(|| items.next_if(|item| item.agent == agent)));
        output.line(Tone::Plain, "")?;
        let count = format_count(own.len() as u64, "session", "sessions");
        output.line(Tone::Strong, &format!("agent {agent} · {count}"))?;
        table(workspace, own.into_iter(), None, output.width()).print(output, "  ")?;
    }
    if is_empty {
        let none = format!("0 of {} match", format_count(all, "session", "sessions"));
        writeln!(output, "{}", if all == 0 { "no sessions" } else { &none })?;
    }
    // The note about the demo store is already there.
    let missing = workspace.missing_path();
    for finding in findings.iter().filter(|finding| missing.as_ref() != Some(&finding.path)) {
        output.note(&finding.to_string())?;
    }
    Ok(())
}

/// Names the ruleset of the sessions, or counts the sessions per ruleset. A transcript may name another version than
/// its store.
fn describe_rulesets(workspace: &Workspace, items: &[SessionItem]) -> Vec<String> {
    let counts = Ruleset::ALL.into_iter().map(|ruleset| {
        let own = items.iter().filter(|item| item.ruleset == ruleset).count();
        (ruleset, own as u64)
    });
    let counts: Vec<(Ruleset, u64)> = counts.filter(|(_, count)| *count > 0).collect();
    match counts.as_slice() {
        [] => vec![workspace.store().ruleset.id.display_name().to_owned()],
        [(ruleset, _)] => vec![ruleset.display_name().to_owned()],
        several => {
            let of = |(ruleset, count): &(Ruleset, u64)| {
                format!("{} under {}", format_count(*count, "session", "sessions"), ruleset.display_name())
            };
            let names: Vec<&str> = several.iter().map(|(ruleset, _)| ruleset.display_name()).collect();
            let by_each = several.iter().map(of).collect::<Vec<_>>().join(", ");
            vec![names.join(" and "), format!("{by_each}, detected from their contents")]
        }
    }
}

/// Columns, and whether a narrow terminal shows them too.
const COLUMNS: [(&str, Align, bool); 12] = [
    ("key", Align::Flexible, true),
    ("title", Align::Flexible, false),
    ("model", Align::Left, false),
    ("tokens", Align::Right, true),
    ("window", Align::Right, true),
    ("full", Align::Right, true),
    ("entries", Align::Right, false),
    ("comp", Align::Right, false),
    ("over", Align::Right, false),
    ("cost", Align::Right, false),
    ("updated", Align::Left, true),
    ("flags", Align::Left, true),
];
/// Terminals below this many columns are narrow.
const NARROW_WIDTH: usize = 120;

fn table(
    workspace: &Workspace,
    items: impl Iterator<Item = SessionItem>,
    sort: Option<SortBy>,
    width: Option<usize>,
) -> Table {
    let wide = width.is_none_or(|width| width >= NARROW_WIDTH);
    let sorted = sort.map(|sort| SortColumn::from(sort).title());
    let shown = |at: usize| wide || COLUMNS[at].2 || sorted == Some(COLUMNS[at].0);
    let columns = COLUMNS.iter().enumerate().filter(|(at, _)| shown(*at));
    let mut table = Table::new(&columns.map(|(_, (name, align, _))| (*name, *align)).collect::<Vec<_>>());
    for item in items {
        let cells =
            cells(workspace, &item, sort.is_some()).into_iter().enumerate().filter(|(at, _)| shown(*at));
        table.push(cells.map(|(_, cell)| cell).collect::<Vec<_>>());
    }
    table
}

fn cells(workspace: &Workspace, item: &SessionItem, full_key: bool) -> [Cell; 12] {
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), format_number);
    let full = item.tokens.map_or_else(|| "-".to_owned(), |count| format_percent(count.tokens, item.window));
    let mut flags: Vec<&str> = item.marks.iter().map(|mark| mark.as_str()).collect();
    flags.extend(
        window_guard_name(workspace, item)
            .map(|word| if word == "block" { "window-too-small" } else { "small-window" }),
    );
    let updated = item.updated_ms.map_or_else(|| "-".to_owned(), |ms| format_age(ms, workspace.now_ms));
    let model = if item.model.is_empty() { "-" } else { &item.model };
    // The heading names the agent; clawscope also finds a key without it.
    let key = if full_key { &item.key.0 } else { item.short_key() };
    let cost =
        item.usage.and_then(|usage| Some(format_cents(usage.cost.total()?, usage.cost.is_estimated())));
    [
        key.into(),
        Cell::new(&item.display_name(), Tone::Dim),
        model.into(),
        format_tokens(item.tokens).into(),
        format_number(item.window).into(),
        Cell::new(&full, fill_tone(item.window_percent())),
        number(item.entries).into(),
        number(item.compactions).into(),
        number(item.overflows).into(),
        cost.unwrap_or_else(|| "-".to_owned()).into(),
        updated.into(),
        Cell::new(&flags.join(" "), flags_tone(item)),
    ]
}

fn format_tokens(tokens: Option<TokenCount>) -> String {
    match tokens {
        None => "-".to_owned(),
        Some(counted) if counted.is_estimate() => format_estimate(counted.tokens),
        Some(counted) => format_number(counted.tokens),
    }
}

/// Colours the fill level in the bands of common dashboards: green below 60%, yellow below 80%, red from there.
fn fill_tone(percent: Option<u64>) -> Tone {
    match percent {
        None => Tone::Dim,
        Some(..60) => Tone::Good,
        Some(60..80) => Tone::Warning,
        Some(_) => Tone::Bad,
    }
}

fn flags_tone(item: &SessionItem) -> Tone {
    let bad = [Mark::Overflow, Mark::Refused, Mark::Damaged];
    if bad.iter().any(|mark| item.has(*mark)) { Tone::Bad } else { Tone::Dim }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_about_an_unreadable_transcript_names_it_once() {
        let item = SessionItem { path: Some("/s/x.jsonl".into()), ..crate::session::testing::item() };
        let failure = Failure::unreadable("/s/x.jsonl: cannot be read: Permission denied. Check it.");
        let expected = "error: /s/x.jsonl (agent:main:main): cannot be read: Permission denied. Check it. \
                        The list shows only its session record.";
        assert_eq!(unreadable_diagnostic(&item, failure).unwrap().to_string(), expected);
        assert_eq!(unreadable_diagnostic(&item, Failure::OutputClosed), None);
    }
}
