//! The dialog's summary of a compaction: its calls, its progress and its text.

use ratatui::text::Span;

use super::{Builder, DialogLine};
use crate::app::action::Action;
use crate::app::screens::write::{SummaryStage, summary_lines};
use crate::app::state::WriteDialog;
use crate::format::{format_short_estimate, quantity};
use crate::summarize::SummaryProgress;
use crate::ui::theme::Role;
use crate::write::summary::job::{SummaryEstimate, SummaryResult, SummaryWriter};

/// Summary lines visible at once.
const VISIBLE_LINES: usize = 8;

impl<'a> Builder<'a> {
    /// Returns the lines while no summary exists yet.
    pub(super) fn summarising(&self, stage: &SummaryStage) -> Vec<DialogLine<'a>> {
        let mut lines = vec![self.writer(&self.app.options.summarizer), DialogLine::Blank];
        match stage {
            SummaryStage::Reading => {
                lines.push(self.text_line("Reading the messages to summarise…", Role::Muted));
                lines.extend(self.keys(&[(Action::No, "cancel")]));
            }
            SummaryStage::Offered(offer) => {
                lines.extend(self.offer(offer));
                lines.extend(self.keys(&[(Action::Yes, "summarise"), (Action::No, "cancel")]));
            }
            SummaryStage::Calling(progress) => {
                lines.extend(self.progress(progress));
                lines.extend(self.keys(&[(Action::No, "cancel")]));
            }
        }
        lines
    }

    fn writer(&self, writer: &SummaryWriter) -> DialogLine<'a> {
        let offline = if writer.is_external() { "" } else { ": quotes the conversation, offline" };
        self.field("summary", format!("{}{offline}", writer.label()))
    }

    fn offer(&self, offer: &SummaryEstimate) -> Vec<DialogLine<'a>> {
        let calls = quantity(offer.calls as u64, "call");
        let (input, output) =
            (format_short_estimate(offer.input_tokens), format_short_estimate(offer.output_tokens));
        vec![
            self.field("needs", format!("{calls} · {input} tokens in · {output} out")),
            DialogLine::Blank,
            self.text_line("The program gets the conversation on its standard input.", Role::Text),
            self.text_line("You see the summary before anything is written.", Role::Muted),
        ]
    }

    fn progress(&self, progress: &SummaryProgress) -> Vec<DialogLine<'a>> {
        let SummaryProgress { call, total_calls: of, purpose, tokens, attempt, wait_ms } = progress;
        let far = format!("Summarising… call {call} of {of} · {} tokens", format_short_estimate(*tokens));
        let mut detail = purpose.as_str().to_owned();
        if *attempt > 1 {
            detail = format!("{detail}, attempt {attempt} after {} s", (*wait_ms / 1000.0).ceil().get());
        }
        vec![
            DialogLine::Text(vec![
                Span::styled(far, self.theme.style(Role::Bright)),
                self.muted(format!(" · {detail}")),
            ]),
            self.text_line("Nothing is written yet.", Role::Muted),
        ]
    }

    /// Returns the result of the summary and its visible lines, from the scroll position on; `room` is the number of
    /// lines left for them.
    pub(super) fn summary_result(
        &self,
        dialog: &WriteDialog,
        made: &SummaryResult,
        room: usize,
    ) -> Vec<DialogLine<'a>> {
        let calls = quantity(made.calls.len() as u64, "call");
        let reported = format!(
            "{} · {} tokens · {calls}",
            made.writer.label(),
            format_short_estimate(made.summary.tokens())
        );
        let all = summary_lines(made, self.app.size.0);
        let seen = VISIBLE_LINES.min(room.max(1));
        let last = (dialog.top + seen).min(all.len());
        let mut head = vec![Span::styled(reported, self.theme.style(Role::Text))];
        if seen < all.len() {
            let first = dialog.top + 1;
            let lines =
                if first == last { format!("line {first}") } else { format!("lines {first}–{last}") };
            head.push(self.muted(format!(" · {lines} of {}", all.len())));
        }
        let mut lines = vec![DialogLine::Field("summary", head)];
        let words = |line: String| DialogLine::Text(vec![self.muted(line)]);
        lines.extend(all.into_iter().skip(dialog.top).take(seen).map(words));
        lines
    }
}
