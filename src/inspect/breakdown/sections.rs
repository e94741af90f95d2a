//! What is in the window, as sections: first the parts of the bar, which add up to it, then the remainder, then
//! what is told again from another side: the heaviest messages, images, the whole history.

use super::lines::by_weight;
use super::prompt_sections::prompt_sections;
use super::{Blocks, Figure, HeavyMessage, Line, Remainder, Section, SectionKind, WindowContents};
use crate::context::breakdown::{Breakdown, Extent, IMAGE_TOKENS, ToolUse};
use crate::context::budget::{Part, part_of};
use crate::ids::EntryIx;
use crate::inspect::words::{grouped, of};
use crate::inspect::{Inspection, Unmeasured};
use crate::store::entry::Role;

/// The sections of a window. Parts without tokens are left out.
pub fn sections(inspection: &Inspection, contents: &WindowContents, blocks: &Blocks) -> Vec<Section> {
    let view = View { inspection, contents, now: &contents.now };
    let mut sections = prompt_sections(&view);
    sections.extend([view.summary(), view.you(), view.assistant(), view.thinking(), view.results()]);
    sections
        .retain(|section| section.figure != Figure::Est(0) || section.after.is_some_and(|after| after > 0));
    sections.push(view.remainder());
    sections.push(view.heaviest(blocks));
    sections.push(view.images());
    sections.push(view.history());
    sections.retain(|section| section.kind != SectionKind::Images || section.note != "none");
    sections
}

/// What the sections are made from.
pub(super) struct View<'a> {
    pub(super) inspection: &'a Inspection,
    pub(super) contents: &'a WindowContents,
    pub(super) now: &'a Breakdown,
}

impl View<'_> {
    /// A section of a part of the bar.
    pub(super) fn part(&self, part: Part, title: &'static str) -> Section {
        let after = self.contents.after.as_ref().map(|after| after.budget.tokens(part));
        let tokens = self.now.budget.tokens(part);
        Section { after, ..Section::new(SectionKind::Part(part), title, Figure::Est(tokens)) }
    }

    fn entry_of(&self, at: usize) -> Option<EntryIx> {
        self.inspection.context.messages.get(at).map(|message| message.entry)
    }

    /// The heaviest message with a tool.
    pub(super) fn heaviest_of(&self, tool: &ToolUse) -> Option<EntryIx> {
        self.entry_of(tool.heaviest)
    }

    fn summary(&self) -> Section {
        let messages = self.inspection.context.messages.iter().enumerate();
        let summaries = messages.filter(|(_, message)| part_of(message.size.role) == Part::Summary);
        let lines = summaries.map(|(at, message)| {
            let of = if message.size.role == Role::CompactionSummary { "compaction" } else { "branch" };
            let name = self.inspection.index.name(message.entry);
            let tokens = crate::context::tokens::chars4::estimate_or_zero(&message.size);
            Line::new(of, tokens)
                .note(format!("{} chars, {name}", grouped(message.size.pi_chars.chars())))
                .to(self.entry_of(at))
        });
        self.part(Part::Summary, "Summary").lines(lines.collect())
    }

    fn you(&self) -> Section {
        let names = [
            (Role::User, "messages"),
            (Role::Custom, "of extensions"),
            (Role::BashExecution, "shell commands"),
            (Role::Other, "of other roles"),
        ];
        let there = names.into_iter().filter(|(role, _)| self.now.role(*role).count > 0);
        let lines = there.map(|(role, name)| {
            let amount = self.now.role(role);
            let after = self.contents.after.as_ref().map(|after| after.role(role).tokens);
            Line::new(name, amount.tokens).note(grouped(amount.count)).after(after)
        });
        self.part(Part::You, "You").lines(lines.collect())
    }

    fn assistant(&self) -> Section {
        let after = self.contents.after.as_ref();
        let said = Line::new("text", self.now.said.tokens)
            .note(of(self.now.said.count as f64, "message"))
            .after(after.map(|after| after.said.tokens));
        let called = self.now.tools.iter().enumerate().filter(|(_, tool)| tool.calls.count > 0);
        let mut calls: Vec<Line> = called
            .map(|(at, tool)| {
                Line::new(name_of(tool), tool.calls.tokens)
                    .note(of(tool.calls.count as f64, "call"))
                    .after(after.and_then(|after| after.tools.get(at)).map(|tool| tool.calls.tokens))
                    .to(self.heaviest_of(tool))
            })
            .collect();
        by_weight(&mut calls);
        calls.insert(0, said);
        self.part(Part::Assistant, "Assistant").lines(calls)
    }

    fn thinking(&self) -> Section {
        let thinking = self.now.thinking;
        let note = format!("{}, {} chars", of(thinking.count as f64, "message"), grouped(thinking.chars));
        self.part(Part::Thinking, "Thinking").note(note)
    }

    fn results(&self) -> Section {
        let after = self.contents.after.as_ref().map(|after| &after.tools);
        let tools = self.now.tools.iter().enumerate().filter(|(_, tool)| tool.results.count > 0);
        let mut lines: Vec<Line> = tools
            .map(|(at, tool)| {
                Line::new(name_of(tool), tool.results.tokens)
                    .note(result_note(tool))
                    .after(after.and_then(|tools| tools.get(at)).map(|tool| tool.results.tokens))
                    .to(self.heaviest_of(tool))
            })
            .collect();
        by_weight(&mut lines);
        let count = self.now.results().count;
        self.part(Part::Results, "Tool results").note(of(count as f64, "result")).lines(lines)
    }

    fn remainder(&self) -> Section {
        match &self.contents.remainder {
            Ok(remainder) => self.measured(remainder),
            Err(why) => Section::new(SectionKind::Remainder, "Not accounted for", Figure::Unknown)
                .note(why.words())
                .words(unmeasured_words(*why)),
        }
    }

    fn measured(&self, remainder: &Remainder) -> Section {
        let name = self.inspection.index.name(remainder.entry);
        let line = |label: &str, figure| Line { figure, ..Line::new(label, 0) };
        let lines = vec![
            line("measured", Figure::Measured(remainder.measured))
                .note(format!("the prompt that {name} answers"))
                .to(Some(remainder.entry)),
            line("estimated", Figure::Est(remainder.estimated)).note("the same prompt"),
            line("since then", Figure::Est(remainder.since)).note("that answer and what came after it"),
        ];
        Section::new(SectionKind::Remainder, "Not accounted for", Figure::Difference(remainder.tokens()))
            .note(remainder.short())
            .words(remainder.words())
            .lines(lines)
    }

    fn heaviest(&self, blocks: &Blocks) -> Section {
        let heavy = &self.contents.heaviest;
        let lines = heavy.iter().map(|message| self.heavy_line(message, blocks)).collect();
        let sum = heavy.iter().map(|message| message.tokens).sum();
        let after =
            heavy.iter().map(|message| message.after).sum::<Option<u64>>().filter(|_| !heavy.is_empty());
        let section = Section::new(SectionKind::Heaviest, "Heaviest messages", Figure::Est(sum));
        Section { after, ..section.note("of the above").lines(lines) }
    }

    fn heavy_line(&self, message: &HeavyMessage, blocks: &Blocks) -> Line {
        let name = self.inspection.index.name(message.entry);
        let line =
            Line::new(self.speaker(message.at), message.tokens).after(message.after).to(Some(message.entry));
        match blocks.get(&message.entry) {
            None => line.words(name),
            Some(Err(error)) => Line { warns: true, ..line.words(error.clone()) },
            Some(Ok(block)) => {
                let of_how_many =
                    if block.blocks > 1 { format!(" of {}", block.blocks) } else { String::new() };
                let chars = grouped(block.chars);
                let words =
                    format!("{name}: heaviest block{of_how_many} {}, {chars} chars", block.kind.words());
                line.note(block.about.clone()).words(words)
            }
        }
    }

    /// Who speaks in a message: the tool of a result, else the role.
    fn speaker(&self, at: usize) -> String {
        let size = &self.inspection.context.messages[at].size;
        match size.role {
            Role::ToolResult => {
                let name = self.inspection.index.words.value(size.tool);
                name.map_or_else(|| NAMELESS.into(), |name| crate::js::to_text(Some(name)).to_string_lossy())
            }
            Role::User => "you".into(),
            Role::CompactionSummary | Role::BranchSummary => "summary".into(),
            Role::Custom => "extension".into(),
            Role::BashExecution => "shell".into(),
            role => role.word().into(),
        }
    }

    fn images(&self) -> Section {
        let images = self.now.images;
        let priced = (images.priced > 0)
            .then(|| format!("{} at {} tokens, of the above", grouped(images.priced), grouped(IMAGE_TOKENS)));
        let free = (images.free > 0).then(|| format!("{} that the rule counts 0", grouped(images.free)));
        let notes: Vec<String> = priced.into_iter().chain(free).collect();
        let note = if notes.is_empty() { "none".to_owned() } else { notes.join("; ") };
        Section::new(SectionKind::Images, "Images", Figure::Est(images.tokens)).note(note).words(
            "The rule counts an image in a tool result as 4 800 chars and one in a message of yours as nothing; \
             a provider counts both by their size.",
        )
    }

    fn history(&self) -> Section {
        let history = self.contents.history;
        let line = |label: &str, extent: Extent| {
            Line::new(label, extent.tokens).note(of(extent.messages as f64, "message"))
        };
        let lines = vec![
            line("in the window", history.live),
            line("on this path", history.path),
            line("in the file", history.file),
        ];
        let note = match history.compactions {
            0 => "never compacted".into(),
            1 => "compacted once".into(),
            times => format!("compacted {} times", grouped(times)),
        };
        let section = Section::new(SectionKind::History, "History", Figure::Est(history.path.tokens));
        let words = "Messages alone: the window against everything on the way to the root, and all branches.";
        let lifecycle = self.contents.lifecycle.iter().map(|lifecycle| format!(" {lifecycle}"));
        section.note(note).lines(lines).words(words.to_owned() + &lifecycle.collect::<String>())
    }
}

/// In the place of a name.
const NAMELESS: &str = "— not named";

pub(super) fn name_of(tool: &ToolUse) -> String {
    tool.name.clone().unwrap_or_else(|| NAMELESS.into())
}

fn result_note(tool: &ToolUse) -> String {
    let mut words = vec![of(tool.results.count as f64, "result")];
    if tool.errors > 0 {
        words.push(format!("{} failed", grouped(tool.errors)));
    }
    if tool.images > 0 {
        words.push(of(tool.images as f64, "image"));
    }
    words.join(", ")
}

fn unmeasured_words(why: Unmeasured) -> &'static str {
    match why {
        Unmeasured::NoUsage => {
            "No answer on this path says what the provider counted: every number here is an estimate."
        }
        Unmeasured::SinceCompaction => {
            "The provider counted nothing since the compaction: every number here is an estimate."
        }
        Unmeasured::SinceReset => {
            "The provider counted nothing since the reset: every number here is an estimate."
        }
        Unmeasured::SinceEdit => {
            "The context was edited since: what was counted before is not what is sent now."
        }
        Unmeasured::SinceCommit => {
            "The provider counted nothing since the branch was written: every number here is an estimate."
        }
        Unmeasured::OtherLeaf => "What the provider counted belongs to the session's own leaf.",
    }
}

#[cfg(test)]
#[path = "sections_tests.rs"]
mod tests;
