//! `clawscope tree SESSION`: prints every entry of a transcript, with branches indented.

use std::collections::HashSet;
use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::session_output::{
    SessionJson, finite, format_entry_tokens, message_tokens, print_session_header, session_json, tool_name,
};
use crate::cli::{StoreArgs, TreeArgs, secrets};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::format::format_count;
use crate::ids::EntryIx;
use crate::redact::SecretDisplay;
use crate::session::message::excerpt::read_context_excerpt;
use crate::session::{BranchTip, LoadedSession};
use crate::store::entry::EntryKind;
use crate::text::{pad, truncate, width};
use crate::transcript::Leaf;
use crate::transcript::drawing_order::{OrderedEntry, drawing_order};
use crate::transcript::tree::resolve_labels;
use crate::units::Moment;

/// Columns per level of branches.
const INDENT: &str = "│ ";
/// Deeper branches share this level.
const MAX_DEPTH: usize = 12;
/// Width of an excerpt without a terminal.
const EXCERPT_WIDTH: usize = 100;

pub(super) fn run(
    args: &TreeArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let TreeArgs { target: args, no_redact } = args;
    let secrets = secrets(*no_redact);
    let session =
        Workspace::for_session(&args.session, place, invocation)?.open_session(&args.session, output)?;
    if args.json {
        return Ok(output.json(&tree_json(&session, secrets))?);
    }
    let active: HashSet<EntryIx> = active_path(&session).into_iter().collect();
    let nodes = drawing_order(&session.tree, &active);
    print(&session, &nodes, &active, secrets, output)
}

/// Returns the active path, even if no context can be built from it.
fn active_path(session: &LoadedSession) -> Vec<EntryIx> {
    let leaf = session.tree.leaf(&session.index, &Leaf::Own);
    leaf.map(|leaf| session.tree.path_to(&session.index, leaf)).unwrap_or_default()
}

/// The transcript as a tree.
#[derive(Serialize, JsonSchema)]
pub(super) struct TreeJson {
    session: SessionJson,
    /// The active leaf.
    leaf: Option<String>,
    branches: Vec<BranchTip>,
    /// Every entry, in drawing order.
    pub(super) nodes: Vec<NodeJson>,
}

impl JsonOutput for TreeJson {}

#[derive(Serialize, JsonSchema)]
pub(super) struct NodeJson {
    pub(super) entry: String,
    parent: Option<String>,
    /// Line in the file, from 1.
    line: u64,
    r#type: &'static str,
    role: Option<&'static str>,
    tool: Option<String>,
    /// Estimated tokens of its message.
    tokens: Option<u64>,
    /// Chars of its message as pi counts them.
    chars: Option<u64>,
    /// ms since 1970.
    time: Option<Moment>,
    pub(super) label: Option<String>,
    /// Number of branches between it and the trunk.
    depth: usize,
    /// Whether it is on the path to the active leaf.
    active: bool,
    /// Whether it is the active leaf.
    leaf: bool,
    /// Whether it is an answer that suppresses the reply.
    silent: bool,
    children: Vec<String>,
}

/// Returns the tree with every entry.
pub(super) fn tree_json(session: &LoadedSession, secrets: SecretDisplay) -> TreeJson {
    let active: HashSet<EntryIx> = active_path(session).into_iter().collect();
    let nodes = drawing_order(&session.tree, &active);
    let index = &session.index;
    let leaf = session.tree.leaf(index, &Leaf::Own);
    let labels = resolve_labels(index, &session.tree);
    let node = |node: &OrderedEntry| {
        let entry = index.entry(node.entry);
        let size = entry.message;
        NodeJson {
            entry: index.display_id(node.entry),
            parent: session.tree.parent(node.entry).map(|ix| index.display_id(ix)),
            line: entry.line,
            r#type: entry.kind.as_str(),
            role: size.map(|size| size.role.as_str()),
            tool: size.and_then(|size| tool_name(session, node.entry, &size)),
            tokens: size.map(|size| message_tokens(&size)),
            chars: size.map(|size| size.pi_chars.whole_chars().whole()),
            time: finite(entry.time_ms),
            label: labels.get(&node.entry).map(|label| secrets.apply(label).into_owned()),
            depth: node.depth,
            active: active.contains(&node.entry),
            leaf: leaf == Some(node.entry),
            silent: size.is_some_and(|size| size.is_no_reply),
            children: session.tree.children(node.entry).iter().map(|ix| index.display_id(*ix)).collect(),
        }
    };
    TreeJson {
        session: session_json(&session.item),
        leaf: leaf.map(|ix| index.display_id(ix)),
        branches: session.branch_tips(secrets),
        nodes: nodes.iter().map(node).collect(),
    }
}

fn print(
    session: &LoadedSession,
    nodes: &[OrderedEntry],
    active: &HashSet<EntryIx>,
    secrets: SecretDisplay,
    output: &mut Output,
) -> Result<(), Failure> {
    let index = &session.index;
    let leaf = session.tree.leaf(index, &Leaf::Own);
    let labels = resolve_labels(index, &session.tree);
    print_session_header(output, session, session.window)?;
    let branches = nodes.iter().filter(|node| node.starts_branch).count() as u64;
    let entries = format_count(nodes.len() as u64, "entry", "entries");
    let branches = format_count(branches, "branch", "branches");
    writeln!(output, "{entries} · {branches} off the active path")?;
    writeln!(output)?;
    let names = nodes.iter().map(|node| width(&index.display_id(node.entry))).max().unwrap_or(0);
    for node in nodes {
        let on_path = active.contains(&node.entry);
        let mut rail = INDENT.repeat(node.depth.saturating_sub(1).min(MAX_DEPTH));
        if node.depth > 0 {
            rail.push_str(if node.starts_branch { "├╴" } else { INDENT });
        }
        let sign = if on_path { "●" } else { "○" };
        let name = pad(&index.display_id(node.entry), names);
        let what = describe_entry(session, node.entry);
        let tokens =
            index.entry(node.entry).message.map(|size| format_entry_tokens(session, node.entry, &size, None));
        let label =
            labels.get(&node.entry).map(|label| format!(" [{}]", secrets.apply(label))).unwrap_or_default();
        let end = if leaf == Some(node.entry) { " ◀" } else { "" };
        let facts = format!("{} {:>9}{label}{end}", pad(&what, 24), tokens.unwrap_or_default());
        let line = format!("{rail}{sign} {name}  {facts}  {}", entry_text(session, node.entry, secrets));
        let (line, _) = truncate(&line, output.width().unwrap_or(width(&facts) + names + EXCERPT_WIDTH));
        output.line(entry_tone(index.entry(node.entry).kind, on_path), line.trim_end())?;
    }
    Ok(())
}

/// Names an entry: role and tool of a message, otherwise its type.
fn describe_entry(session: &LoadedSession, ix: EntryIx) -> String {
    let entry = session.index.entry(ix);
    match entry.message.filter(|_| entry.kind == EntryKind::Message) {
        Some(size) if size.is_no_reply => format!("{} silent", size.role.as_str()),
        Some(size) if session.leaks_no_reply(ix) => format!("{} NO_REPLY shown", size.role.as_str()),
        Some(size) => match tool_name(session, ix, &size) {
            Some(tool) => format!("{} {tool}", size.role.as_str()),
            None => size.role.as_str().to_owned(),
        },
        None => entry.kind.as_str().to_owned(),
    }
}

/// Returns the text of an entry, or a note that it cannot be read.
fn entry_text(session: &LoadedSession, ix: EntryIx, secrets: SecretDisplay) -> String {
    match read_context_excerpt(session, ix) {
        Ok(excerpt) => excerpt.with_secrets(secrets).line(),
        Err(error) => error.to_string(),
    }
}

fn entry_tone(kind: EntryKind, on_path: bool) -> Tone {
    match kind {
        EntryKind::Compaction | EntryKind::BranchSummary if on_path => Tone::Warning,
        EntryKind::Message | EntryKind::CustomMessage if on_path => Tone::Plain,
        _ => Tone::Dim,
    }
}
