//! What a message is shown as: its lines, in one column or before and after side by side. Lines point into
//! texts, so that a result of megabytes costs a range each.

use std::ops::Range;

use crate::app::diff::{self, Change, Row, Side};
use crate::app::message::MessageView;
use crate::inspect::message::{MessageText, PartKind, TextPart};
use crate::inspect::words::{grouped, of};

/// What a text is: decides how it is coloured and whether its lines always wrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
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

impl Content {
    /// Whether long lines wrap whatever the view says.
    pub fn always_wraps(&self) -> bool {
        matches!(self, Self::Prose | Self::Thinking | Self::Error)
    }
}

/// A text that lines point into; not yet made safe for the screen.
#[derive(Debug, Clone)]
pub struct Text {
    /// It.
    pub text: String,
    /// What it is.
    pub content: Content,
}

/// What becomes of a piece under the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
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
pub struct Piece {
    /// Which text.
    pub text: usize,
    /// Its bytes there.
    pub range: Range<usize>,
    /// Its number, counted from 1.
    pub number: Option<u32>,
    /// What becomes of it.
    pub tone: Tone,
    /// Bytes of it that leave, counted from its start.
    pub removed: Range<usize>,
    /// The text before is cut at its end, after so many chars.
    pub cut_at: Option<u64>,
}

/// A line of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line of a text.
    One(Piece),
    /// A line before, and after.
    Two(Option<Piece>, Option<Piece>),
    /// What comes now: a name, and a few words.
    Heading(String, String),
    /// So many chars leave the prompt here.
    Cut(u64),
    /// So many lines that leave are folded.
    Fold(usize),
    /// Nothing.
    Blank,
    /// The end of what is shown.
    End,
}

impl Line {
    /// The number it carries.
    pub fn number(&self) -> Option<u32> {
        match self {
            Self::One(piece) => piece.number,
            Self::Two(left, right) => left.as_ref().or(right.as_ref()).and_then(|piece| piece.number),
            _ => None,
        }
    }
}

/// How it is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// What is shown.
    pub view: MessageView,
    /// Before and after side by side, where both are shown.
    pub two: bool,
    /// The end is said.
    pub end: bool,
    /// Thinking is hidden.
    pub hide_thinking: bool,
    /// Nothing is folded.
    pub unfold: bool,
}

/// The lines of a message.
#[derive(Debug, Clone)]
pub struct Body {
    /// What the lines point into.
    pub texts: Vec<Text>,
    /// The lines.
    pub lines: Vec<Line>,
    /// Digits of the largest line number; 0 without numbers.
    pub digits: usize,
    /// A sign stands before each number.
    pub signs: bool,
    /// Lines have two sides.
    pub two: bool,
}

impl Body {
    /// Lays a message out.
    pub fn new(message: &MessageText, form: Form) -> Self {
        let mut body = Self { texts: Vec::new(), lines: Vec::new(), digits: 0, signs: false, two: false };
        match (form.view, &message.after) {
            (MessageView::Raw, _) => body.numbered(message.raw(), Content::Json),
            (MessageView::Diff, Some(after)) => body.diff(message, after, form),
            (_, Some(after)) => body.planned(message, after, form),
            (_, None) => body.parts(message, form),
        }
        if form.end {
            body.lines.extend([Line::Blank, Line::End]);
        }
        body
    }

    /// The text of a piece.
    pub fn text(&self, piece: &Piece) -> &str {
        &self.texts[piece.text].text[piece.range.clone()]
    }

    /// The number of a line, or of the next one that has any.
    pub fn number_from(&self, line: usize) -> Option<u32> {
        self.lines.get(line..)?.iter().find_map(Line::number)
    }

    fn add(&mut self, text: String, content: Content) -> usize {
        self.texts.push(Text { text, content });
        self.texts.len() - 1
    }

    /// Appends the lines of a text, numbered from `from` on.
    fn push_lines(&mut self, text: usize, tone: Tone, from: Option<u32>) -> u32 {
        let ranges: Vec<_> = diff::lines(&self.texts[text].text).collect();
        let count = ranges.len() as u32;
        for (at, range) in ranges.into_iter().enumerate() {
            let number = from.map(|from| from + at as u32);
            self.lines.push(Line::One(Piece { text, range, number, tone, removed: 0..0, cut_at: None }));
        }
        if let Some(from) = from {
            self.digits = self.digits.max(digits(from + count - 1));
        }
        count
    }

    fn numbered(&mut self, text: String, content: Content) {
        let text = self.add(text, content);
        self.push_lines(text, Tone::Plain, Some(1));
    }

    /// Every part with its name; texts of a result one after the other, as if joined by line feeds.
    fn parts(&mut self, message: &MessageText, form: Form) {
        let output = is_output(message);
        let mut number = output.then_some(1);
        for (at, part) in message.parts.iter().enumerate() {
            let text_again =
                part.kind == PartKind::Text && at > 0 && message.parts[at - 1].kind == PartKind::Text;
            if at > 0 && !text_again {
                self.lines.push(Line::Blank);
            }
            let hidden = form.hide_thinking && part.kind == PartKind::Thinking;
            self.lines.extend(heading(part, hidden));
            if hidden
                || matches!(part.kind, PartKind::Image { .. })
                || (part.text.is_empty() && part.kind != PartKind::Text)
            {
                continue;
            }
            let text = self.add(part.text.clone(), content(message, part, output));
            let numbers = number.filter(|_| part.kind == PartKind::Text);
            let count = self.push_lines(text, Tone::Plain, numbers);
            number = numbers.map(|from| from + count).or(number);
        }
        if message.parts.is_empty() {
            self.lines.push(Line::Heading("empty".into(), "nothing is said here".into()));
        }
    }

    /// The text as the plan leaves it: what stays is plain, a mark stands where something leaves.
    fn planned(&mut self, message: &MessageText, after: &str, form: Form) {
        let before = message.text().into_owned();
        let text = self.add(before, output(message));
        let Some(cut) = diff::soft_cut(&self.texts[text].text, after) else {
            return self.replaced(text, after);
        };
        let ranges: Vec<_> = diff::lines(&self.texts[text].text).collect();
        self.digits = digits(ranges.len() as u32);
        let mut marked = false;
        for (at, line) in ranges.into_iter().enumerate() {
            let piece = |range: Range<usize>, tone, numbered: bool| {
                let number = numbered.then_some(at as u32 + 1);
                Line::One(Piece { text, range, number, tone, removed: 0..0, cut_at: None })
            };
            let (from, to) = (line.start, line.end);
            if from < cut.head {
                self.lines.push(piece(from..to.min(cut.head), Tone::Plain, true));
            }
            if !marked && to >= cut.head {
                self.lines.push(Line::Cut(cut.removed_chars));
                marked = true;
            }
            let gone = from.max(cut.head)..to.min(cut.tail);
            let empty = from == to && (cut.head..cut.tail).contains(&from);
            if form.unfold && (gone.start < gone.end || empty) {
                self.lines.push(piece(gone, Tone::Faded, from >= cut.head));
            }
            if to > cut.tail || from >= cut.tail {
                let numbered = from >= cut.tail || (from >= cut.head && !form.unfold);
                self.lines.push(piece(from.max(cut.tail)..to, Tone::Plain, numbered));
            }
        }
    }

    /// The whole text leaves: what comes stands first.
    fn replaced(&mut self, before: usize, after: &str) {
        let chars = diff::chars_of(&self.texts[before].text);
        let comes = self.add(after.to_owned(), Content::Prose);
        self.push_lines(comes, Tone::Added, None);
        self.lines.push(Line::Cut(chars));
        self.push_lines(before, Tone::Faded, Some(1));
    }

    fn diff(&mut self, message: &MessageText, after: &str, form: Form) {
        let left = self.add(message.text().into_owned(), output(message));
        let right = self.add(after.to_owned(), output(message));
        let rows = diff::rows(&self.texts[left].text, after, form.unfold);
        (self.signs, self.two) = (true, form.two);
        self.digits = digits(diff::lines(&self.texts[left].text).count() as u32);
        if form.two {
            let lines = rows.into_iter().map(|row| match row {
                Row::Lines { left: one, right: two } => {
                    Line::Two(one.map(|side| piece(left, side)), two.map(|side| piece(right, side)))
                }
                Row::Fold { lines } => Line::Fold(lines),
            });
            self.lines.extend(lines);
        } else {
            self.unified(rows, left, right);
        }
    }

    /// One column: what comes after what leaves; what stays once.
    fn unified(&mut self, rows: Vec<Row>, left: usize, right: usize) {
        let mut comes: Vec<Line> = Vec::new();
        for row in rows {
            match row {
                Row::Fold { lines } => self.lines.push(Line::Fold(lines)),
                Row::Lines { left: one, right: two } => {
                    let stays = one.as_ref().is_none_or(|side| side.change == Change::Kept);
                    if stays {
                        self.lines.append(&mut comes);
                    }
                    let paired = one.as_ref().is_some_and(|side| side.change == Change::Kept);
                    let repeats = |side: &Side| paired && side.change == Change::Kept;
                    self.lines.extend(one.map(|side| Line::One(piece(left, side))));
                    comes.extend(
                        two.filter(|side| !repeats(side))
                            .filter(|side| !is_empty_head(side))
                            .map(|side| Line::One(piece(right, side))),
                    );
                }
            }
        }
        self.lines.append(&mut comes);
    }
}

/// Of a cut at the start of a line nothing stands on the right but the mark.
fn is_empty_head(side: &Side) -> bool {
    side.change == Change::Kept && side.text.is_empty() && side.cut_at.is_some()
}

fn piece(text: usize, side: Side) -> Piece {
    let tone = match side.change {
        Change::Kept => Tone::Plain,
        Change::Removed => Tone::Removed,
        Change::Added => Tone::Added,
    };
    Piece { text, range: side.text, number: side.number, tone, removed: side.removed, cut_at: side.cut_at }
}

fn digits(number: u32) -> usize {
    number.max(1).ilog10() as usize + 1
}

/// Whether the text is what a program wrote, not a person or a model.
fn is_output(message: &MessageText) -> bool {
    message.title.0.is_some() && matches!(message.fact("role"), Some("toolResult" | "bashExecution"))
}

fn output(message: &MessageText) -> Content {
    let title = message.title.1.trim();
    let path = !title.is_empty() && !title.contains(char::is_whitespace);
    Content::Output { path: path.then(|| title.to_owned()) }
}

fn content(message: &MessageText, part: &TextPart, is_output: bool) -> Content {
    match part.kind {
        PartKind::Thinking => Content::Thinking,
        PartKind::Error => Content::Error,
        PartKind::Call { .. } => Content::Arguments,
        PartKind::Other => Content::Json,
        _ if is_output => output(message),
        _ => Content::Prose,
    }
}

fn heading(part: &TextPart, hidden: bool) -> Option<Line> {
    let chars = || of(diff::chars_of(&part.text) as f64, "char");
    let (name, words) = match &part.kind {
        PartKind::Text => return None,
        PartKind::Thinking if hidden => ("thinking".into(), format!("{} hidden", chars())),
        PartKind::Thinking => ("thinking".into(), chars()),
        PartKind::Call { name, id } => (name.clone(), id.clone()),
        PartKind::Image { mime, chars } => {
            ("image".into(), format!("{mime} {} chars of data", grouped(*chars as u64)).trim().to_owned())
        }
        PartKind::Error => ("error".into(), String::new()),
        PartKind::Other => ("other".into(), chars()),
    };
    Some(Line::Heading(name, words))
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
