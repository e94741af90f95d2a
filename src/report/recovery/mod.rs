//! The recovery of a session: the steps that the gateway would take after its last overflow, or if the next call
//! overflowed, next to the events in the transcript (compaction 8.8–8.20).

mod description;
mod events;
mod rows;

use std::collections::{HashMap, HashSet};

use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{ContextMessage, entries_since_reset};
use crate::doc::{Align, Cell, Doc, Row, Table, Tone};
use crate::format::{format_count, format_estimate, format_number, format_time};
use crate::ids::EntryIx;
use crate::policy::compact::branch_entries;
use crate::policy::recovery::{self, Branch, ErrorSource, MessageWeight, RecoveryInput};
use crate::policy::truncate::max_result_chars_under;
use crate::redact::masked;
use crate::session::LoadedSession;
use crate::session::overflow::{CallError, Overflow};
use crate::store::body::{self, BodyError};
use crate::store::entry::EntryKind;
use crate::units::{Chars, Tokens};

pub use events::{RecoveryEvent, RefusedCall};
pub use rows::{RecoveryRow, RowKind, RowMark};

/// One recovery, expected and recorded.
#[derive(Debug, Clone)]
pub struct RecoveryView {
    /// The refused call; the refusal that the next call would meet if none was refused.
    pub refusal: RefusedCall,
    /// The error of the newest call, if nothing overflowed and that call failed: there is nothing to recover from.
    pub unanswered: Option<CallError>,
    /// The steps that the rules predict.
    pub expected: recovery::Recovery,
    /// Recorded events from the refusal on, in file order.
    pub events: Vec<RecoveryEvent>,
    /// Earlier overflows of the file, which belong to other recoveries or to none: a reply to a cut prompt is an answer.
    pub earlier_overflows: usize,
    /// Expected steps and recorded events side by side.
    pub rows: Vec<RecoveryRow>,
}

/// Loads the recovery of a session. Reads the bodies of failed calls and of the few entries after them.
///
/// # Errors
/// When an entry cannot be read again.
pub fn load_recovery(session: &LoadedSession) -> Result<RecoveryView, BodyError> {
    let found = events::last_refused_call(session);
    let is_recorded = found.is_some();
    let refusal = found.unwrap_or_else(|| RefusedCall::for_next_call(session));
    let is_earlier = |overflow: &&Overflow| refusal.entry.is_none_or(|entry| overflow.entry < entry);
    let earlier = session.overflows.iter().filter(is_earlier).count();
    let path = match refusal.entry {
        Some(entry) => {
            let mut path = session.tree.path_to(&session.index, entry);
            path.pop();
            path
        }
        None => session.context.path.clone(),
    };
    let index = &session.index;
    let path = entries_since_reset(index, &session.tree, &path);
    let entries = branch_entries(index, &path, |ix| body::read_entry(&session.source, index, ix))?;
    let compaction = entries.iter().rposition(|entry| entry.kind == EntryKind::Compaction);
    let kept = compaction.and_then(|at| index.entry(path[at]).reference);
    let kept_from = compaction
        .zip(kept)
        .and_then(|(at, kept)| path[..at].iter().position(|ix| index.entry(*ix).id == Some(kept)));
    let compacted_at = compaction.map(|at| index.entry(path[at]).time_ms);
    let (fixed_tokens, weights) = refused_prompt_weights(session, &refusal);
    let limits = &session.limits;
    let rules = session.ruleset.id.rules();
    let (refused_tokens, prompt_limit) = refusal.prompt_size();
    // A prompt that was refused without a limit did not fit, however large the assumed window is.
    let below_refused = refused_tokens.map(|tokens| tokens.saturating_sub(1));
    let below_refused = below_refused.filter(|tokens| (*tokens as f64) < limits.runtime_window.get());
    let unanswered = (!is_recorded).then(|| session.last_calls().error).flatten();
    let predict = || {
        recovery::predict_recovery(&RecoveryInput {
            error: &refusal.text,
            detection: refusal.detection,
            source: refusal.source,
            branch: Branch { entries, first_kept: kept_from, weights, summary_tokens: None },
            fixed_tokens,
            summary_tokens: session.assumed_summary().tokens,
            refused_tokens: refused_tokens.map(|tokens| Tokens(tokens as f64)),
            runtime_window: prompt_limit
                .or(below_refused)
                .map_or(limits.runtime_window, |limit| Tokens(limit as f64)),
            settings: session.configured_settings.compaction,
            mode: limits.compaction_mode,
            same_model: true,
            predates_compaction: compacted_at.is_some_and(|at| refusal.time_ms < at),
            has_gateway: limits.is_gateway_run,
            result_limit: max_result_chars(session),
            rules,
            is_chat: limits.is_chat && rules.recovery.resets_session,
        })
    };
    // A call that was refused for another reason starts no recovery, and its session is no start for an imagined one.
    let expected = if unanswered.is_some() { recovery::Recovery::none() } else { predict() };
    let recorded = if is_recorded { events::read_events(session, &refusal)? } else { Vec::new() };
    let rows = rows::build_rows(session, &refusal, &expected, &recorded);
    Ok(RecoveryView { refusal, unanswered, expected, events: recorded, earlier_overflows: earlier, rows })
}

/// Returns the tokens before the messages of the refused prompt, and the weight of each message, as the header counts that
/// prompt.
fn refused_prompt_weights(
    session: &LoadedSession,
    refusal: &RefusedCall,
) -> (Tokens, HashMap<EntryIx, MessageWeight>) {
    let then = refusal.entry.and_then(|entry| session.at_entry(entry));
    let then = then.as_ref().unwrap_or(session);
    let weight = |(at, message): (usize, &ContextMessage)| {
        let estimate = estimate_or_zero(&message.size);
        let [whole, sent] = [then.next_prompt.whole_tokens_of(at), then.next_prompt.tokens_of(at)];
        let most = if sent < whole { Tokens(sent as f64) } else { Tokens(f64::INFINITY) };
        let weight = || MessageWeight { factor: whole as f64 / estimate as f64, most };
        (estimate > 0).then(|| (message.entry, weight()))
    };
    let weights = then.context.messages.iter().enumerate().filter_map(weight).collect();
    (Tokens(then.next_prompt.fixed_tokens as f64), weights)
}

impl RecoveryView {
    /// Returns one line with the expected ending and the recorded one.
    pub fn comparison(&self) -> String {
        let expected = description::describe_ending(self.expected.ending).0;
        let recorded = match self.events.last() {
            Some(RecoveryEvent::Answered { .. }) => "an answer",
            Some(RecoveryEvent::Refused(_)) | None if self.events.len() > 1 => "only refusals follow",
            Some(RecoveryEvent::Refused(_)) | None => "nothing follows",
            Some(RecoveryEvent::Compacted { .. }) => "a compaction, then nothing",
            Some(_) => "no answer",
        };
        format!("expected: {expected} · recorded: {recorded}")
    }

    /// Compares the expected end with the recorded one, as far as a call was refused.
    pub fn headline(&self) -> String {
        if self.is_recorded() {
            return self.comparison();
        }
        if self.unanswered.is_some() {
            return "nothing to recover from: the last call failed, and not for its size".to_owned();
        }
        format!("if the next call overflowed: {}", description::describe_ending(self.expected.ending).0)
    }

    /// Whether the transcript records the refusal, as opposed to a hypothetical next call.
    pub fn is_recorded(&self) -> bool {
        self.refusal.entry.is_some()
    }
}

impl ErrorSource {
    /// The source of the error text, for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Prompt => "before the call to the model",
            Self::Assistant => "instead of an answer",
            Self::Silent => "without an error: the prompt exceeded the window",
        }
    }
}

/// Returns the limit in chars for one tool result under the session's ruleset.
pub fn max_result_chars(session: &LoadedSession) -> Chars {
    max_result_chars_under(session.ruleset.id.rules(), session.window.tokens)
}

impl RecoveryView {
    pub fn doc(&self, session: &LoadedSession) -> Doc {
        let mut doc = Doc::new(self.headline());
        self.say_refusal(session, &mut doc);
        let compaction = &session.configured_settings.compaction;
        let settings = format!(
            "compaction {} · reserve {} · keepRecentTokens {} · result limit {} chars",
            session.limits.compaction_mode.as_str(),
            format_number(compaction.reserve_tokens.whole()),
            format_number(compaction.keep_recent_tokens.whole()),
            format_number(max_result_chars(session).whole()),
        );
        doc.say(Tone::Dim, &settings);
        if let Some(error) = session.limits.run_error.as_deref() {
            doc.say(Tone::Warning, &format!("the gateway recorded for the last run: {}", masked(error)));
        }
        doc.gap();
        doc.table(self.steps(session));
        doc
    }

    fn say_refusal(&self, session: &LoadedSession, doc: &mut Doc) {
        let refusal = &self.refusal;
        if let Some(ix) = refusal.entry {
            let tokens = refusal.tokens.map(|tokens| format!(" · {} tokens", format_number(tokens)));
            let (name, time) = (session.index.display_id(ix), format_time(refusal.time_ms));
            doc.say(Tone::Bad, &format!("overflow at {name} · {time}{}", tokens.unwrap_or_default()));
            if !refusal.text.is_empty() {
                doc.say(Tone::Plain, &format!("{} ({})", refusal.shown_text(), refusal.source.label()));
            }
        } else if let Some(error) = &self.unanswered {
            let name = session.index.display_id(error.entry);
            doc.say(Tone::Strong, &format!("{name} failed: {}", error.class.as_str()));
        }
        if self.earlier_overflows > 0 {
            let count = self.earlier_overflows as u64;
            doc.say(Tone::Dim, &format_count(count, "earlier overflow", "earlier overflows"));
        }
    }

    fn steps(&self, session: &LoadedSession) -> Table {
        let mut columns = vec![("expected", Align::Left), ("tokens", Align::Right), ("rule", Align::Left)];
        if self.is_recorded() {
            columns.extend([("recorded", Align::Left), ("entry", Align::Left)]);
        }
        let mut table = Table::new(&columns);
        table.drop_first(&["rule", "entry"]);
        let mut explained = HashSet::new();
        for row in &self.rows {
            let is_new = !matches!(row.kind, RowKind::Attempt(_)) && explained.insert(&row.explanation);
            let note = if is_new { row.explanation.as_str() } else { "" };
            let cells = self.cells(session, row);
            table.push(Row::from(cells).with_note(note).leading_to(row.entry).citing(row.rule));
        }
        table
    }

    fn cells(&self, session: &LoadedSession, row: &RecoveryRow) -> Vec<Cell> {
        let is_head = matches!(row.kind, RowKind::Attempt(_));
        let words = match (is_head, row.kind, row.mark) {
            (true, ..) | (_, RowKind::Ending, _) => Cell::new(&row.label, Tone::Strong),
            (_, _, RowMark::Neutral) => Cell::new(&row.label, Tone::Dim),
            _ => row.label.as_str().into(),
        };
        let sign = format!("  {} ", row.mark.glyph());
        // A count of the provider, not an estimate.
        let is_counted = row.mark == RowMark::Refused && row.tokens == self.refusal.tokens;
        let format = |tokens: u64| if is_counted { format_number(tokens) } else { format_estimate(tokens) };
        let mut cells = vec![
            if is_head { words } else { words.after_sign(&sign, row.mark.tone()) },
            row.tokens.map(format).unwrap_or_default().into(),
            Cell::new(row.rule, Tone::Dim),
        ];
        if self.is_recorded() {
            let entry = row.entry.filter(|_| row.observed.is_some()).map(|ix| session.index.display_id(ix));
            cells.push(match row.observed.as_deref() {
                Some(observed) => observed.into(),
                None => Cell::new(if is_head { "" } else { "—" }, Tone::Dim),
            });
            cells.push(Cell::new(&entry.unwrap_or_default(), Tone::Dim));
        }
        cells
    }
}

impl RowMark {
    fn tone(self) -> Tone {
        match self {
            Self::Refused => Tone::Bad,
            Self::Failed => Tone::Warning,
            Self::Done => Tone::Good,
            Self::Continued | Self::Neutral => Tone::Dim,
        }
    }
}

#[cfg(test)]
mod tests;
