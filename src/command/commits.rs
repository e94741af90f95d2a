//! `clawscope undo SESSION --list`: lists the commits and undos of a session, and which are in force.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::session_output::{SessionJson, finite, print_session_header, session_json};
use super::writing::ReplacedEntryJson;
use crate::cli::{SessionArgs, StoreArgs};
use crate::commit::{PolicyRecord, Receipt};
use crate::doc::{Align, Cell, Table, Tone};
use crate::export::json::JsonOutput;
use crate::format::{format_counted, format_estimate, format_time};
use crate::session::LoadedSession;
use crate::transcript::Leaf;
use crate::units::{Moment, Tokens};
use crate::write::commit_list::{CommitRecord, CommitStatus, describe_count, list_commits};

pub(super) fn run(
    args: &SessionArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let session =
        Workspace::for_session(&args.session, place, invocation)?.open_session(&args.session, output)?;
    let commits = list_commits(&session).map_err(|error| Failure::unreadable(error.to_string()))?;
    if args.json {
        let session = session_json(&session.item);
        let commits = commits.iter().map(commit_json).collect();
        return Ok(output.json(&CommitsJson { session, commits })?);
    }
    print_session_header(output, &session, session.window)?;
    writeln!(output)?;
    if commits.is_empty() {
        return Ok(output.line(Tone::Dim, "this session has no commits")?);
    }
    table(&session, &commits).print(output, "")?;
    writeln!(output)?;
    let count = describe_count(&commits);
    output.line(Tone::Plain, &format!("{count} · `clawscope undo --commit ID` undoes one of them"))?;
    Ok(())
}

/// Whether the provider counted the prompt that a commit left.
fn is_counted(session: &LoadedSession, receipt: &Receipt, tokens: Tokens) -> bool {
    let before = session.at_leaf(Leaf::Id(receipt.from_leaf.clone()));
    let total = before.map(|before| before.next_prompt.total);
    total.is_some_and(|total| !total.is_estimate() && total.tokens == tokens.whole())
}

fn table(session: &LoadedSession, commits: &[CommitRecord]) -> Table {
    let mut table = Table::new(&[
        ("id", Align::Left),
        ("written", Align::Left),
        ("what", Align::Left),
        ("tokens", Align::Right),
        ("changed", Align::Right),
        ("old leaf", Align::Left),
        ("state", Align::Left),
    ]);
    for committed in commits {
        let receipt = &committed.receipt;
        let whole = |tokens: Tokens| tokens.max(Tokens::ZERO).whole();
        let tokens = committed.prompt_tokens.map(|(before, after)| {
            let counted = is_counted(session, receipt, before);
            format!("{} → {}", format_counted(whole(before), counted), format_estimate(whole(after)))
        });
        let (sign, tone) =
            if committed.status == CommitStatus::InForce { ("●", Tone::Good) } else { ("○", Tone::Dim) };
        table.push(vec![
            receipt.id.as_str().into(),
            format_time(receipt.time).into(),
            committed.summary.as_str().into(),
            tokens.unwrap_or_default().into(),
            if receipt.changed.is_empty() { String::new() } else { receipt.changed.len().to_string() }.into(),
            receipt.from_leaf.as_str().into(),
            Cell::new(&format!("{sign} {}", committed.status.as_str()), tone),
        ]);
    }
    table
}

/// The commits and undos of a session.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommitsJson {
    session: SessionJson,
    commits: Vec<CommitJson>,
}

impl JsonOutput for CommitsJson {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CommitJson {
    id: String,
    kind: &'static str,
    /// ms since 1970.
    time: Option<Moment>,
    in_force: bool,
    state: &'static str,
    /// The leaf before.
    from_leaf: String,
    /// The commit that an undo takes back.
    undoes: Option<String>,
    /// The program that wrote it.
    tool: Option<String>,
    /// The messages before and after, by chars/4.
    tokens_before: Option<Tokens>,
    tokens_after: Option<Tokens>,
    /// Tokens of the next prompt before and after, as `commit` showed them; scaled to the session for a record of an
    /// earlier version, which has only the messages.
    prompt_tokens_before: Option<Tokens>,
    prompt_tokens_after: Option<Tokens>,
    changed: Vec<ReplacedEntryJson>,
    steps: Vec<PolicyRecord>,
}

fn commit_json(committed: &CommitRecord) -> CommitJson {
    let receipt = &committed.receipt;
    CommitJson {
        id: receipt.id.clone(),
        kind: receipt.kind.as_str(),
        time: finite(receipt.time),
        in_force: committed.status == CommitStatus::InForce,
        state: committed.status.json_name(),
        from_leaf: receipt.from_leaf.clone(),
        undoes: receipt.undoes.clone(),
        tool: receipt.tool.clone(),
        tokens_before: receipt.tokens_before,
        tokens_after: receipt.tokens_after,
        prompt_tokens_before: committed.prompt_tokens.map(|(before, _)| before),
        prompt_tokens_after: committed.prompt_tokens.map(|(_, after)| after),
        changed: receipt.changed.iter().map(ReplacedEntryJson::from).collect(),
        steps: receipt.policies.clone(),
    }
}
