//! `clawscope sessions [PATH]`: one line for each session of a store, every transcript read.

use std::io::Write as _;

use super::described::lifecycle_value;
use super::each::each;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::ruleset::ruleset_value;
use super::scene::{Around, ByKey, Scene, finding_value};
use super::table::{Align, Cell, Table};
use super::words::{ago, counted, estimated, grouped, percent};
use crate::cli::{PlaceArgs, SessionsArgs, secrets};
use crate::error::{Finding, Severity};
use crate::gateway::ruleset::Ruleset;
use crate::gateway::window_rules::judge_window;
use crate::inspect::lifecycle::Lifecycle;
use crate::inspect::title::shown_title;
use crate::inspect::{Counted, Mark, SessionItem};
use crate::js::{Object, Value};
use crate::store::key::Kind;

/// Lists the sessions of a store.
pub(super) fn run(
    args: &SessionsArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let SessionsArgs { list: args, no_redact } = args;
    let scene = Scene::list(args.path.as_deref(), place, around)?;
    let (mut items, unread) = read_all(&scene);
    // From here on titles are only shown.
    for item in &mut items {
        item.title = shown_title(item, secrets(*no_redact)).into_owned();
    }
    let findings: Vec<Finding> = scene.listed.findings.iter().cloned().chain(unread).collect();
    if args.json {
        return Ok(output.json(answer(&scene, &items, &findings))?);
    }
    print(&scene, &items, &findings, output)
}

/// Each item with what its transcript tells; what cannot be read stays as rows and files tell it.
pub(super) fn read_all(scene: &Scene) -> (Vec<SessionItem>, Vec<Finding>) {
    let sessions = scene.store().by_key();
    let read = |item: &SessionItem| match scene.count(item, &sessions) {
        Ok(counted) => (counted, None),
        Err(_) if item.has(Mark::Missing) || item.path.is_none() => (item.clone(), None),
        Err(failure) => (item.clone(), unread(item, failure)),
    };
    let items = &scene.listed.items;
    let sizes: Vec<u64> = items.iter().map(|item| item.bytes).collect();
    let (items, findings): (Vec<_>, Vec<_>) = each(&sizes, |at| read(&items[at])).into_iter().unzip();
    (items, findings.into_iter().flatten().collect())
}

/// A session whose transcript cannot be read, as a finding about its key.
pub(super) fn unread(item: &SessionItem, failure: Failure) -> Option<Finding> {
    let Failure::Told { message, .. } = failure else { return None };
    let path = item.path.clone().unwrap_or_default();
    // A finding names its file by itself.
    let what = message.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&message);
    let next = "The session is listed as its row tells it.";
    let finding = Finding::new(path, Severity::Error, what.trim_end_matches('.'), next);
    Some(finding.about(item.key.0.clone()))
}

fn answer(scene: &Scene, items: &[SessionItem], findings: &[Finding]) -> Object {
    let sessions = scene.store().by_key();
    let values: Vec<Value> = items.iter().map(|item| item_value(scene, item, &sessions)).collect();
    Object::from([
        ("place", Value::from(scene.listed.name.as_str())),
        ("demo", Value::from(scene.listed.demo)),
        ("ruleset", ruleset_value(&scene.store().ruleset)),
        ("sessions", Value::from(values)),
        ("findings", Value::from(findings.iter().map(finding_value).collect::<Vec<_>>())),
    ])
}

fn item_value(scene: &Scene, item: &SessionItem, sessions: &ByKey<'_>) -> Value {
    let tokens = item.tokens.map(|Counted { tokens, source }| {
        Object::from([("value", Value::from(tokens)), ("source", Value::from(source.word()))])
    });
    let flags: Vec<Value> = item.marks.iter().map(|mark| Value::from(mark.word())).collect();
    Value::from(Object::from([
        ("key", Value::from(item.key.0.as_str())),
        ("agent", Value::from(item.agent.as_str())),
        ("kind", Value::from(item.kind.as_str())),
        ("id", Value::from(item.id.as_str())),
        ("path", Value::from(item.path.as_ref().map(|path| path.to_string_lossy().into_owned()))),
        ("title", Value::from(item.title.as_str())),
        ("provider", Value::from(item.provider.as_str())),
        ("model", Value::from(item.model.as_str())),
        ("ruleset", Value::from(item.ruleset.id())),
        ("window", Value::from(item.window)),
        ("windowGuard", Value::from(guard_word(scene, item))),
        ("tokens", Value::from(tokens)),
        ("percent", Value::from(item.percent())),
        ("entries", Value::from(item.entries)),
        ("compactions", Value::from(item.compactions)),
        ("updatedAt", Value::from(item.updated_ms)),
        ("bytes", Value::from(item.bytes)),
        ("flags", Value::from(flags)),
        ("reset", reset_value(scene, item, sessions)),
    ]))
}

/// What begins a session anew by itself; null where nothing does.
fn reset_value(scene: &Scene, item: &SessionItem, sessions: &ByKey<'_>) -> Value {
    let session = sessions.get(&item.key).filter(|session| session.path == item.path);
    let lifecycle = session.and_then(|session| Lifecycle::of(scene.store(), session));
    lifecycle.map_or(Value::Null, |lifecycle| lifecycle_value(&lifecycle, scene.now_ms))
}

/// What the gateway does about a small window: `warn`, `block`, or nothing (compaction 7.2). pi has no such guard.
fn guard_word(scene: &Scene, item: &SessionItem) -> Option<&'static str> {
    let window = item.window as f64;
    let verdict = judge_window(scene.store().ruleset.ruleset.rules(), window, window);
    let word = if verdict.should_block { "block" } else { "warn" };
    (verdict.should_warn && item.kind != Kind::Pi.name()).then_some(word)
}

fn print(
    scene: &Scene,
    items: &[SessionItem],
    findings: &[Finding],
    output: &mut Output,
) -> Result<(), Failure> {
    for (at, line) in rules_words(scene, items).into_iter().enumerate() {
        let line = if at == 0 { format!("{} · {line}", scene.listed.name) } else { line };
        output.line(if at == 0 { Tone::Strong } else { Tone::Dim }, &line)?;
    }
    let mut from = 0;
    while from < items.len() {
        let agent = &items[from].agent;
        let len = items[from..].iter().take_while(|item| item.agent == *agent).count();
        output.line(Tone::Plain, "")?;
        let count = counted(len as u64, "session", "sessions");
        output.line(Tone::Strong, &format!("agent {agent} · {count}"))?;
        table(scene, &items[from..from + len], output.width()).print(output, "  ")?;
        from += len;
    }
    if items.is_empty() {
        writeln!(output, "no sessions")?;
    }
    for finding in findings {
        output.note(&finding.to_string())?;
    }
    Ok(())
}

/// By which rules the sessions are read: the name of the one ruleset, or how many are read by each. A transcript may tell
/// more than its store.
fn rules_words(scene: &Scene, items: &[SessionItem]) -> Vec<String> {
    let counts = Ruleset::ALL.into_iter().map(|ruleset| {
        let own = items.iter().filter(|item| item.ruleset == ruleset).count();
        (ruleset, own as u64)
    });
    let counts: Vec<(Ruleset, u64)> = counts.filter(|(_, count)| *count > 0).collect();
    match counts.as_slice() {
        [] => vec![scene.store().ruleset.ruleset.name().to_owned()],
        [(ruleset, _)] => vec![ruleset.name().to_owned()],
        several => {
            let of = |(ruleset, count): &(Ruleset, u64)| {
                format!("{} by the rules of {}", counted(*count, "session", "sessions"), ruleset.name())
            };
            let names: Vec<&str> = several.iter().map(|(ruleset, _)| ruleset.name()).collect();
            let by_each = several.iter().map(of).collect::<Vec<_>>().join(", ");
            vec![names.join(" and "), format!("{by_each}, by what is in them")]
        }
    }
}

/// The columns, and whether they are shown on a narrow terminal too.
const COLUMNS: [(&str, Align, bool); 10] = [
    ("key", Align::Flexible, true),
    ("title", Align::Flexible, false),
    ("model", Align::Left, false),
    ("tokens", Align::Right, true),
    ("window", Align::Right, true),
    ("full", Align::Right, true),
    ("entries", Align::Right, false),
    ("comp", Align::Right, false),
    ("updated", Align::Left, true),
    ("flags", Align::Left, true),
];
/// Below this many columns a terminal is narrow.
const NARROW: usize = 120;

fn table(scene: &Scene, items: &[SessionItem], width: Option<usize>) -> Table {
    let wide = width.is_none_or(|width| width >= NARROW);
    let shown = |at: usize| wide || COLUMNS[at].2;
    let columns = COLUMNS.iter().enumerate().filter(|(at, _)| shown(*at));
    let mut table = Table::new(&columns.map(|(_, (name, align, _))| (*name, *align)).collect::<Vec<_>>());
    for item in items {
        let cells = cells(scene, item).into_iter().enumerate().filter(|(at, _)| shown(*at));
        table.push(cells.map(|(_, cell)| cell).collect());
    }
    table
}

fn cells(scene: &Scene, item: &SessionItem) -> [Cell; 10] {
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), grouped);
    let full = item.tokens.map_or_else(|| "-".to_owned(), |count| percent(count.tokens, item.window));
    let mut flags: Vec<&str> = item.marks.iter().map(|mark| mark.word()).collect();
    flags.extend(
        guard_word(scene, item).map(|word| if word == "block" { "window-too-small" } else { "small-window" }),
    );
    let updated = item.updated_ms.map_or_else(|| "-".to_owned(), |ms| ago(ms, scene.now_ms));
    let model = if item.model.is_empty() { "-" } else { &item.model };
    // The agent stands above; a key without it is found all the same.
    let key = item.key.0.strip_prefix(&format!("agent:{}:", item.agent)).unwrap_or(&item.key.0);
    [
        key.into(),
        Cell::new(&item.name(), Tone::Dim),
        model.into(),
        tokens_words(item.tokens).into(),
        grouped(item.window).into(),
        Cell::new(&full, band(item.percent())),
        number(item.entries).into(),
        number(item.compactions).into(),
        updated.into(),
        Cell::new(&flags.join(" "), flags_tone(item)),
    ]
}

fn tokens_words(tokens: Option<Counted>) -> String {
    match tokens {
        None => "-".to_owned(),
        Some(counted) if counted.is_estimate() => estimated(counted.tokens),
        Some(counted) => grouped(counted.tokens),
    }
}

/// The bands people know from other tools: green below 60, yellow to 80, red above.
fn band(percent: Option<u64>) -> Tone {
    match percent {
        None => Tone::Dim,
        Some(..60) => Tone::Good,
        Some(60..80) => Tone::Warning,
        Some(_) => Tone::Bad,
    }
}

fn flags_tone(item: &SessionItem) -> Tone {
    let bad = [Mark::Overflow, Mark::Damaged];
    if bad.iter().any(|mark| item.has(*mark)) { Tone::Bad } else { Tone::Dim }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_about_an_unreadable_transcript_names_it_once() {
        let item = SessionItem { path: Some("/s/x.jsonl".into()), ..crate::inspect::testing::item() };
        let failure = Failure::unreadable("/s/x.jsonl: cannot be read: Permission denied. Check it.");
        let expected = "error: /s/x.jsonl (agent:main:main): cannot be read: Permission denied. Check it. \
                        The session is listed as its row tells it.";
        assert_eq!(unread(&item, failure).unwrap().to_string(), expected);
        assert_eq!(unread(&item, Failure::Closed), None);
    }
}
