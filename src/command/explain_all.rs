//! `clawscope explain --all`: prints the verdict of every session in a store, sessions at risk first.

use std::fmt::Write as _;
use std::path::Path;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace};
use super::explain_json::{SCHEMA_VERSION, VerdictJson, verdict_json};
use super::failure::Failure;
use super::output::Output;
use super::ruleset::{RulesetJson, ruleset_json};
use super::session_output::{SessionJson, session_json};
use crate::cli::{ExplainArgs, StoreArgs, WindowArg};
use crate::doc::{Align, Cell, Table, Tone};
use crate::export::json::JsonOutput;
use crate::format::{format_count, format_estimate, format_number, format_percent};
use crate::report::explain::{Explanation, FindingClass, explain};
use crate::session::overflow::CallState;
use crate::session::{Mark, SessionItem, TokenCount};

/// A session and its verdict, or why it has none. Whole explanations of a large store would fill the memory.
struct ExplainedSession {
    item: SessionItem,
    verdict: Result<SessionVerdict, Failure>,
}

/// The part of an explanation that the list shows.
struct SessionVerdict {
    state: CallState,
    has_overflowed: bool,
    no_setting_helps: bool,
    is_healthy: bool,
    tone: Tone,
    line: Option<VerdictJson>,
}

impl SessionVerdict {
    fn new(explanation: &Explanation) -> Self {
        let verdict = explanation.verdict();
        Self {
            state: explanation.state,
            has_overflowed: explanation.has_overflowed(),
            no_setting_helps: explanation.no_setting_helps(),
            is_healthy: verdict.is_none_or(|finding| finding.class == FindingClass::Healthy),
            tone: verdict_tone(explanation),
            line: verdict_json(explanation),
        }
    }
}

pub(super) fn run(
    args: &ExplainArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let windows = windows_in_tokens(&args.window)?;
    let workspace = Workspace::from_path(args.target.as_deref().map(Path::new), place, invocation)?;
    let readable =
        workspace.listed.items.iter().filter(|item| item.path.is_some() && !item.has(Mark::Missing));
    let mut all: Vec<ExplainedSession> =
        readable.collect::<Vec<_>>().into_par_iter().map(|item| explain_session(&workspace, item)).collect();
    all.sort_by_cached_key(|explained| (std::cmp::Reverse(risk_rank(explained)), explained.item.key.clone()));
    if args.json {
        output.json(&report_json(&workspace, all, &windows))?;
    } else {
        let missing = (workspace.listed.items.len() - all.len()) as u64;
        print(&all, &windows, missing, output)?;
    }
    workspace.require_databases()
}

fn windows_in_tokens(windows: &[WindowArg]) -> Result<Vec<u64>, Failure> {
    let tokens = |window: &WindowArg| match window {
        WindowArg::Tokens(tokens) => Ok(*tokens),
        WindowArg::Learnt => {
            Err(Failure::usage("--window learnt: it is learnt from the calls of one SESSION. Name it."))
        }
    };
    windows.iter().map(tokens).collect()
}

fn explain_session(workspace: &Workspace, item: &SessionItem) -> ExplainedSession {
    let session = match workspace.open_item(item) {
        Ok(session) => session,
        Err(failure) => return ExplainedSession { item: item.clone(), verdict: Err(failure) },
    };
    let explanation = explain(&session).map_err(|error| Failure::unreadable(error.to_string()));
    ExplainedSession { item: session.item, verdict: explanation.map(|it| SessionVerdict::new(&it)) }
}

/// Orders sessions for the list: overflowed, then unhealthy, then healthy; the fuller first within each class.
fn risk_rank(explained: &ExplainedSession) -> (u8, u64) {
    let class = match &explained.verdict {
        Err(_) => 1,
        Ok(verdict) if verdict.has_overflowed => 3,
        Ok(verdict) if !verdict.is_healthy => 2,
        Ok(_) => 0,
    };
    (class, explained.item.window_percent().unwrap_or(0))
}

/// The verdicts of a store.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExplainedStoreJson {
    ruleset: RulesetJson,
    /// The sessions, those at risk first.
    sessions: Vec<SessionVerdictJson>,
    /// Sessions without a verdict.
    unread: Vec<UnreadJson>,
}

impl JsonOutput for ExplainedStoreJson {
    const VERSION: u64 = SCHEMA_VERSION;
}

#[derive(Serialize, JsonSchema)]
pub(super) struct UnreadJson {
    pub session: SessionJson,
    pub error: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionVerdictJson {
    session: SessionJson,
    /// How the newest calls ended: `overflow`, `refused`, `silent-cut`, `failing` or `healthy`.
    state: &'static str,
    /// Whether a call overflowed.
    overflow: bool,
    verdict: Option<VerdictJson>,
    no_setting_helps: bool,
    tokens: Option<TokenCount>,
    /// The context window in tokens.
    window: u64,
    /// The fit into each `--window`.
    windows: Vec<WindowFitJson>,
}

#[derive(Serialize, JsonSchema)]
struct WindowFitJson {
    window: u64,
    overflows: Option<bool>,
    /// Tokens above the window.
    over: Option<u64>,
}

fn report_json(workspace: &Workspace, all: Vec<ExplainedSession>, windows: &[u64]) -> ExplainedStoreJson {
    let (mut sessions, mut unread) = (Vec::new(), Vec::new());
    for ExplainedSession { item, verdict } in all {
        match verdict {
            Ok(verdict) => sessions.push(session_verdict_json(&item, verdict, windows)),
            Err(failure) => {
                let error = failure.message().to_owned();
                unread.push(UnreadJson { session: session_json(&item), error });
            }
        }
    }
    ExplainedStoreJson { ruleset: ruleset_json(&workspace.store().ruleset), sessions, unread }
}

fn session_verdict_json(item: &SessionItem, verdict: SessionVerdict, windows: &[u64]) -> SessionVerdictJson {
    let fit = |window: &u64| {
        let over = item.tokens.map(|counted| counted.tokens.saturating_sub(*window));
        WindowFitJson { window: *window, overflows: over.map(|over| over > 0), over }
    };
    SessionVerdictJson {
        session: session_json(item),
        state: verdict.state.as_str(),
        overflow: verdict.has_overflowed,
        verdict: verdict.line,
        no_setting_helps: verdict.no_setting_helps,
        tokens: item.tokens,
        window: item.window,
        windows: windows.iter().map(fit).collect(),
    }
}

fn print(
    all: &[ExplainedSession],
    windows: &[u64],
    missing: u64,
    output: &mut Output,
) -> Result<(), Failure> {
    let heads: Vec<&'static str> = vec!["session", "tokens", "full"];
    let mut columns: Vec<(&'static str, Align)> =
        heads.into_iter().zip([Align::Flexible, Align::Right, Align::Right]).collect();
    columns.extend(windows.iter().map(|_| ("window", Align::Right)));
    columns.extend([("class", Align::Left), ("", Align::Left), ("verdict", Align::Left)]);
    let mut table = Table::new(&columns);
    if !windows.is_empty() {
        let mut cells: Vec<Cell> = vec!["".into(), "".into(), "".into()];
        cells.extend(windows.iter().map(|window| Cell::new(&format_number(*window), Tone::Dim)));
        cells.extend(["".into(), "".into(), "".into()]);
        table.push(cells);
    }
    for explained in all {
        table.push(row_cells(explained, windows));
    }
    let overflowed = all.iter().filter(|it| risk_rank(it).0 == 3).count() as u64;
    let sessions = format_count(all.len() as u64 + missing, "session", "sessions");
    let mut head = format!("{sessions}, {} overflowed", format_number(overflowed));
    if missing > 0 {
        let _ = write!(head, ", {} without a transcript", format_number(missing));
    }
    output.line(Tone::Strong, &head)?;
    Ok(table.print(output, "")?)
}

fn row_cells(explained: &ExplainedSession, windows: &[u64]) -> Vec<Cell> {
    let item = &explained.item;
    let tokens = item.tokens.map_or_else(
        || "-".to_owned(),
        |counted| {
            if counted.is_estimate() {
                format_estimate(counted.tokens)
            } else {
                format_number(counted.tokens)
            }
        },
    );
    let full =
        item.tokens.map_or_else(|| "-".to_owned(), |counted| format_percent(counted.tokens, item.window));
    let mut cells: Vec<Cell> = vec![item.key.0.as_str().into(), tokens.into(), full.into()];
    cells.extend(windows.iter().map(|window| match item.tokens {
        Some(counted) if counted.tokens > *window => {
            Cell::new(&format!("over by {}", format_number(counted.tokens - window)), Tone::Bad)
        }
        Some(_) => Cell::new("fits", Tone::Good),
        None => "-".into(),
    }));
    match &explained.verdict {
        Ok(verdict) => {
            let line = verdict.line.as_ref();
            cells.push(Cell::new(line.map_or("", |line| line.class), verdict.tone));
            cells.push(Cell::new(line.map_or("", |line| line.confidence), Tone::Dim));
            cells.push(line.map_or("", |line| &line.line).into());
        }
        Err(failure) => {
            cells.extend([Cell::new("unread", Tone::Warning), "".into(), failure.message().into()]);
        }
    }
    cells
}

pub(super) fn verdict_tone(explanation: &Explanation) -> Tone {
    match explanation.verdict().map(|finding| finding.class) {
        Some(FindingClass::Healthy) => Tone::Good,
        _ if explanation.has_overflowed() => Tone::Bad,
        _ => Tone::Warning,
    }
}
