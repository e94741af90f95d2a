//! Values of an explanation with their words, for the snapshots.

use std::fmt::{Debug, Formatter, Result};

use crate::report::explain::{Advice, AdvisedChange, Finding, GuardReport, PromptCount};

/// Prints a value with the words that describe it.
pub(super) struct Said<'a, T>(pub &'a T);

impl Debug for Said<'_, Finding> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let it = self.0;
        formatter
            .debug_struct("Finding")
            .field("class", &it.class)
            .field("confidence", &it.confidence)
            .field("headline", &it.headline())
            .field("evidence", &it.evidence())
            .field("numbers", &it.numbers())
            .field("rule", &it.rule)
            .field("prevents_overflow", &it.prevents_overflow)
            .finish()
    }
}

impl Debug for Said<'_, GuardReport> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let it = self.0;
        formatter
            .debug_struct("GuardReport")
            .field("kind", &it.kind)
            .field("state", &it.state)
            .field("why", &it.reason.description())
            .field("missing_tokens", &it.missing_tokens)
            .field("missing_is_estimate", &it.missing_is_estimate)
            .field("opening_keys", &it.opening_keys)
            .field("rule", &it.rule)
            .field("entry", &it.entry)
            .finish()
    }
}

impl Debug for Said<'_, PromptCount> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let it = self.0;
        formatter
            .debug_struct("PromptCount")
            .field("counted_by", &it.counter.as_str())
            .field("tokens", &it.tokens)
            .field("is_measured", &it.is_measured)
            .field("note", &it.description())
            .field("entry", &it.entry)
            .finish()
    }
}

impl Debug for Said<'_, AdvisedChange> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let it = self.0;
        formatter
            .debug_struct("AdvisedChange")
            .field("id", &it.id)
            .field("file", &it.file)
            .field("config_path", &it.config_path)
            .field("before", &it.describe_before())
            .field("after", &it.describe_after())
            .field("value", &it.value)
            .field("setting_value", &it.setting_value)
            .finish()
    }
}

impl Debug for Said<'_, Advice> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let it = self.0;
        formatter
            .debug_struct("Advice")
            .field("changes", &it.changes.iter().map(Said).collect::<Vec<_>>())
            .field("tokens_before", &it.tokens_before)
            .field("tokens_after", &it.tokens_after)
            .field("limit", &it.limit)
            .field("fits", &it.fits)
            .field("fits_all", &it.fits_all)
            .field("has_room", &it.has_room)
            .field("whole", &it.whole)
            .field("note", &it.outcome.description())
            .field("patch", &it.patch)
            .field("commands", &it.commands)
            .finish()
    }
}
