//! Everything the classes look at, read once: the overflows, the call that failed, the counted calls, the compactions, the
//! gaps, and what else went wrong.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::tokens::script::{Script, ScriptChars};
use crate::context::tokens::sent::each_text;
use crate::explain::calls::{Call, calls, ratio};
use crate::explain::compactions::{Compaction, compactions};
use crate::explain::errors::{Overflow, overflows};
use crate::explain::failure::Failure;
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::js::{self, Value};
use crate::policy::overflow::is_overflow;
use crate::policy::prune::touches;
use crate::store::body::{self, BodyError};
use crate::store::entry::{EntryKind, Role, StopReason};

/// An estimate that is off by less says nothing of scripts.
const ODD_RATIO: f64 = 1.4;
/// Messages, the newest first, in which scripts are counted.
const SCRIPTS_OF: usize = 200;
/// The type of a custom entry that tells of a prompt that threw.
const PROMPT_ERROR: &str = "openclaw:prompt-error";

/// A failure that was no overflow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OtherError {
    /// Where.
    pub entry: EntryIx,
    /// What was said.
    pub text: String,
}

/// What is known of a session.
#[derive(Debug)]
pub(super) struct Case<'a> {
    /// The session.
    pub inspection: &'a Inspection,
    /// When the next call would be made, ms.
    pub now_ms: f64,
    /// Its overflows, in the order of the file.
    pub overflows: Vec<Overflow>,
    /// The call of the last one.
    pub failure: Option<Failure>,
    /// The path looked at: to the failed call, or to the leaf.
    pub path: Vec<EntryIx>,
    /// Its counted calls.
    pub calls: Vec<Call>,
    /// Its compactions.
    pub compactions: Vec<Compaction>,
    /// Other failures.
    pub errors: Vec<OtherError>,
    /// Tokens counted for one estimated, where the calls tell.
    pub ratio: Option<f64>,
    /// Estimated tokens before the messages: as a run reported, else what the first call was counted above its messages.
    pub fixed: Option<u64>,
    /// Chars by script, where the estimate is far off.
    pub scripts: Option<ScriptChars>,
    /// Cache touches of the file, the first one first: entry and time in ms.
    pub touches: Vec<(EntryIx, f64)>,
}

impl<'a> Case<'a> {
    /// Reads what is needed of a session: the bodies of failed calls and compactions, and some of the newest messages where
    /// the estimates are far off.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub(super) fn read(inspection: &'a Inspection, now_ms: f64) -> Result<Self, BodyError> {
        let own = calls(inspection, &inspection.context.path);
        let found = overflows(inspection, &own)?;
        let path = match found.last() {
            Some(last) => inspection.tree.walk(&inspection.index, last.entry),
            None => inspection.context.path.clone(),
        };
        let compactions = compactions(inspection, &inspection.context.path, &own)?;
        // A path that was left has calls of its own.
        let calls = if found.is_empty() { own } else { calls(inspection, &path) };
        let (ratio, first) = (ratio(&calls), first_fixed(inspection, &path, &calls));
        let failure =
            found.last().and_then(|last| Failure::new(inspection, last, &calls, ratio.unwrap_or(1.0), first));
        let mut touches: Vec<(EntryIx, f64)> = touches(&inspection.index).collect();
        touches.reverse();
        Ok(Self {
            compactions,
            errors: other_errors(inspection)?,
            scripts: ratio
                .filter(|ratio| *ratio >= ODD_RATIO)
                .map(|_| scripts(inspection, &path))
                .transpose()?,
            fixed: inspection.fixed.map(|_| inspection.fixed_tokens()).or(first),
            overflows: found,
            failure,
            path,
            calls,
            ratio,
            touches,
            inspection,
            now_ms,
        })
    }

    /// Window of the next call, in tokens.
    pub(super) fn window(&self) -> u64 {
        self.inspection.window.tokens.max(0.0) as u64
    }

    /// Tokens above which the session compacts (compaction 2.7, 2.8).
    pub(super) fn trigger(&self) -> f64 {
        self.inspection.configured.compaction.threshold(self.inspection.upkeep.runtime_window)
    }

    /// The largest prompt that was counted.
    pub(super) fn peak(&self) -> Option<&Call> {
        self.calls.iter().max_by_key(|call| call.prompt)
    }

    /// Tokens of the next prompt, or of the one that failed, and whether they were counted.
    pub(super) fn prompt(&self) -> (u64, bool) {
        if let Some(failure) = &self.failure {
            return (failure.requested, failure.counted);
        }
        let counted = self.inspection.session.tokens;
        match counted {
            Some(counted) => (counted.tokens, counted.source == crate::inspect::SourceOfCount::Measured),
            None => (self.inspection.budget().total(), false),
        }
    }

    /// Share of the chars that are Chinese, Japanese or Korean; none where the estimate is not far off.
    pub(super) fn cjk_share(&self) -> Option<f64> {
        let scripts = self.scripts?;
        let total = scripts.total();
        (total > 0).then(|| scripts.chars(Script::Cjk) as f64 / total as f64)
    }

    /// The longest time between two calls of the path, ms, and the call behind it.
    pub(super) fn longest_gap(&self) -> Option<(f64, EntryIx)> {
        let gaps = self.calls.windows(2).map(|pair| (pair[1].at - pair[0].at, pair[1].entry));
        let last = self.calls.last().zip(self.failure.as_ref());
        let last = last.map(|(call, failure)| (failure.overflow.at - call.at, failure.overflow.entry));
        gaps.chain(last).filter(|(gap, _)| gap.is_finite()).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The name of the tool of a result.
    pub(super) fn tool(&self, entry: EntryIx) -> String {
        let tool = self.inspection.index.entry(entry).message.map(|size| size.tool);
        tool.and_then(|tool| self.inspection.index.words.text(tool)).unwrap_or_else(|| "tool".to_owned())
    }

    /// User messages of the path.
    pub(super) fn asked(&self) -> Vec<EntryIx> {
        let index = &self.inspection.index;
        self.path.iter().copied().filter(|ix| index.entry(*ix).role() == Some(Role::User)).collect()
    }
}

/// What the first call was counted above the estimate of its messages.
fn first_fixed(inspection: &Inspection, path: &[EntryIx], calls: &[Call]) -> Option<u64> {
    let first = calls.first()?;
    let index = &inspection.index;
    let before = path.iter().take_while(|ix| **ix != first.entry);
    let sizes = before.filter(|ix| index.entry(**ix).makes_message());
    let messages: u64 =
        sizes.filter_map(|ix| index.entry(*ix).message).map(|size| estimate_or_zero(&size)).sum();
    // Behind many messages their own error would be taken for what precedes them.
    (messages <= first.prompt / 4).then(|| first.prompt - messages)
}

fn other_errors(inspection: &Inspection) -> Result<Vec<OtherError>, BodyError> {
    let index = &inspection.index;
    let mut errors = Vec::new();
    for (ix, entry) in index.iter() {
        let failed = entry.kind == EntryKind::Message
            && entry.message.is_some_and(|size| size.stop == StopReason::Error);
        let threw = entry.kind == EntryKind::Custom
            && index.words.value(entry.word).is_some_and(|word| word.str_is(PROMPT_ERROR));
        if !failed && !threw {
            continue;
        }
        let value = body::entry(&inspection.source, index, ix)?;
        let error = if failed {
            value.get("message").and_then(|message| message.get("errorMessage"))
        } else {
            value.get("data").and_then(|data| data.get("error"))
        };
        let Some(error) = error.filter(|error| js::truthy(Some(error))) else { continue };
        let text = js::to_text(Some(error)).to_string_lossy();
        if !is_overflow(&text) {
            errors.push(OtherError { entry: ix, text });
        }
    }
    Ok(errors)
}

/// Chars by script of the newest messages of a path.
fn scripts(inspection: &Inspection, path: &[EntryIx]) -> Result<ScriptChars, BodyError> {
    let index = &inspection.index;
    let messages = path.iter().rev().filter(|ix| index.entry(**ix).kind == EntryKind::Message);
    let mut chars = ScriptChars::default();
    for ix in messages.take(SCRIPTS_OF) {
        let message = body::message(&inspection.source, index, *ix)?.unwrap_or(Value::Null);
        each_text(&message, &mut |text| chars += ScriptChars::of(text));
    }
    Ok(chars)
}
