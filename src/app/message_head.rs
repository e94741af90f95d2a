//! The lines above a message: title, facts, what the plan does to it and why. How many there are depends on
//! the room alone, so that scrolling and drawing agree.

use crate::app::message::{MessageView, Room};
use crate::app::state::App;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::inspect::message::{MessageText, why};
use crate::policy::MessageFate;
use crate::text;

/// Rows from which the head has blank lines and reasons.
const ROOMY: usize = 14;
/// Rows from which facts have a line of their own.
const MIDDLING: usize = 8;
/// Facts that stand in the lines above the others.
const TOLD: [&str; 4] = ["role", "type", "tool", "chars"];
/// Rows of reasons at most.
const REASONS: usize = 4;

/// A line above the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadLine {
    /// Tool and arguments, or the role.
    Title,
    /// Title and fate on one line.
    TitleAndFate,
    /// What it is, its chars and its time.
    Facts,
    /// Its tokens and its share of the prompt.
    Weight,
    /// Fate, and tokens before and after.
    Fate,
    /// A line of reasons, and behind the last one the rule.
    Why(String, Option<&'static str>),
    /// One or two of its facts, by position.
    Pair(usize, Option<usize>),
    /// Nothing.
    Blank,
}

/// What the plan does to a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Its fate.
    pub fate: MessageFate,
    /// Estimated tokens before and after.
    pub tokens: (u64, u64),
    /// Why, a sentence each, without the rule.
    pub why: Vec<String>,
}

impl App {
    /// What the plan does to this message; none without a plan, and for what is not in the context.
    pub fn verdict(&self, message: &MessageText) -> Option<Verdict> {
        let (plan, inspection) = (self.plan.as_ref()?, self.inspection()?);
        let position = inspection.context.position(message.entry)?;
        let fate = *plan.fates().get(position)?;
        let mut why = why(&fate, plan, &inspection.context.messages[position].size);
        why.pop();
        let tokens = (plan.tokens_before.get(position).copied()?, plan.tokens_after.get(position).copied()?);
        Some(Verdict { fate, tokens, why })
    }

    /// Estimated tokens of this message, and its share of the next prompt in whole percent where it is part
    /// of that.
    pub fn message_weight(&self, message: &MessageText) -> Option<(u64, Option<u64>)> {
        let inspection = self.inspection()?;
        let tokens = estimate_or_zero(&inspection.index.entry(message.entry).message?);
        let sent = inspection.context.position(message.entry).is_some();
        let total = inspection.next_prompt.estimate;
        Some((tokens, (sent && total > 0).then(|| (tokens * 100 + total / 2) / total)))
    }
}

/// The lines above a message in this room. On a wide full screen facts stand beside the text instead, and
/// only a blank line is above it.
pub fn head(app: &App, message: &MessageText, room: Room) -> Vec<HeadLine> {
    if app.message.stands_beside(room) {
        return vec![HeadLine::Blank];
    }
    let verdict = app.verdict(message);
    let fate = verdict.is_some();
    match room.rows {
        ROOMY.. => roomy(app, message, room, verdict),
        MIDDLING.. if fate => vec![HeadLine::Title, HeadLine::Facts, HeadLine::Fate],
        MIDDLING.. => vec![HeadLine::Title, HeadLine::Facts, HeadLine::Weight],
        _ if fate => vec![HeadLine::TitleAndFate],
        _ => vec![HeadLine::Title],
    }
}

fn roomy(app: &App, message: &MessageText, room: Room, verdict: Option<Verdict>) -> Vec<HeadLine> {
    let mut lines = vec![HeadLine::Title, HeadLine::Facts];
    match verdict {
        Some(verdict) => {
            lines.extend([HeadLine::Blank, HeadLine::Fate]);
            lines.extend(reasons(&verdict, room.columns));
        }
        None => lines.push(HeadLine::Weight),
    }
    if room.zoom && app.message.view != MessageView::Raw {
        lines.push(HeadLine::Blank);
        let told = |at: &usize| !TOLD.contains(&message.facts[*at].0);
        let facts: Vec<usize> = (0..message.facts.len()).filter(told).collect();
        let pairs = facts.chunks(2).map(|pair| HeadLine::Pair(pair[0], pair.get(1).copied()));
        lines.extend(pairs.take(room.rows / 6));
    }
    lines.push(HeadLine::Blank);
    lines
}

/// The first sentence, and the rule where it fits behind its last line.
fn reasons(verdict: &Verdict, columns: usize) -> Vec<HeadLine> {
    let rule = verdict.fate.reason.rule();
    let text = verdict.why.first().map(String::as_str).unwrap_or_default();
    let mut lines: Vec<String> = text::wrap(text, columns);
    lines.truncate(REASONS);
    let last = lines.last().map_or(0, |line| text::width(line));
    if last + 2 + rule.len() > columns && lines.len() < REASONS {
        lines.push(String::new());
    }
    let end = lines.len().saturating_sub(1);
    lines.into_iter().enumerate().map(|(at, line)| HeadLine::Why(line, (at == end).then_some(rule))).collect()
}
