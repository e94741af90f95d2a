//! What a message is shown as: its lines, in one column or before and after side by side. Lines point into
//! texts, so that a result of megabytes costs a range each.

use std::ops::Range;

use crate::app::diff::{self, DiffLine, DiffRow, LineChange};
use crate::app::message::MessageView;
use crate::inspect::format::{group_digits, quantity};
use crate::inspect::message::{MessageText, PartKind, TextPart};

/// What a text is: decides how it is coloured and whether its lines always wrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentKind {
    /// What people and models write: wraps, code between fences.
    Prose,
    /// What the model thought: wraps.
    Thinking,
    /// An error of the provider or the runtime: wraps.
    Error,
    /// What a tool returned, with the path it was asked for where that is all of its title.
    Output {
        /// The path.
        path: Option<String>,
    },
    /// Arguments of a call.
    Arguments,
    /// JSON.
    Json,
}

impl ContentKind {
    /// Whether long lines wrap whatever the view says.
    pub fn always_wraps(&self) -> bool {
        matches!(self, Self::Prose | Self::Thinking | Self::Error)
    }
}

/// A text that lines point into; not yet made safe for the screen.
#[derive(Debug, Clone)]
pub struct SourceText {
    /// It.
    pub text: String,
    /// What it is.
    pub kind: ContentKind,
}

/// What becomes of a piece under the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineTone {
    /// Nothing, or there is no plan.
    Plain,
    /// It leaves the prompt: shown faded.
    Faded,
    /// It leaves: a line of a diff.
    Removed,
    /// It comes.
    Added,
}

/// A line of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextLine {
    /// Which text.
    pub text_index: usize,
    /// Its bytes there.
    pub range: Range<usize>,
    /// Its number, counted from 1.
    pub number: Option<u32>,
    /// What becomes of it.
    pub tone: LineTone,
    /// Bytes of it that leave, counted from its start.
    pub removed_range: Range<usize>,
    /// The text before is cut at its end, after so many chars.
    pub cut_after_chars: Option<u64>,
}

/// A line of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyLine {
    /// A line of a text.
    Single(TextLine),
    /// A line before, and after.
    SideBySide(Option<TextLine>, Option<TextLine>),
    /// What comes now: a name, and a few words.
    Heading(String, String),
    /// So many chars leave the prompt here.
    RemovedChars(u64),
    /// So many lines that leave are folded.
    FoldedLines(usize),
    /// Nothing.
    Blank,
    /// The end of what is shown.
    End,
}

impl BodyLine {
    /// The number it carries.
    pub fn number(&self) -> Option<u32> {
        match self {
            Self::Single(piece) => piece.number,
            Self::SideBySide(left, right) => left.as_ref().or(right.as_ref()).and_then(|piece| piece.number),
            _ => None,
        }
    }
}

/// How it is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyOptions {
    /// What is shown.
    pub view: MessageView,
    /// Before and after side by side, where both are shown.
    pub side_by_side: bool,
    /// The end is said.
    pub show_end: bool,
    /// Thinking is hidden.
    pub hide_thinking: bool,
    /// Nothing is folded.
    pub unfold: bool,
}

/// The lines of a message.
#[derive(Debug, Clone)]
pub struct MessageBody {
    /// What the lines point into.
    pub texts: Vec<SourceText>,
    /// The lines.
    pub lines: Vec<BodyLine>,
    /// Digits of the largest line number; 0 without numbers.
    pub number_digits: usize,
    /// A sign stands before each number.
    pub has_signs: bool,
    /// Lines have two sides.
    pub side_by_side: bool,
}

impl MessageBody {
    /// Lays a message out.
    pub fn new(message: &MessageText, form: BodyOptions) -> Self {
        let mut body = Self {
            texts: Vec::new(),
            lines: Vec::new(),
            number_digits: 0,
            has_signs: false,
            side_by_side: false,
        };
        match (form.view, &message.planned_text) {
            (MessageView::Raw, _) => body.push_numbered(message.indented_json(), ContentKind::Json),
            (MessageView::Diff, Some(after)) => body.push_diff(message, after, form),
            (_, Some(after)) => body.push_soft_trim(message, after, form),
            (_, None) => body.push_parts(message, form),
        }
        if form.show_end {
            body.lines.extend([BodyLine::Blank, BodyLine::End]);
        }
        body
    }

    /// The text of a piece.
    pub fn text(&self, piece: &TextLine) -> &str {
        &self.texts[piece.text_index].text[piece.range.clone()]
    }

    /// The number of a line, or of the next one that has any.
    pub fn next_number(&self, line: usize) -> Option<u32> {
        self.lines.get(line..)?.iter().find_map(BodyLine::number)
    }

    fn add_text(&mut self, text: String, content: ContentKind) -> usize {
        self.texts.push(SourceText { text, kind: content });
        self.texts.len() - 1
    }

    /// Appends the lines of a text, numbered from `from` on.
    fn push_lines(&mut self, text: usize, tone: LineTone, from: Option<u32>) -> u32 {
        let ranges: Vec<_> = diff::line_ranges(&self.texts[text].text).collect();
        let count = ranges.len() as u32;
        for (at, range) in ranges.into_iter().enumerate() {
            let number = from.map(|from| from + at as u32);
            self.lines.push(BodyLine::Single(TextLine {
                text_index: text,
                range,
                number,
                tone,
                removed_range: 0..0,
                cut_after_chars: None,
            }));
        }
        if let Some(from) = from {
            self.number_digits = self.number_digits.max(count_digits(from + count - 1));
        }
        count
    }

    fn push_numbered(&mut self, text: String, content: ContentKind) {
        let text = self.add_text(text, content);
        self.push_lines(text, LineTone::Plain, Some(1));
    }

    /// Every part with its name; texts of a result one after the other, as if joined by line feeds.
    fn push_parts(&mut self, message: &MessageText, form: BodyOptions) {
        let output = is_output(message);
        let mut number = output.then_some(1);
        for (at, part) in message.parts.iter().enumerate() {
            let text_again =
                part.kind == PartKind::Text && at > 0 && message.parts[at - 1].kind == PartKind::Text;
            if at > 0 && !text_again {
                self.lines.push(BodyLine::Blank);
            }
            let hidden = form.hide_thinking && part.kind == PartKind::Thinking;
            self.lines.extend(heading(part, hidden));
            if hidden
                || matches!(part.kind, PartKind::Image { .. })
                || (part.text.is_empty() && part.kind != PartKind::Text)
            {
                continue;
            }
            let text = self.add_text(part.text.clone(), part_kind(message, part, output));
            let numbers = number.filter(|_| part.kind == PartKind::Text);
            let count = self.push_lines(text, LineTone::Plain, numbers);
            number = numbers.map(|from| from + count).or(number);
        }
        if message.parts.is_empty() {
            self.lines.push(BodyLine::Heading("empty".into(), "nothing is said here".into()));
        }
    }

    /// The text as the plan leaves it: what stays is plain, a mark stands where something leaves.
    fn push_soft_trim(&mut self, message: &MessageText, after: &str, form: BodyOptions) {
        let before = message.joined_text().into_owned();
        let text = self.add_text(before, output_kind(message));
        let Some(cut) = diff::parse_soft_trim(&self.texts[text].text, after) else {
            return self.push_replacement(text, after);
        };
        let ranges: Vec<_> = diff::line_ranges(&self.texts[text].text).collect();
        self.number_digits = count_digits(ranges.len() as u32);
        let mut marked = false;
        for (at, line) in ranges.into_iter().enumerate() {
            let piece = |range: Range<usize>, tone, numbered: bool| {
                let number = numbered.then_some(at as u32 + 1);
                BodyLine::Single(TextLine {
                    text_index: text,
                    range,
                    number,
                    tone,
                    removed_range: 0..0,
                    cut_after_chars: None,
                })
            };
            let (from, to) = (line.start, line.end);
            if from < cut.head_end {
                self.lines.push(piece(from..to.min(cut.head_end), LineTone::Plain, true));
            }
            if !marked && to >= cut.head_end {
                self.lines.push(BodyLine::RemovedChars(cut.removed_chars));
                marked = true;
            }
            let gone = from.max(cut.head_end)..to.min(cut.tail_start);
            let empty = from == to && (cut.head_end..cut.tail_start).contains(&from);
            if form.unfold && (gone.start < gone.end || empty) {
                self.lines.push(piece(gone, LineTone::Faded, from >= cut.head_end));
            }
            if to > cut.tail_start || from >= cut.tail_start {
                let numbered = from >= cut.tail_start || (from >= cut.head_end && !form.unfold);
                self.lines.push(piece(from.max(cut.tail_start)..to, LineTone::Plain, numbered));
            }
        }
    }

    /// The whole text leaves: what comes stands first.
    fn push_replacement(&mut self, before: usize, after: &str) {
        let chars = diff::count_chars(&self.texts[before].text);
        let comes = self.add_text(after.to_owned(), ContentKind::Prose);
        self.push_lines(comes, LineTone::Added, None);
        self.lines.push(BodyLine::RemovedChars(chars));
        self.push_lines(before, LineTone::Faded, Some(1));
    }

    fn push_diff(&mut self, message: &MessageText, after: &str, form: BodyOptions) {
        let left = self.add_text(message.joined_text().into_owned(), output_kind(message));
        let right = self.add_text(after.to_owned(), output_kind(message));
        let rows = diff::diff_rows(&self.texts[left].text, after, form.unfold);
        (self.has_signs, self.side_by_side) = (true, form.side_by_side);
        self.number_digits = count_digits(diff::line_ranges(&self.texts[left].text).count() as u32);
        if form.side_by_side {
            let lines = rows.into_iter().map(|row| match row {
                DiffRow::Lines { left: one, right: two } => BodyLine::SideBySide(
                    one.map(|side| text_line(left, side)),
                    two.map(|side| text_line(right, side)),
                ),
                DiffRow::Fold { lines } => BodyLine::FoldedLines(lines),
            });
            self.lines.extend(lines);
        } else {
            self.push_unified(rows, left, right);
        }
    }

    /// One column: what comes after what leaves; what stays once.
    fn push_unified(&mut self, rows: Vec<DiffRow>, left: usize, right: usize) {
        let mut comes: Vec<BodyLine> = Vec::new();
        for row in rows {
            match row {
                DiffRow::Fold { lines } => self.lines.push(BodyLine::FoldedLines(lines)),
                DiffRow::Lines { left: one, right: two } => {
                    let stays = one.as_ref().is_none_or(|side| side.change == LineChange::Kept);
                    if stays {
                        self.lines.append(&mut comes);
                    }
                    let paired = one.as_ref().is_some_and(|side| side.change == LineChange::Kept);
                    let repeats = |side: &DiffLine| paired && side.change == LineChange::Kept;
                    self.lines.extend(one.map(|side| BodyLine::Single(text_line(left, side))));
                    comes.extend(
                        two.filter(|side| !repeats(side))
                            .filter(|side| !is_empty_head(side))
                            .map(|side| BodyLine::Single(text_line(right, side))),
                    );
                }
            }
        }
        self.lines.append(&mut comes);
    }
}

/// Of a cut at the start of a line nothing stands on the right but the mark.
fn is_empty_head(side: &DiffLine) -> bool {
    side.change == LineChange::Kept && side.text.is_empty() && side.cut_after_chars.is_some()
}

fn text_line(text: usize, side: DiffLine) -> TextLine {
    let tone = match side.change {
        LineChange::Kept => LineTone::Plain,
        LineChange::Removed => LineTone::Removed,
        LineChange::Added => LineTone::Added,
    };
    TextLine {
        text_index: text,
        range: side.text,
        number: side.number,
        tone,
        removed_range: side.removed_range,
        cut_after_chars: side.cut_after_chars,
    }
}

fn count_digits(number: u32) -> usize {
    number.max(1).ilog10() as usize + 1
}

/// Whether the text is what a program wrote, not a person or a model.
fn is_output(message: &MessageText) -> bool {
    message.title.0.is_some() && matches!(message.fact("role"), Some("toolResult" | "bashExecution"))
}

fn output_kind(message: &MessageText) -> ContentKind {
    let title = message.title.1.trim();
    let path = !title.is_empty() && !title.contains(char::is_whitespace);
    ContentKind::Output { path: path.then(|| title.to_owned()) }
}

fn part_kind(message: &MessageText, part: &TextPart, is_output: bool) -> ContentKind {
    match part.kind {
        PartKind::Thinking => ContentKind::Thinking,
        PartKind::Error => ContentKind::Error,
        PartKind::Call { .. } => ContentKind::Arguments,
        PartKind::Other => ContentKind::Json,
        _ if is_output => output_kind(message),
        _ => ContentKind::Prose,
    }
}

fn heading(part: &TextPart, hidden: bool) -> Option<BodyLine> {
    let chars = || quantity(diff::count_chars(&part.text) as f64, "char");
    let (name, words) = match &part.kind {
        PartKind::Text => return None,
        PartKind::Thinking if hidden => ("thinking".into(), format!("{} hidden", chars())),
        PartKind::Thinking => ("thinking".into(), chars()),
        PartKind::Call { name, id } => (name.clone(), id.clone()),
        PartKind::Image { mime, chars } => (
            "image".into(),
            format!("{mime} {} chars of data", group_digits(*chars as u64)).trim().to_owned(),
        ),
        PartKind::Error => ("error".into(), String::new()),
        PartKind::Other => ("other".into(), chars()),
    };
    Some(BodyLine::Heading(name, words))
}

#[cfg(test)]
#[path = "message_body_tests.rs"]
mod tests;
