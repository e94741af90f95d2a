//! The lines above a message: title, facts, its fate and why. Their number depends on the size alone, so that
//! scrolling and drawing agree.

use std::borrow::Cow;

use crate::app::message::{MessageArea, MessageView};
use crate::app::state::App;
use crate::context::rows::RowKind;
use crate::format::format_estimate;
use crate::policy::MessageFate;
use crate::session::message::{MessageText, explain_fate};
use crate::text;

/// Rows from which the header has blank lines and reasons.
const ROOMY_MIN_ROWS: usize = 14;
/// Rows from which facts have their own line.
const MEDIUM_MIN_ROWS: usize = 8;
/// Facts that other header lines show already.
const INLINE_FACTS: [&str; 4] = ["role", "type", "tool", "chars"];
/// The most rows of reasons.
const MAX_REASON_ROWS: usize = 4;

/// A line above the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderLine {
    /// Tool and arguments, or the role.
    Title,
    /// Title and fate on one line.
    TitleAndFate,
    /// Kind, chars and time.
    Facts,
    /// Tokens and share of the prompt.
    Tokens,
    /// Fate, and tokens before and after.
    Fate,
    /// The later need for the message after a prompt lacked it.
    Regret(String),
    /// A line of the reason; the last one ends with the rule.
    Reason(String, Option<&'static str>),
    /// One or two facts, by index.
    FactPair(usize, Option<usize>),
    Blank,
}

/// The plan's decision about a message.
#[derive(Debug, Clone, PartialEq)]
pub struct FateSummary {
    pub fate: MessageFate,
    /// Tokens before and after, by the count of the next prompt.
    pub tokens: (u64, u64),
    /// One sentence per reason, without the rule.
    pub reasons: Vec<String>,
}

impl App {
    /// Returns the plan's decision about a message; `None` without a plan, and for a message outside the context.
    pub fn fate_summary(&self, message: &MessageText) -> Option<FateSummary> {
        let (plan, session) = (self.preview.plan.as_ref()?, self.displayed_session()?);
        let position = session.context.position(message.entry)?;
        let fate = *plan.fates().get(position)?;
        let mut why = explain_fate(&fate, plan, &session.context.messages[position].size);
        why.pop();
        let prompt = &session.next_prompt;
        let after = prompt.tokens_after(&session.context, plan, position);
        let tokens = (prompt.whole_tokens_of(position), after);
        Some(FateSummary { fate, tokens, reasons: why })
    }

    /// Describes how a message was needed again after a prompt lacked it.
    pub fn regret_of(&self, message: &MessageText) -> Option<String> {
        Some(self.regret.need_of(message.entry)?.describe())
    }

    /// Returns the tokens of a message by the count of the next prompt, and its share of that prompt in whole percent if
    /// it is part of it.
    pub fn message_tokens(&self, message: &MessageText) -> Option<(u64, Option<u64>)> {
        let session = self.displayed_session()?;
        let (prompt, total) = (&session.next_prompt, session.next_prompt.total.tokens);
        let Some(at) = session.context.position(message.entry) else {
            let size = session.index.entry(message.entry).message?;
            return Some((prompt.tokens_off_context(&size), None));
        };
        let tokens = prompt.tokens_of(at);
        Some((tokens, (total > 0).then(|| (tokens * 100 + total / 2) / total)))
    }

    /// Returns the value of a fact; tokens are those of the rows, not of the rule alone.
    pub fn fact_value<'a>(&self, message: &MessageText, (name, value): &'a (&str, String)) -> Cow<'a, str> {
        let tokens = self.message_tokens(message).filter(|_| *name == "tokens");
        tokens.map_or(Cow::Borrowed(value), |(tokens, _)| format_estimate(tokens).into())
    }

    /// Returns the tokens of the row under the cursor if it shows a result together with its call.
    pub fn tokens_with_call(&self) -> Option<u64> {
        let pane = self.transcript.as_ref()?;
        let row = pane.selected().filter(|row| row.kind == RowKind::Entry && row.messages > 1)?;
        Some(pane.row_tokens(row, None).after)
    }
}

/// Returns the lines above a message. On a wide full screen the facts are next to the text, so only a blank line is
/// above it.
pub fn header_lines(app: &App, message: &MessageText, room: MessageArea) -> Vec<HeaderLine> {
    if app.message.has_side_facts(room) {
        return vec![HeaderLine::Blank];
    }
    let verdict = app.fate_summary(message);
    let fate = verdict.is_some();
    match room.rows {
        ROOMY_MIN_ROWS.. => roomy_header(app, message, room, verdict),
        MEDIUM_MIN_ROWS.. if fate => vec![HeaderLine::Title, HeaderLine::Facts, HeaderLine::Fate],
        MEDIUM_MIN_ROWS.. => vec![HeaderLine::Title, HeaderLine::Facts, HeaderLine::Tokens],
        _ if fate => vec![HeaderLine::TitleAndFate],
        _ => vec![HeaderLine::Title],
    }
}

fn roomy_header(
    app: &App,
    message: &MessageText,
    room: MessageArea,
    verdict: Option<FateSummary>,
) -> Vec<HeaderLine> {
    let mut lines = vec![HeaderLine::Title, HeaderLine::Facts];
    match verdict {
        Some(verdict) => {
            lines.extend([HeaderLine::Blank, HeaderLine::Fate]);
            lines.extend(reason_lines(&verdict, room.columns));
        }
        None => lines.push(HeaderLine::Tokens),
    }
    lines.extend(app.regret_of(message).map(HeaderLine::Regret));
    if room.zoom && app.message.view != MessageView::Raw {
        lines.push(HeaderLine::Blank);
        let reported = |at: &usize| !INLINE_FACTS.contains(&message.facts[*at].0);
        let facts: Vec<usize> = (0..message.facts.len()).filter(reported).collect();
        let pairs = facts.chunks(2).map(|pair| HeaderLine::FactPair(pair[0], pair.get(1).copied()));
        lines.extend(pairs.take(room.rows / 6));
    }
    lines.push(HeaderLine::Blank);
    lines
}

/// The first reason, with the rule behind its last line if it fits.
fn reason_lines(verdict: &FateSummary, columns: usize) -> Vec<HeaderLine> {
    let rule = verdict.fate.reason.rule();
    let text = verdict.reasons.first().map(String::as_str).unwrap_or_default();
    let mut lines: Vec<String> = text::wrap(text, columns);
    lines.truncate(MAX_REASON_ROWS);
    let last = lines.last().map_or(0, |line| text::width(line));
    if last + 2 + rule.len() > columns && lines.len() < MAX_REASON_ROWS {
        lines.push(String::new());
    }
    let end = lines.len().saturating_sub(1);
    lines
        .into_iter()
        .enumerate()
        .map(|(at, line)| HeaderLine::Reason(line, (at == end).then_some(rule)))
        .collect()
}
