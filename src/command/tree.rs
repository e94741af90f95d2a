//! `clawscope tree SESSION`: every entry of a transcript, branches indented where they leave.

use std::collections::HashSet;
use std::io::Write as _;

use super::described::{number, print_head, row_tokens, session_value, tokens_of, tool_of};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::scene::{Around, Scene};
use super::words::counted;
use crate::cli::{PlaceArgs, TreeArgs, secrets};
use crate::ids::EntryIx;
use crate::inspect::excerpt::excerpt_of;
use crate::inspect::{BranchTip, Inspection};
use crate::js::{Object, Value};
use crate::redact::Secrets;
use crate::store::entry::EntryKind;
use crate::text::{cut, pad, width};
use crate::transcript::Leaf;
use crate::transcript::drawn::{Drawn, drawn};
use crate::transcript::labels::labels;

/// Columns of a branch.
const INDENT: &str = "│ ";
/// Deeper branches are drawn at this depth.
const DEEPEST: usize = 12;
/// Columns of an excerpt when no terminal tells.
const EXCERPT: usize = 100;

/// Draws a transcript.
pub(super) fn run(
    args: &TreeArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let TreeArgs { session: args, no_redact } = args;
    let secrets = secrets(*no_redact);
    let inspection = Scene::for_session(&args.session, place, around)?.open(&args.session)?;
    let active: HashSet<EntryIx> = active_path(&inspection).into_iter().collect();
    let nodes = drawn(&inspection.tree, &active);
    if args.json {
        return Ok(output.json(answer(&inspection, &nodes, &active, secrets))?);
    }
    print(&inspection, &nodes, &active, secrets, output)
}

/// The active path; it is there even when no context can be built from it.
fn active_path(inspection: &Inspection) -> Vec<EntryIx> {
    let leaf = inspection.tree.leaf(&inspection.index, &Leaf::Own);
    leaf.map(|leaf| inspection.tree.walk(&inspection.index, leaf)).unwrap_or_default()
}

fn answer(inspection: &Inspection, nodes: &[Drawn], active: &HashSet<EntryIx>, secrets: Secrets) -> Object {
    let index = &inspection.index;
    let leaf = inspection.tree.leaf(index, &Leaf::Own);
    let labels = labels(index, &inspection.tree);
    let branch_value = |tip: &BranchTip| {
        Value::from(Object::from([
            ("leaf", Value::from(index.name(tip.leaf))),
            ("active", Value::from(tip.active)),
            ("messages", Value::from(tip.messages)),
            ("headline", Value::from(tip.headline.as_str())),
        ]))
    };
    let node_value = |node: &Drawn| {
        let entry = index.entry(node.entry);
        let children = inspection.tree.children(node.entry).iter().map(|ix| Value::from(index.name(*ix)));
        let size = entry.message;
        Value::from(Object::from([
            ("entry", Value::from(index.name(node.entry))),
            ("parent", Value::from(inspection.tree.parent(node.entry).map(|ix| index.name(ix)))),
            ("line", Value::from(entry.line)),
            ("type", Value::from(entry.kind.word())),
            ("role", Value::from(size.map(|size| size.role.word()))),
            ("tool", Value::from(size.and_then(|size| tool_of(inspection, node.entry, &size)))),
            ("tokens", Value::from(size.map(|size| tokens_of(&size)))),
            ("chars", Value::from(size.map(|size| size.pi_chars.chars()))),
            ("time", number(entry.time)),
            ("label", Value::from(labels.get(&node.entry).map(|label| secrets.shown(label).into_owned()))),
            ("depth", Value::from(node.depth)),
            ("active", Value::from(active.contains(&node.entry))),
            ("leaf", Value::from(leaf == Some(node.entry))),
            ("silent", Value::from(size.is_some_and(|size| size.silent))),
            ("children", Value::from(children.collect::<Vec<_>>())),
        ]))
    };
    Object::from([
        ("session", session_value(&inspection.session)),
        ("leaf", Value::from(leaf.map(|ix| index.name(ix)))),
        (
            "branches",
            Value::from(inspection.branch_tips(secrets).iter().map(branch_value).collect::<Vec<_>>()),
        ),
        ("nodes", Value::from(nodes.iter().map(node_value).collect::<Vec<_>>())),
    ])
}

fn print(
    inspection: &Inspection,
    nodes: &[Drawn],
    active: &HashSet<EntryIx>,
    secrets: Secrets,
    output: &mut Output,
) -> Result<(), Failure> {
    let index = &inspection.index;
    let leaf = inspection.tree.leaf(index, &Leaf::Own);
    let labels = labels(index, &inspection.tree);
    print_head(output, inspection, inspection.window)?;
    let branches = nodes.iter().filter(|node| node.forks).count() as u64;
    let entries = counted(nodes.len() as u64, "entry", "entries");
    let branches = counted(branches, "branch", "branches");
    writeln!(output, "{entries} · {branches} off the active path")?;
    writeln!(output)?;
    let names = nodes.iter().map(|node| width(&index.name(node.entry))).max().unwrap_or(0);
    for node in nodes {
        let on_path = active.contains(&node.entry);
        let mut rail = INDENT.repeat(node.depth.saturating_sub(1).min(DEEPEST));
        if node.depth > 0 {
            rail.push_str(if node.forks { "├╴" } else { INDENT });
        }
        let sign = if on_path { "●" } else { "○" };
        let name = pad(&index.name(node.entry), names);
        let what = what(inspection, node.entry);
        let tokens = index.entry(node.entry).message.map(|size| row_tokens(inspection, node.entry, &size));
        let label =
            labels.get(&node.entry).map(|label| format!(" [{}]", secrets.shown(label))).unwrap_or_default();
        let end = if leaf == Some(node.entry) { " ◀" } else { "" };
        let facts = format!("{} {:>9}{label}{end}", pad(&what, 24), tokens.unwrap_or_default());
        let line = format!("{rail}{sign} {name}  {facts}  {}", text_of(inspection, node.entry, secrets));
        let (line, _) = cut(&line, output.width().unwrap_or(width(&facts) + names + EXCERPT));
        output.line(tone(index.entry(node.entry).kind, on_path), line.trim_end())?;
    }
    Ok(())
}

/// What an entry is: the role and tool of a message, else its type.
fn what(inspection: &Inspection, ix: EntryIx) -> String {
    let entry = inspection.index.entry(ix);
    match entry.message.filter(|_| entry.kind == EntryKind::Message) {
        Some(size) if size.silent => format!("{} silent", size.role.word()),
        Some(size) => match tool_of(inspection, ix, &size) {
            Some(tool) => format!("{} {tool}", size.role.word()),
            None => size.role.word().to_owned(),
        },
        None => entry.kind.word().to_owned(),
    }
}

/// The text of an entry; one that cannot be read again says so.
fn text_of(inspection: &Inspection, ix: EntryIx, secrets: Secrets) -> String {
    match excerpt_of(inspection, ix) {
        Ok(excerpt) => excerpt.shown(secrets).line(),
        Err(error) => error.to_string(),
    }
}

fn tone(kind: EntryKind, on_path: bool) -> Tone {
    match kind {
        EntryKind::Compaction | EntryKind::BranchSummary if on_path => Tone::Warning,
        EntryKind::Message | EntryKind::CustomMessage if on_path => Tone::Plain,
        _ => Tone::Dim,
    }
}
