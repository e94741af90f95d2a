//! Syntax colours for the visible lines and a few before them, never for a whole file: a tool result may be megabytes
//! long. Text stays plain until the syntaxes are loaded, and on lines too long to parse in time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::app::message_body::{BodyLine, ContentKind, LineTone, MessageBody, TextLine};
use crate::app::message_layout::MessageLayout;
use crate::text;
use crate::ui::theme::Role;

/// Lines parsed before the first and after the last visible one.
const CONTEXT_LINES: usize = 40;
/// Bytes of the longest line that is parsed.
const MAX_LINE_BYTES: usize = 2_000;
/// Bytes parsed at a time; later lines stay plain.
const PARSE_BUDGET_BYTES: usize = 48_000;
/// Bytes at the start of a text that decide its language.
const GUESS_BYTES: usize = 400;

/// Coloured byte ranges of a line.
pub type Spans = Vec<(Range<usize>, Role)>;

static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();

thread_local! {
    static LAST: RefCell<Option<ParsedWindow>> = const { RefCell::new(None) };
}

/// Loads the syntaxes; returns whether they were not loaded before. This takes tens of milliseconds, so call it on its
/// own thread after the first frame.
pub fn load() -> bool {
    let mut loaded = false;
    SYNTAXES.get_or_init(|| {
        loaded = true;
        SyntaxSet::load_defaults_newlines()
    });
    loaded
}

struct ParsedWindow {
    body: Weak<MessageLayout>,
    first: usize,
    lines: Vec<[Spans; 2]>,
}

impl ParsedWindow {
    fn covers(&self, shown: &Arc<MessageLayout>, lines: &Range<usize>) -> bool {
        std::ptr::eq(self.body.as_ptr(), Arc::as_ptr(shown))
            && self.first <= lines.start
            && lines.end <= self.first + self.lines.len()
    }
}

/// Returns the colours of the visible lines, for both sides of each; empty until the syntaxes are loaded.
pub fn spans(shown: &Arc<MessageLayout>, lines: Range<usize>) -> Vec<[Spans; 2]> {
    let Some(set) = SYNTAXES.get() else { return Vec::new() };
    if !shown.body.texts.iter().any(|text| is_code(&text.kind)) {
        return Vec::new();
    }
    LAST.with_borrow_mut(|last| {
        if !last.as_ref().is_some_and(|window| window.covers(shown, &lines)) {
            *last = Some(parse(set, shown, &lines));
        }
        let Some(window) = last else { return Vec::new() };
        let from = lines.start - window.first;
        window.lines[from..from + lines.len()].to_vec()
    })
}

fn is_code(content: &ContentKind) -> bool {
    !matches!(content, ContentKind::Thinking | ContentKind::Error)
}

fn syntax_of<'a>(set: &'a SyntaxSet, content: &ContentKind, text: &str) -> Option<&'a SyntaxReference> {
    match content {
        ContentKind::Json => set.find_syntax_by_extension("json"),
        ContentKind::Output { path } => {
            let extension = path.as_deref().and_then(extension);
            let named = extension.and_then(|extension| set.find_syntax_by_extension(&extension));
            named.or_else(|| guess_syntax(set, text)).filter(|syntax| syntax.name != "Plain Text")
        }
        _ => None,
    }
}

/// Returns the extension of a path; `None` for a URL, whose content is text.
fn extension(path: &str) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next().filter(|_| !path.contains("://"))?;
    name.rsplit_once('.').map(|(_, extension)| extension.to_lowercase())
}

/// Recognises JSON and diffs by their start, scripts and markup by their first line.
fn guess_syntax<'a>(set: &'a SyntaxSet, text: &str) -> Option<&'a SyntaxReference> {
    let start = crate::app::message_body::truncate_bytes(text, GUESS_BYTES).trim_start();
    let object = start.starts_with('{') && start[1..].trim_start().starts_with(['"', '}']);
    let array = start.starts_with('[') && start[1..].trim_start().starts_with(['{', '"', '[']);
    let starts_diff = ["diff --git ", "--- a/", "@@ -", "Index: "].iter().any(|mark| start.starts_with(mark));
    if object || array {
        set.find_syntax_by_extension("json")
    } else if starts_diff {
        set.find_syntax_by_extension("diff")
    } else if start.starts_with("#!") || start.starts_with("<?") || start.starts_with("<!") {
        set.find_syntax_by_first_line(start)
    } else {
        None
    }
}

/// The parser state of one text.
struct Parser<'a> {
    /// The current language; prose has one only between fences.
    syntax: Option<&'a SyntaxReference>,
    state: Option<(ParseState, ScopeStack)>,
    prose: bool,
    in_fence: bool,
}

fn parse(set: &SyntaxSet, shown: &Arc<MessageLayout>, lines: &Range<usize>) -> ParsedWindow {
    let body = &shown.body;
    let first = lines.start.saturating_sub(CONTEXT_LINES);
    let end = (lines.end + CONTEXT_LINES).min(body.lines.len()).max(lines.end);
    let mut parsers = HashMap::new();
    let mut left = PARSE_BUDGET_BYTES;
    let parsed = (first..end).map(|at| {
        let mut side = |piece: Option<&TextLine>| {
            let piece = piece.filter(|piece| {
                piece.tone != LineTone::Added && is_code(&body.texts[piece.text_index].kind)
            })?;
            let line = body.text(piece);
            if line.len() > MAX_LINE_BYTES || line.len() > left {
                return None;
            }
            left -= line.len();
            let parser = parsers
                .entry(piece.text_index)
                .or_insert_with(|| Parser::new(set, body, piece.text_index, first));
            Some(parser.line(set, &text::visible(line)))
        };
        let (one, two) = match body.lines.get(at) {
            Some(BodyLine::Single(piece)) => (Some(piece), None),
            Some(BodyLine::SideBySide(left, right)) => (left.as_ref(), right.as_ref()),
            _ => (None, None),
        };
        [side(one).unwrap_or_default(), side(two).unwrap_or_default()]
    });
    ParsedWindow { body: Arc::downgrade(shown), first, lines: parsed.collect() }
}

impl<'a> Parser<'a> {
    fn new(set: &'a SyntaxSet, body: &MessageBody, text: usize, first: usize) -> Self {
        let known = &body.texts[text];
        let mut parser = Self {
            // Output with its own colours keeps them.
            syntax: syntax_of(set, &known.kind, &known.text).filter(|_| known.colours.is_empty()),
            state: None,
            prose: known.kind == ContentKind::Prose,
            in_fence: false,
        };
        if parser.prose {
            let before = body.lines[..first.min(body.lines.len())].iter();
            let pieces = before.filter_map(|line| match line {
                BodyLine::Single(piece) if piece.text_index == text => Some(body.text(piece)),
                _ => None,
            });
            pieces.filter(|line| is_fence(line)).for_each(|line| parser.fence(set, line));
        }
        parser
    }

    /// Enters or leaves a fenced code block.
    fn fence(&mut self, set: &'a SyntaxSet, line: &str) {
        self.in_fence = !self.in_fence;
        let name = line.trim().trim_start_matches(['`', '~']).split_whitespace().next().unwrap_or_default();
        self.syntax = if self.in_fence { set.find_syntax_by_token(name) } else { None };
        self.state = None;
    }

    fn line(&mut self, set: &'a SyntaxSet, line: &str) -> Spans {
        if self.prose && is_fence(line) {
            self.fence(set, line);
            return vec![(0..line.len(), Role::Muted)];
        }
        let Some(syntax) = self.syntax else { return Vec::new() };
        let (state, stack) = self.state.get_or_insert_with(|| (ParseState::new(syntax), ScopeStack::new()));
        let Ok(parsed) = state.parse_line(&format!("{line}\n"), set) else {
            self.syntax = None;
            return Vec::new();
        };
        let mut spans = Spans::new();
        let mut from = 0;
        for (at, op) in parsed {
            push(&mut spans, from..at.min(line.len()), stack);
            from = at.min(line.len());
            if stack.apply(&op).is_err() {
                self.syntax = None;
                return spans;
            }
        }
        push(&mut spans, from..line.len(), stack);
        spans
    }
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

fn push(spans: &mut Spans, range: Range<usize>, stack: &ScopeStack) {
    if range.start < range.end
        && let Some(role) = role_of(stack)
    {
        spans.push((range, role));
    }
}

/// Returns the code role of the innermost scope that has one.
fn role_of(stack: &ScopeStack) -> Option<Role> {
    static ROLES: OnceLock<Vec<(Scope, Role)>> = OnceLock::new();
    let roles = ROLES.get_or_init(|| {
        let names = [
            ("comment", Role::Muted),
            ("meta.mapping.key", Role::Keyword),
            ("meta.structure.dictionary.key", Role::Keyword),
            ("string", Role::String),
            ("constant", Role::Number),
            ("keyword", Role::Keyword),
            ("storage", Role::Keyword),
            ("entity.name.tag", Role::Keyword),
            ("markup.inserted", Role::String),
            ("markup.deleted", Role::Number),
            ("meta.diff.range", Role::Keyword),
            ("meta.diff.header", Role::Muted),
        ];
        names.iter().filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role))).collect()
    });
    let scopes = stack.as_slice();
    let is_key = |scope: &Scope| roles[1..3].iter().any(|(key, _)| key.is_prefix_of(*scope));
    if roles.len() > 3 && scopes.iter().any(is_key) {
        return Some(Role::Keyword);
    }
    scopes
        .iter()
        .rev()
        .find_map(|scope| roles.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, role)| *role))
}

#[cfg(test)]
#[path = "highlight_tests.rs"]
mod tests;
