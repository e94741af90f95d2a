//! The sections of a window: first the parts of the bar, which add up to it, then the remainder, then views that count
//! the same tokens again: heaviest messages, images, the whole history.

use super::prompt_sections::{SectionBuilder, prompt_sections, sort_by_tokens};
use super::{Figure, HeavyBlocks, HeavyMessage, Line, Remainder, Section, SectionKind, WindowContents};
use crate::context::breakdown::{IMAGE_TOKENS, MessageSum, ToolTotals};
use crate::context::budget::{BudgetPart, part_for};
use crate::format::{format_number, quantity};
use crate::redact::masked;
use crate::session::tool::tool_of;
use crate::session::{LoadedSession, UnmeasuredReason};
use crate::store::entry::Role;

/// Builds the sections of a window. Parts without tokens are left out.
pub fn sections(session: &LoadedSession, contents: &WindowContents, blocks: &HeavyBlocks) -> Vec<Section> {
    let view = SectionBuilder { session, contents, now: &contents.now };
    let mut sections = prompt_sections(&view);
    sections.extend([
        view.summary_section(),
        view.user_section(),
        view.assistant_section(),
        view.thinking_section(),
        view.results_section(),
    ]);
    sections.retain(|section| {
        section.figure != Figure::Estimated(0) || section.after.is_some_and(|after| after > 0)
    });
    sections.push(view.remainder_section());
    sections.push(view.heaviest_section(blocks));
    sections.push(view.images_section());
    sections.push(view.history_section());
    sections.retain(|section| section.kind != SectionKind::Images || section.note != "none");
    sections
}

impl SectionBuilder<'_> {
    fn summary_section(&self) -> Section {
        let messages = self.session.context.messages.iter().enumerate();
        let summaries = messages.filter(|(_, message)| part_for(message.size.role) == BudgetPart::Summary);
        let lines = summaries.map(|(at, message)| {
            let of = if message.size.role == Role::CompactionSummary { "compaction" } else { "branch" };
            let name = self.session.index.display_id(message.entry);
            Line::new(of, self.session.next_prompt.tokens_of(at))
                .with_note(format!("{} chars, {name}", format_number(message.size.pi_chars.whole_chars())))
                .with_entry(self.entry_at(at))
        });
        self.part_section(BudgetPart::Summary, "Summary").with_lines(lines.collect())
    }

    fn user_section(&self) -> Section {
        let names = [
            (Role::User, "messages"),
            (Role::Custom, "extension messages"),
            (Role::BashExecution, "shell commands"),
            (Role::Other, "other roles"),
        ];
        let there = names.into_iter().filter(|(role, _)| self.now.role_tally(*role).count > 0);
        let lines = there.map(|(role, name)| {
            let amount = self.now.role_tally(role);
            let after = self.contents.after.as_ref().map(|after| after.role_tally(role).tokens);
            Line::new(name, amount.tokens).with_note(format_number(amount.count)).with_after(after)
        });
        self.part_section(BudgetPart::User, "You").with_lines(lines.collect())
    }

    fn assistant_section(&self) -> Section {
        let after = self.contents.after.as_ref();
        let message = Line::new("text", self.now.answer_text.tokens)
            .with_note(quantity(self.now.answer_text.count as f64, "message"))
            .with_after(after.map(|after| after.answer_text.tokens));
        let called = self.now.tools.iter().enumerate().filter(|(_, tool)| tool.calls.count > 0);
        let mut calls: Vec<Line> = called
            .map(|(at, tool)| {
                Line::new(tool_name(tool), tool.calls.tokens)
                    .with_note(quantity(tool.calls.count as f64, "call"))
                    .with_after(after.and_then(|after| after.tools.get(at)).map(|tool| tool.calls.tokens))
                    .with_entry(self.heaviest_with_tool(tool))
            })
            .collect();
        sort_by_tokens(&mut calls);
        calls.insert(0, message);
        self.part_section(BudgetPart::Assistant, "Assistant").with_lines(calls)
    }

    fn thinking_section(&self) -> Section {
        let thinking = self.now.thinking;
        let note = format!(
            "{}, {} chars",
            quantity(thinking.count as f64, "message"),
            format_number(thinking.chars)
        );
        self.part_section(BudgetPart::Thinking, "Thinking").with_note(note)
    }

    fn results_section(&self) -> Section {
        let after = self.contents.after.as_ref().map(|after| &after.tools);
        let tools = self.now.tools.iter().enumerate().filter(|(_, tool)| tool.results.count > 0);
        let mut lines: Vec<Line> = tools
            .map(|(at, tool)| {
                Line::new(tool_name(tool), tool.results.tokens)
                    .with_note(result_note(tool))
                    .with_after(after.and_then(|tools| tools.get(at)).map(|tool| tool.results.tokens))
                    .with_entry(self.heaviest_with_tool(tool))
            })
            .collect();
        sort_by_tokens(&mut lines);
        let count = self.now.result_tally().count;
        self.part_section(BudgetPart::Results, "Tool results")
            .with_note(quantity(count as f64, "result"))
            .with_lines(lines)
    }

    fn remainder_section(&self) -> Section {
        match &self.contents.remainder {
            Ok(remainder) => self.measured_section(remainder),
            Err(why) => Section::new(SectionKind::Remainder, REMAINDER, Figure::Unknown)
                .with_note(why.label())
                .with_explanation(describe_unmeasured(*why)),
        }
    }

    fn measured_section(&self, remainder: &Remainder) -> Section {
        let name = self.session.index.display_id(remainder.entry);
        let line = |label: &str, figure| Line { figure, ..Line::new(label, 0) };
        let lines = vec![
            line("measured", Figure::Measured(remainder.measured))
                .with_note(format!("the prompt that {name} answers"))
                .with_entry(Some(remainder.entry)),
            line("by chars/4", Figure::Estimated(remainder.estimated)).with_note("the same prompt"),
            line("since then", Figure::Estimated(remainder.tokens_since))
                .with_note("that answer and everything after it, by chars/4"),
        ];
        Section::new(SectionKind::Remainder, REMAINDER, Figure::Difference(remainder.difference()))
            .with_note(remainder.label())
            .with_explanation(remainder.explanation())
            .with_lines(lines)
    }

    fn heaviest_section(&self, blocks: &HeavyBlocks) -> Section {
        let heavy = &self.contents.heaviest;
        let lines = heavy.iter().map(|message| self.heavy_line(message, blocks)).collect();
        let sum = heavy.iter().map(|message| message.tokens).sum();
        let after =
            heavy.iter().map(|message| message.after).sum::<Option<u64>>().filter(|_| !heavy.is_empty());
        let section = Section::new(SectionKind::Heaviest, "Heaviest messages", Figure::Estimated(sum));
        Section { after, ..section.with_note("included above").with_lines(lines) }
    }

    fn heavy_line(&self, message: &HeavyMessage, blocks: &HeavyBlocks) -> Line {
        let name = self.session.index.display_id(message.entry);
        let line = Line::new(self.speaker(message.position), message.tokens)
            .with_after(message.after)
            .with_entry(Some(message.entry));
        match blocks.get(&message.entry) {
            None => line.with_explanation(name),
            Some(Err(error)) => Line { has_warning: true, ..line.with_explanation(error.to_string()) },
            Some(Ok(block)) => {
                let of_how_many =
                    if block.block_count > 1 { format!(" of {}", block.block_count) } else { String::new() };
                let chars = format_number(block.chars);
                let words =
                    format!("{name}: heaviest block{of_how_many} {}, {chars} chars", block.kind.label());
                line.with_note(block.topic.clone()).with_explanation(words)
            }
        }
    }

    /// Returns the tool of a result, otherwise the role.
    fn speaker(&self, at: usize) -> String {
        let size = &self.session.context.messages[at].size;
        match size.role {
            Role::ToolResult => {
                let entry = self.session.context.messages[at].entry;
                let name = tool_of(&self.session.index, entry, size);
                name.map_or_else(|| UNNAMED.into(), |name| masked(&name).into_owned())
            }
            Role::User => "you".into(),
            Role::CompactionSummary | Role::BranchSummary => "summary".into(),
            Role::Custom => "extension".into(),
            Role::BashExecution => "shell".into(),
            role => role.as_str().into(),
        }
    }

    fn images_section(&self) -> Section {
        let images = self.now.images;
        let priced = (images.priced > 0).then(|| {
            format!(
                "{} estimated at {} tokens each, included above",
                format_number(images.priced),
                format_number(IMAGE_TOKENS)
            )
        });
        let free = (images.free > 0).then(|| format!("{} estimated at 0", format_number(images.free)));
        let notes: Vec<String> = priced.into_iter().chain(free).collect();
        let note = if notes.is_empty() { "none".to_owned() } else { notes.join("; ") };
        Section::new(SectionKind::Images, "Images", Figure::Estimated(images.tokens)).with_note(note).with_explanation(
            "The estimate counts an image in a tool result as 4,800 chars and one in your message as nothing; \
             the provider counts both by their size.",
        )
    }

    fn history_section(&self) -> Section {
        let history = self.contents.history;
        let line = |label: &str, extent: MessageSum| {
            Line::new(label, extent.tokens).with_note(quantity(extent.messages as f64, "message"))
        };
        let lines = vec![
            line("in the window", history.live),
            line("on this path", history.path),
            line("in the file", history.file),
        ];
        let compacted = match history.compactions {
            0 => "never compacted".into(),
            1 => "compacted once".into(),
            times => format!("compacted {} times", format_number(times)),
        };
        let note = format!("messages by chars/4, {compacted}");
        let section = Section::new(SectionKind::History, "History", Figure::Estimated(history.path.tokens));
        let words = "Messages only, by chars/4: in the window, on the path to the root, and on all branches of the file.";
        let lifecycle = self.contents.lifecycle.iter().map(|lifecycle| format!(" {lifecycle}"));
        section
            .with_note(note)
            .with_lines(lines)
            .with_explanation(words.to_owned() + &lifecycle.collect::<String>())
    }
}

/// Title of the difference between the provider's count of the last answered prompt and its estimate.
const REMAINDER: &str = "Count minus chars/4";
/// Placeholder for a missing name.
const UNNAMED: &str = "(unnamed)";

pub(super) fn tool_name(tool: &ToolTotals) -> String {
    tool.name.as_deref().map_or_else(|| UNNAMED.into(), |name| masked(name).into_owned())
}

fn result_note(tool: &ToolTotals) -> String {
    let mut words = vec![quantity(tool.results.count as f64, "result")];
    if tool.errors > 0 {
        words.push(format!("{} failed", format_number(tool.errors)));
    }
    if tool.images > 0 {
        words.push(quantity(tool.images as f64, "image"));
    }
    words.join(", ")
}

fn describe_unmeasured(why: UnmeasuredReason) -> &'static str {
    match why {
        UnmeasuredReason::NoUsage => {
            "No answer on this path has usage from the provider, so every number here is an estimate."
        }
        UnmeasuredReason::SinceCompaction => {
            "The provider has counted nothing since the compaction, so every number here is an estimate."
        }
        UnmeasuredReason::SinceReset => {
            "The provider has counted nothing since the reset, so every number here is an estimate."
        }
        UnmeasuredReason::SinceEdit => {
            "The context has been edited since the last count, so that count no longer applies."
        }
        UnmeasuredReason::SinceCommit => {
            "The provider has counted nothing since the branch was written, so every number here is an estimate."
        }
        UnmeasuredReason::OtherLeaf => "The provider's count belongs to the session's own leaf.",
    }
}

#[cfg(test)]
#[path = "sections_tests.rs"]
mod tests;
