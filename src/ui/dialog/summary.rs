//! The part of the dialog that tells of a compaction's summary: what it takes, how far it is, and its lines.

use ratatui::text::Span;

use super::{Builder, Line};
use crate::app::action::Action;
use crate::app::state::WriteDialog;
use crate::app::summary::{Summarising, summary_lines};
use crate::inspect::making::Made;
use crate::inspect::words::{dollars, estimated_dollars};
use crate::inspect::writer::{Offer, Writer};
use crate::summarize::{Progress, SummarizerKind};
use crate::ui::theme::Role;
use crate::ui::widgets::number::{counted, estimate};

/// Lines of a summary that are seen at once, at most.
const SEEN: usize = 8;

impl<'a> Builder<'a> {
    /// Before a summary is there.
    pub(super) fn summarising(&self, stage: &Summarising) -> Vec<Line<'a>> {
        let mut lines = vec![self.writer(&self.app.options.summarizer), Line::Blank];
        match stage {
            Summarising::Reading => {
                lines.push(self.words("Reading what is to be summarised…", Role::Muted));
                lines.extend(self.keys(&[(Action::No, "cancel")]));
            }
            Summarising::Offered(offer) => {
                lines.extend(self.offer(offer));
                lines.extend(self.keys(&[(Action::Yes, "summarise"), (Action::No, "cancel")]));
            }
            Summarising::Calling(progress) => {
                lines.extend(self.progress(progress));
                lines.extend(self.keys(&[(Action::No, "cancel")]));
            }
        }
        lines
    }

    fn writer(&self, writer: &Writer) -> Line<'a> {
        let offline = if writer.is_outside() { "" } else { ": out of the conversation's own words, offline" };
        self.field("summary by", format!("{}{offline}", writer.words()))
    }

    fn offer(&self, offer: &Offer) -> Vec<Line<'a>> {
        let calls = counted(offer.calls as u64, "call");
        let (input, output) = (estimate(offer.input_tokens), estimate(offer.output_tokens));
        let cost = match offer.cost {
            Some(usd) => Span::styled(estimated_dollars(usd), self.theme.bold(Role::Warn)),
            None => self.muted("\u{2014} no price known for it"),
        };
        let leaves = match offer.writer.kind {
            SummarizerKind::Extractive => "Nothing leaves this machine.",
            SummarizerKind::Command => "The program gets the conversation on its standard input.",
            SummarizerKind::Http => "The conversation is sent to the address in config.toml.",
        };
        vec![
            self.field("takes", format!("{calls} · {input} tokens in · {output} out")),
            Line::Field("cost", vec![cost]),
            Line::Blank,
            self.words(leaves, Role::Text),
            self.words("Nothing is written before you have seen the summary.", Role::Muted),
        ]
    }

    fn progress(&self, progress: &Progress) -> Vec<Line<'a>> {
        let Progress { call, of, purpose, tokens, attempt, wait_ms } = progress;
        let far = format!("Summarising… call {call} of {of} · {} tokens", estimate(*tokens));
        let mut detail = purpose.word().to_owned();
        if *attempt > 1 {
            detail = format!("{detail}, attempt {attempt} after {} s", wait_ms.div_ceil(1000));
        }
        vec![
            Line::Words(vec![
                Span::styled(far, self.theme.style(Role::Bright)),
                self.muted(format!(" · {detail}")),
            ]),
            self.words("Nothing was written yet.", Role::Muted),
        ]
    }

    /// What was made of it, and its lines from the one on that is looked at; `room` for them is what the screen leaves.
    pub(super) fn made(&self, dialog: &WriteDialog, made: &Made, room: usize) -> Vec<Line<'a>> {
        let calls = counted(made.calls.len() as u64, "call");
        let cost = made.cost.filter(|usd| *usd > 0.0).map(|usd| format!(" · {}", dollars(usd)));
        let told = format!(
            "{} · {} tokens · {calls}{}",
            made.writer.words(),
            estimate(made.summary.tokens()),
            cost.unwrap_or_default()
        );
        let all = summary_lines(made, self.app.size.0);
        let seen = SEEN.min(room.max(1));
        let last = (dialog.top + seen).min(all.len());
        let mut head = vec![Span::styled(told, self.theme.style(Role::Text))];
        if seen < all.len() {
            let first = dialog.top + 1;
            let lines =
                if first == last { format!("line {first}") } else { format!("lines {first}–{last}") };
            head.push(self.muted(format!(" · {lines} of {}", all.len())));
        }
        let mut lines = vec![Line::Field("summary", head)];
        if made.is_cut() {
            lines.push(Line::Field(
                "",
                vec![Span::styled("an answer ended at its limit", self.theme.style(Role::Warn))],
            ));
        }
        let words = |line: String| Line::Words(vec![self.muted(line)]);
        lines.extend(all.into_iter().skip(dialog.top).take(seen).map(words));
        lines
    }
}
