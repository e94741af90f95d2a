//! Contents of one session's window (compaction 11): the parts of the budget bar in detail, the heaviest blocks, the
//! remainder between measured and estimated tokens, and the window compared with the whole history.
//!
//! The parts have the count of the next prompt, as the bar has: scaled to the provider's count where there is one.
//!
//! [`WindowContents`] needs sizes only; [`heavy_blocks`] reads bodies afterwards, so that a screen can show the rest
//! first.

mod blocks;
mod document;
mod prompt_sections;
mod remainder;
mod sections;

use crate::context::breakdown::{Breakdown, WindowHistory};
use crate::format::{format_number, quantity};
use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::session::lifecycle::Lifecycle;
use crate::session::{CountSource, LoadedSession, TokenCount, UnmeasuredReason};
use crate::store::prompt_report::SystemPromptReport;
use crate::units::Chars;

pub use blocks::{BlockKind, HeavyBlock, HeavyBlocks, heavy_blocks};
pub use prompt_sections::{Figure, Line, Section, SectionKind};
pub use remainder::{Remainder, RemainderCause};
pub use sections::sections;

/// Contents of the window, computed from sizes only.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowContents {
    /// The current context.
    pub now: Breakdown,
    /// The origin of its tokens.
    pub source: CountSource,
    /// Tokens of the whole prompt by chars/4.
    pub estimated_tokens: u64,
    /// The context under the plan, if one is shown. Its lists have the order of `now`.
    pub after: Option<Breakdown>,
    /// Measured against estimated tokens, or why no answer was measured.
    pub remainder: Result<Remainder, UnmeasuredReason>,
    pub heaviest: Vec<HeavyMessage>,
    pub history: WindowHistory,
    /// Sentences about the next automatic reset; `None` for a session that the gateway does not reset by itself.
    pub lifecycle: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeavyMessage {
    /// The index in the context.
    pub position: usize,
    pub entry: EntryIx,
    pub tokens: u64,
    /// Tokens under the plan, if one is shown.
    pub after: Option<u64>,
}

impl WindowContents {
    /// Puts the context under the plan in the place of the current one.
    #[must_use]
    pub fn under_plan(mut self) -> Self {
        let Some(after) = self.after.take() else { return self };
        self.now = after;
        for message in &mut self.heaviest {
            message.tokens = message.after.take().unwrap_or(message.tokens);
        }
        self.heaviest.sort_by_key(|message| std::cmp::Reverse(message.tokens));
        self
    }

    /// Breaks the window of a session down.
    pub fn new(session: &LoadedSession, plan: Option<&Plan>) -> Self {
        let (report, index, context) = (session.prompt_report.as_deref(), &session.index, &session.context);
        let prompt = &session.next_prompt;
        let now =
            Breakdown::with_budget(prompt.budget(context), report, index, context, |at| prompt.tokens_of(at));
        let heavy = |at: &usize| HeavyMessage {
            position: *at,
            entry: context.messages[*at].entry,
            tokens: prompt.tokens_of(*at),
            after: plan.map(|plan| prompt.tokens_after(context, plan, *at)),
        };
        Self {
            heaviest: now.heaviest.iter().map(heavy).collect(),
            now,
            source: prompt.total.source,
            estimated_tokens: prompt.estimated_tokens,
            // The plan's budget already covers messages that it creates; they have no entry in this context.
            after: plan.map(|plan| {
                let budget = session.next_budget_after(plan);
                let sent = session.with_own_steps(plan);
                let tokens = |at: usize| prompt.tokens_after(context, &sent, at);
                Breakdown::with_budget(budget, report, index, context, tokens)
            }),
            remainder: Remainder::new(session),
            history: WindowHistory::new(index, context),
            lifecycle: session.limits.lifecycle.as_ref().map(Lifecycle::description),
        }
    }

    /// Returns the tokens of the whole prompt, which the parts add up to.
    pub fn total(&self) -> TokenCount {
        TokenCount { tokens: self.now.budget.total(), source: self.source }
    }

    /// Returns the basis of the parts in a few words.
    pub fn basis(&self) -> &'static str {
        match self.source {
            CountSource::Measured => "parts scaled to the provider's count",
            CountSource::Calibrated => "parts scaled to the counts of this session",
            CountSource::Estimated => "parts by chars/4",
        }
    }

    /// Returns the entries of the heaviest messages, heaviest first.
    pub fn heaviest_entries(&self) -> Vec<EntryIx> {
        self.heaviest.iter().map(|message| message.entry).collect()
    }
}

/// Returns warnings about truncated and missing files, each with a remedy.
pub fn warnings(report: &SystemPromptReport) -> Vec<String> {
    truncation_warning(report).into_iter().chain(missing_files_warning(report)).collect()
}

fn truncation_warning(report: &SystemPromptReport) -> Option<String> {
    let cut: Vec<_> = report.truncated_files().collect();
    let (raw, sent) = cut
        .iter()
        .fold((Chars::ZERO, Chars::ZERO), |sum, file| (sum.0 + file.raw_chars, sum.1 + file.injected_chars));
    if cut.is_empty() {
        return None;
    }
    let first = format!(
        "{} cut: {} chars on disk, {} sent.",
        if cut.len() == 1 {
            "1 workspace file is".into()
        } else {
            format!("{} workspace files are", cut.len())
        },
        format_number(raw),
        format_number(sent)
    );
    let next = "Shorten them, or raise agents.defaults.bootstrapMaxChars or bootstrapTotalMaxChars.";
    let sentences =
        [Some(first), file_limit_advice(report), total_limit_advice(report), Some(next.to_owned())];
    Some(sentences.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn file_limit_advice(report: &SystemPromptReport) -> Option<String> {
    let most = report.max_file_chars?;
    let over = report.files.iter().filter(|file| !file.is_missing && file.raw_chars > most).count();
    (over > 0)
        .then(|| format!("{} over bootstrapMaxChars {}.", quantity(over as f64, "file"), format_number(most)))
}

fn total_limit_advice(report: &SystemPromptReport) -> Option<String> {
    let most = report.max_total_chars?;
    let all: Chars = report.files.iter().filter(|file| !file.is_missing).map(|file| file.raw_chars).sum();
    let words = || {
        format!(
            "All files together have {} chars, over bootstrapTotalMaxChars {}.",
            format_number(all),
            format_number(most)
        )
    };
    (all > most).then(words)
}

fn missing_files_warning(report: &SystemPromptReport) -> Option<String> {
    let names: Vec<&str> = report.missing_files().map(|file| file.name.as_str()).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| {
        format!(
            "{} {are} missing from the workspace; the gateway sends a notice instead. Create {} or ignore this.",
            names.join(", "),
            if names.len() == 1 { "it" } else { "them" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn warned(limits: &str, files: &str) -> Vec<String> {
        let raw = js::parse(&format!(r#"{{{limits}"injectedWorkspaceFiles":[{files}]}}"#)).unwrap();
        warnings(&SystemPromptReport::from_value(&raw).unwrap())
    }

    const LONG: &str = r#"{"name":"MEMORY.md","rawChars":31240,"injectedChars":7309,"truncated":true}"#;
    const WHOLE: &str = r#"{"name":"SOUL.md","rawChars":900,"injectedChars":900,"truncated":false}"#;

    #[test]
    fn a_cut_file_names_the_limits_it_is_over() {
        let limits = r#""bootstrapMaxChars":8000,"bootstrapTotalMaxChars":20000,"#;
        assert_eq!(
            warned(limits, &format!("{LONG},{WHOLE}")),
            [
                "1 workspace file is cut: 31,240 chars on disk, 7,309 sent. 1 file over bootstrapMaxChars 8,000. All files \
              together have 32,140 chars, over bootstrapTotalMaxChars 20,000. Shorten them, or raise agents.defaults.bootstrapMaxChars \
              or bootstrapTotalMaxChars."
            ]
        );
        let unknown = &warned("", LONG)[0];
        assert!(!unknown.contains("over"), "{unknown}");
    }

    #[test]
    fn missing_files_are_reported_even_if_marked_as_cut() {
        let gone =
            r#"{"name":"BOOTSTRAP.md","missing":true,"truncated":true,"rawChars":0,"injectedChars":65}"#;
        let warned = warned("", &format!("{gone},{WHOLE}"));
        assert_eq!(warned.len(), 1);
        assert!(warned[0].starts_with("BOOTSTRAP.md is missing"), "{warned:?}");
    }
}
