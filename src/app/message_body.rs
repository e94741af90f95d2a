//! The lines of a message, in one column or with before and after side by side. Lines are byte ranges into shared
//! texts, so that a result of several megabytes costs one range per line and no copies.

use std::borrow::Cow;
use std::ops::Range;

use crate::app::diff::{self, DiffLine, DiffRow, LineChange};
use crate::app::message::MessageView;
use crate::format::{format_number, quantity};
use crate::session::message::{MessageText, PartKind, TextPart};
use crate::text;
use crate::text::sgr::{SgrChange, SgrStyle, sgr_changes, strip_sgr};
use crate::units::Chars;

/// The most colours of a line that are drawn.
const MAX_LINE_COLOURS: usize = 200;

/// The kind of a text: decides its colours and whether its lines always wrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentKind {
    /// Text by people and models: wraps, with code between fences.
    Prose,
    /// Thinking of the model: wraps.
    Thinking,
    /// An error of the provider or the runtime: wraps.
    Error,
    /// Output of a tool.
    Output {
        /// The path argument, when it is the whole title of the message; selects the syntax.
        path: Option<String>,
    },
    /// Arguments of a call.
    Arguments,
    Json,
}

impl ContentKind {
    /// Whether long lines wrap even when the view does not.
    pub fn always_wraps(&self) -> bool {
        matches!(self, Self::Prose | Self::Thinking | Self::Error)
    }
}

/// A text that lines point into; not yet sanitised for the screen.
#[derive(Debug, Clone)]
pub struct SourceText {
    pub text: String,
    pub kind: ContentKind,
    /// The colours of a program's output.
    pub colours: Vec<SgrChange>,
}

/// The fate of a line under the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineTone {
    /// Unchanged, or without a plan.
    Plain,
    /// Removed from the prompt; shown faded inside the text.
    Faded,
    /// Removed; a line of a diff.
    Removed,
    /// Added; a line of a diff or a replacement.
    Added,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TextLine {
    /// Index into [`MessageBody::texts`].
    pub text_index: usize,
    /// Bytes in that text.
    pub range: Range<usize>,
    /// Line number, from 1.
    pub number: Option<u32>,
    pub tone: LineTone,
    /// Removed bytes, counted from the start of the line.
    pub removed_range: Range<usize>,
    /// Chars before the cut (UTF-16 units), when the text before is cut at the end of this line.
    pub cut_after_chars: Option<Chars>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BodyLine {
    /// A line of one text.
    Single(TextLine),
    /// A line before, and after.
    SideBySide(Option<TextLine>, Option<TextLine>),
    /// The name of the next part, and a few words.
    Heading(String, String),
    /// A count of chars that leave the prompt here.
    RemovedChars(Chars),
    /// A count of folded lines that leave the prompt.
    FoldedLines(usize),
    Blank,
    /// The end mark.
    End,
}

impl BodyLine {
    /// The line number, if it has one.
    pub fn number(&self) -> Option<u32> {
        match self {
            Self::Single(piece) => piece.number,
            Self::SideBySide(left, right) => left.as_ref().or(right.as_ref()).and_then(|piece| piece.number),
            _ => None,
        }
    }
}

/// The options that decide the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyOptions {
    pub view: MessageView,
    /// Whether a diff puts before and after side by side.
    pub side_by_side: bool,
    /// Whether an end mark is shown.
    pub show_end: bool,
    pub hide_thinking: bool,
    /// Whether folded lines are shown.
    pub unfold: bool,
}

/// The lines of a message.
#[derive(Debug, Clone)]
pub struct MessageBody {
    /// The texts that the lines point into.
    pub texts: Vec<SourceText>,
    pub lines: Vec<BodyLine>,
    /// Digits of the largest line number; 0 without numbers.
    pub number_digits: usize,
    /// Whether a sign is before each number.
    pub has_signs: bool,
    /// Whether lines have two sides.
    pub side_by_side: bool,
}

impl MessageBody {
    /// Builds the lines of a message.
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

    pub fn text(&self, piece: &TextLine) -> &str {
        &self.texts[piece.text_index].text[piece.range.clone()]
    }

    /// Returns the part of a line before a byte as the screen shows it: safe, and without the codes of colours.
    pub fn visible_before(&self, piece: &TextLine, bytes: usize) -> Cow<'_, str> {
        let text = truncate_bytes(self.text(piece), bytes);
        if self.texts[piece.text_index].colours.is_empty() {
            return text::visible(text);
        }
        Cow::Owned(text::visible(&strip_sgr(text)).into_owned())
    }

    /// Returns a line as the screen shows it.
    pub fn visible(&self, piece: &TextLine) -> Cow<'_, str> {
        self.visible_before(piece, usize::MAX)
    }

    /// Returns the colours of a line: the byte of its visible text at which each starts.
    pub fn colours(&self, piece: &TextLine) -> Vec<(usize, SgrStyle)> {
        let changes = &self.texts[piece.text_index].colours;
        let first = changes.partition_point(|change| change.range.start < piece.range.start);
        let before = first.checked_sub(1).map(|at| (0, changes[at].style));
        let mut colours: Vec<(usize, SgrStyle)> = before.into_iter().collect();
        let inside = changes[first..].iter().take_while(|change| change.range.end <= piece.range.end);
        let is_plain = matches!(text::visible(&strip_sgr(self.text(piece))), Cow::Borrowed(_));
        let mut removed = 0;
        for (count, change) in inside.take(MAX_LINE_COLOURS + 1).enumerate() {
            let start = change.range.start - piece.range.start;
            let at = if is_plain { start - removed } else { self.visible_before(piece, start).len() };
            removed += change.range.len();
            colours.push((at, if count < MAX_LINE_COLOURS { change.style } else { SgrStyle::default() }));
        }
        colours
    }

    /// Returns the number of a line, or of the next line that has one.
    pub fn next_number(&self, line: usize) -> Option<u32> {
        self.lines.get(line..)?.iter().find_map(BodyLine::number)
    }

    fn add_text(&mut self, text: String, content: ContentKind) -> usize {
        let is_output = matches!(content, ContentKind::Output { .. });
        let colours = if is_output { sgr_changes(&text) } else { Vec::new() };
        self.texts.push(SourceText { text, kind: content, colours });
        self.texts.len() - 1
    }

    /// Appends the lines of a text, numbered from `from`; returns their count.
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

    /// Appends every part with its heading. The texts of a tool result share one line count, as if line feeds joined
    /// them.
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
            self.lines.push(BodyLine::Heading("empty".into(), "no content".into()));
        }
    }

    /// Appends the text with a mark at the cut. Falls back to [`Self::push_replacement`] when the change is not a
    /// soft trim.
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

    /// Appends the replacement first, then the replaced text, faded.
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

    /// Appends a one-column diff: added lines follow removed ones, and kept lines appear once.
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

/// A cut at the start of a line leaves only its mark on the right.
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

/// Whether a program wrote the text, not a person or a model.
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
    let chars = || quantity(diff::count_chars(&part.text), "char");
    let (name, words) = match &part.kind {
        PartKind::Text => return None,
        PartKind::Thinking if hidden => ("thinking".into(), format!("{} hidden", chars())),
        PartKind::Thinking => ("thinking".into(), chars()),
        PartKind::Call { name, id } => (name.clone(), id.clone()),
        PartKind::Image { mime, chars } => {
            ("image".into(), format!("{mime} {} chars of data", format_number(*chars)).trim().to_owned())
        }
        PartKind::Error => ("error".into(), String::new()),
        PartKind::Other => ("other".into(), chars()),
    };
    Some(BodyLine::Heading(name, words))
}

/// Cuts a text after at most `bytes` bytes, at a char boundary.
pub fn truncate_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
#[path = "message_body_tests.rs"]
mod tests;
