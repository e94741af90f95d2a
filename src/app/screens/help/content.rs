//! The words of the help: keys from the keymap, signs from the legend, numbers and topics of the guide.

use crate::app::action::{ACTIONS, Action, ActionGroup, ActionRow};
use crate::app::key_words::key_sections;
use crate::app::keymap::{KeyContext, Keymap};
use crate::app::legend::{LegendRow, Tone, legend};
use crate::app::screens::help::page::{HelpArea, HelpEntry, HelpLayout, HelpLine, LEAD_WIDTH, wrapped};
use crate::app::screens::help::{HelpDocument, HelpPage, HelpScreen, HelpSubject, numbers};
use crate::config::CustomCommand;
use crate::doc::markdown::{plain_line, readable};
use crate::guide::TOPICS;
use crate::{rulebook, text};

/// The widest line of a document.
const MAX_WIDTH: usize = 100;

/// Lines of a found paragraph in the list: opening the document shows the rest.
const EXCERPT_LINES: usize = 2;

/// Actions in opposite directions share a row.
const PAIRS: [(Action, Action, &str); 17] = [
    (Action::BorderLeft, Action::BorderRight, "resize the pane"),
    (Action::Down, Action::Up, "down, up"),
    (Action::HalfPageDown, Action::HalfPageUp, "half a page down, up"),
    (Action::PageDown, Action::PageUp, "page down, up"),
    (Action::Top, Action::Bottom, "first, last row (and follow)"),
    (Action::NextPane, Action::PreviousPane, "next, previous pane"),
    (Action::NextMatch, Action::PreviousMatch, "next, previous match"),
    (Action::JumpBack, Action::JumpForward, "back before a jump, forward"),
    (Action::Left, Action::Right, "fold or unfold, scroll, decrease or increase"),
    (Action::FarLeft, Action::FarRight, "the same by ten"),
    (Action::NextMessage, Action::PreviousMessage, "next, previous message"),
    (Action::Next, Action::Previous, "next, previous user turn"),
    (Action::NextChange, Action::PreviousChange, "next, previous change"),
    (Action::CycleFilter, Action::CycleFilterBack, "next, previous filter of rows"),
    (Action::NextPolicy, Action::PreviousPolicy, "next, previous policy"),
    (Action::Less, Action::More, "decrease, increase; fold, unfold all"),
    (Action::UndoTuning, Action::RedoTuning, "undo, redo a change"),
];

/// The panes share a row.
const PANE_ACTIONS: [Action; 4] =
    [Action::FocusSessions, Action::FocusTranscript, Action::FocusMessage, Action::FocusTuning];

/// The row of an action, and why it does nothing now.
type KeyEntry = (HelpEntry, &'static str);

/// The state that the words depend on.
#[derive(Clone, Copy)]
pub struct HelpSource<'a> {
    pub keymap: &'a Keymap,
    /// The person's commands; [`Action::Custom`] counts in this order.
    pub commands: &'a [CustomCommand],
    /// The reason that an action has no effect now; empty when it has one.
    pub blocked: &'a dyn Fn(Action) -> &'static str,
}

impl std::fmt::Debug for HelpSource<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("HelpSource").field("keymap", self.keymap).finish_non_exhaustive()
    }
}

impl HelpSource<'_> {
    pub(in crate::app) fn layout(&self, screen: &HelpScreen, area: HelpArea) -> HelpLayout {
        if let Some(document) = screen.document {
            return HelpLayout::single(document_lines(document, area.columns));
        }
        if screen.is_searching() {
            return HelpLayout::single(wrapped(&self.found(screen, area), area.line_width(1)));
        }
        let balanced = |groups: Vec<Vec<HelpLine>>, columns: usize| {
            let groups = groups.iter().map(|group| wrapped(group, area.line_width(columns)));
            HelpLayout::balanced(&groups.collect::<Vec<_>>(), columns)
        };
        match screen.page {
            HelpPage::Here => self.here(screen, area),
            HelpPage::Signs => balanced(sign_groups(usize::MAX), area.sign_column_count()),
            HelpPage::Keys => balanced(self.key_groups(), area.column_count()),
            HelpPage::Guide => {
                let topics: Vec<HelpLine> = topics().map(HelpLine::Entry).collect();
                HelpLayout::single(wrapped(&topics, area.line_width(1)))
            }
        }
    }

    fn here(&self, screen: &HelpScreen, area: HelpArea) -> HelpLayout {
        let (own, others) = self.keys_here(screen.below);
        let heading = HelpLine::Heading(format!("Here: {}", screen.subject.name()));
        let mut here = vec![heading];
        let (blocked, works): (Vec<_>, Vec<_>) = own.into_iter().partition(|(_, why)| !why.is_empty());
        here.extend(works.into_iter().map(|(entry, _)| HelpLine::Entry(entry)));
        if !blocked.is_empty() {
            here.extend([HelpLine::Blank, HelpLine::Subheading("Not now".into())]);
            let why = |(entry, why): (HelpEntry, &'static str)| {
                HelpLine::Entry(HelpEntry { words: why.into(), tone: Tone::Muted, ..entry })
            };
            here.extend(blocked.into_iter().map(why));
        }
        let notes = match screen.subject {
            HelpSubject::Pane(pane) => numbers::of_pane(pane),
            HelpSubject::Screen(kind) => numbers::of_screen(kind),
            HelpSubject::Dialog => Vec::new(),
        };
        let mut numbers: Vec<HelpLine> = Vec::new();
        if !notes.is_empty() {
            numbers.push(HelpLine::Heading("Numbers here".into()));
            numbers.extend(notes.into_iter().map(|(name, words)| note_line(name, words)));
        }
        let mut everywhere = vec![HelpLine::Heading("Everywhere".into())];
        everywhere.extend(others.into_iter().map(|(entry, _)| HelpLine::Entry(entry)));
        let mut signs = vec![HelpLine::Heading("Signs and colours".into())];
        signs.extend(joined(sign_groups(2)));
        let columns = match area.column_count() {
            1 => vec![joined(vec![here, numbers, everywhere, signs])],
            2 => vec![joined(vec![here, numbers]), joined(vec![everywhere, signs])],
            _ => vec![here, everywhere, joined(vec![signs, numbers])],
        };
        let width = area.line_width(columns.len());
        HelpLayout { columns: columns.iter().map(|lines| wrapped(lines, width)).collect() }
    }

    /// Returns the keys of a context, and those that work everywhere.
    fn keys_here(&self, context: KeyContext) -> (Vec<KeyEntry>, Vec<KeyEntry>) {
        let bound = self.keymap.own_actions(context);
        let is_pane = context.is_pane();
        let is_here = |row: &ActionRow| {
            let elsewhere =
                matches!(row.0, Action::Show(_) | Action::Quit | Action::NextTheme | Action::ToggleMouse);
            let shared = matches!(
                row.0,
                Action::Search
                    | Action::NextMatch
                    | Action::PreviousMatch
                    | Action::Open
                    | Action::Copy
                    | Action::Commit
            );
            (bound.contains(&row.0) && !elsewhere) || (is_pane && (shared || row.2 == ActionGroup::Move))
        };
        let mut own = self.command_entries(context);
        // A low screen shows what only works here before what works in every list.
        let is_own = |row: &ActionRow| bound.contains(&row.0);
        own.extend(self.entries(context, |row| is_here(row) && is_own(row)));
        own.extend(self.entries(context, |row| is_here(row) && !is_own(row)));
        (own, self.entries(context, |row| !is_here(row)))
    }

    /// Returns rows for the person's commands with a key in a context.
    fn command_entries(&self, context: KeyContext) -> Vec<KeyEntry> {
        let rows = (0..=u16::MAX).zip(self.commands);
        let keys = rows.map(|(at, command)| (self.keymap.keys_for(context, Action::Custom(at)), command));
        let bound = keys.filter(|(keys, _)| !keys.is_empty());
        bound.map(|(keys, command)| (key_entry(&keys, &command.name), "")).collect()
    }

    /// Returns rows for the selected actions with a key in a context; opposite actions share one.
    fn entries(&self, context: KeyContext, select: impl Fn(&ActionRow) -> bool) -> Vec<KeyEntry> {
        let mut entries = Vec::new();
        for row in ACTIONS.iter().filter(|row| select(row)) {
            if PANE_ACTIONS[1..].contains(&row.0) {
                continue;
            }
            if row.0 == PANE_ACTIONS[0] {
                let keys = PANE_ACTIONS.map(|action| self.keymap.keys_for(context, action));
                let keys: Vec<String> = keys.into_iter().filter_map(|keys| keys.into_iter().next()).collect();
                if !keys.is_empty() {
                    entries.push((key_entry(&keys, "sessions … tuning"), ""));
                }
                continue;
            }
            let pair = PAIRS.iter().find(|pair| pair.0 == row.0 || pair.1 == row.0);
            let keys = match pair {
                Some(pair) if pair.1 == row.0 => {
                    let first = self.keymap.keys_for(context, pair.0);
                    if first.is_empty() { self.keymap.keys_for(context, row.0) } else { Vec::new() }
                }
                Some(pair) => [pair.0, pair.1]
                    .iter()
                    .filter_map(|action| self.keymap.keys_for(context, *action).into_iter().next())
                    .collect(),
                None => self.keymap.keys_for(context, row.0),
            };
            if keys.is_empty() {
                continue;
            }
            let words = match (pair, context) {
                (Some((Action::Next, ..)), KeyContext::Compare) => "another setting from left to right",
                (Some(pair), _) => pair.2,
                (None, _) => row.3,
            };
            entries.push((key_entry(&keys, words), (self.blocked)(row.0)));
        }
        entries
    }

    /// Every action with its keys, by the place where they work.
    fn key_groups(&self) -> Vec<Vec<HelpLine>> {
        let own = [KeyContext::Sessions, KeyContext::Transcript].map(|context| self.command_entries(context));
        let own = own.into_iter().flatten().map(|(entry, _)| entry).collect();
        let groups = std::iter::once(("Your commands", own));
        let groups = groups.chain(key_sections(self.keymap).into_iter().map(|section| {
            let rows = section.rows.iter();
            (section.title, rows.map(|(keys, action)| key_entry(keys, action.description())).collect())
        }));
        let lines = |(title, entries): (&str, Vec<HelpEntry>)| {
            let heading = std::iter::once(HelpLine::Heading(title.into()));
            heading.chain(entries.into_iter().map(HelpLine::Entry)).collect()
        };
        groups.map(lines).filter(|lines: &Vec<HelpLine>| lines.len() > 1).collect()
    }

    /// The keys that the help of a context does not list: those of other places and of menus, and typed names.
    fn keys_elsewhere(&self, context: KeyContext) -> impl Iterator<Item = (String, Vec<HelpEntry>)> {
        key_sections(self.keymap).into_iter().map(move |section| {
            let is_missing = |action: Action| self.keymap.keys_for(context, action).is_empty();
            let rows = section.rows.iter().filter(|row| is_missing(row.1));
            let entries = rows.map(|(keys, action)| key_entry(keys, action.description()));
            (section.title.to_owned(), entries.collect())
        })
    }

    /// Returns everything that contains the searched words.
    fn found(&self, screen: &HelpScreen, area: HelpArea) -> Vec<HelpLine> {
        let words: Vec<String> =
            screen.search.text().to_lowercase().split_whitespace().map(str::to_owned).collect();
        let mut groups: Vec<(String, Vec<HelpEntry>)> = Vec::new();
        let (own, others) = self.keys_here(screen.below);
        let keys = |keys: Vec<(HelpEntry, &str)>| keys.into_iter().map(|(entry, _)| entry).collect();
        groups.push((format!("Here: {}", screen.subject.name()), keys(own)));
        groups.push(("Everywhere".into(), keys(others)));
        for (title, entries) in self.keys_elsewhere(screen.below) {
            match groups.iter_mut().find(|group| group.0 == title) {
                Some(group) => group.1.extend(entries),
                None => groups.push((title, entries)),
            }
        }
        for section in legend() {
            groups.push((section.title.into(), section.rows.iter().map(sign_entry).collect()));
        }
        groups.push(("Numbers".into(), numbers::all().into_iter().map(number_entry).collect()));
        let mut lines = Vec::new();
        for (title, entries) in groups {
            let found: Vec<HelpEntry> = entries.into_iter().filter(|entry| entry.contains(&words)).collect();
            if !found.is_empty() {
                lines.push(HelpLine::Heading(title));
                lines.extend(found.into_iter().map(HelpLine::Entry));
            }
        }
        let found = |entries: Vec<HelpEntry>| {
            let room = EXCERPT_LINES * area.line_width(1).saturating_sub(2 * LEAD_WIDTH);
            let found = |entry| found_document(entry, &words, room);
            entries.into_iter().filter_map(found).collect::<Vec<_>>()
        };
        for (title, documents) in [("Guide", found(topics().collect())), ("Rules", found(rules().collect()))]
        {
            if !documents.is_empty() {
                lines.push(HelpLine::Heading(title.into()));
                lines.extend(documents.into_iter().map(HelpLine::Entry));
            }
        }
        lines
    }
}

fn key_entry(keys: &[String], words: &str) -> HelpEntry {
    let mut lead = String::new();
    for key in keys {
        if !lead.is_empty() && lead.len() + 1 + key.len() >= LEAD_WIDTH {
            break;
        }
        if !lead.is_empty() {
            lead.push(' ');
        }
        lead.push_str(key);
    }
    HelpEntry { lead, tone: Tone::Key, name: String::new(), words: words.into(), opens: None }
}

fn sign_entry(row: &LegendRow) -> HelpEntry {
    HelpEntry {
        lead: row.signs.into(),
        tone: row.tone,
        name: row.name.into(),
        words: row.meaning.into(),
        opens: None,
    }
}

fn number_entry((place, (name, words)): (&str, numbers::NumberNote)) -> HelpEntry {
    HelpEntry { lead: name.into(), tone: Tone::Text, name: place.into(), words: words.into(), opens: None }
}

/// The first sections of the legend, each with its title.
fn sign_groups(count: usize) -> Vec<Vec<HelpLine>> {
    let lines = |section: crate::app::legend::LegendSection| {
        let rows = section.rows.iter().map(|row| HelpLine::Entry(sign_entry(row)));
        std::iter::once(HelpLine::Subheading(section.title.into())).chain(rows).collect()
    };
    legend().into_iter().take(count).map(lines).collect()
}

/// A number and its sentence.
fn note_line(name: &str, words: &str) -> HelpLine {
    let (lead, words) = (name.to_owned(), words.to_owned());
    HelpLine::Entry(HelpEntry { lead, tone: Tone::Text, name: String::new(), words, opens: None })
}

fn topics() -> impl Iterator<Item = HelpEntry> {
    TOPICS.iter().map(|topic| document_entry(topic.name.into(), topic.title(), HelpDocument::Topic(*topic)))
}

/// The rules, without the sections that only group them.
fn rules() -> impl Iterator<Item = HelpEntry> {
    let rules = rulebook::DOCUMENTS.into_iter().flat_map(rulebook::headings);
    let rules = rules.filter(|rule| !rule.text.contains("\n### ") && !rule.text.starts_with("### "));
    rules.map(|rule| {
        let citation = format!("{} {}", rule.document.name, rule.id);
        document_entry(citation, rule.title, HelpDocument::Rule(rule))
    })
}

fn document_entry(lead: String, title: &str, document: HelpDocument) -> HelpEntry {
    HelpEntry { lead, tone: Tone::Key, name: String::new(), words: title.into(), opens: Some(document) }
}

/// A document that contains the words, with the first line that does, of at most `room` columns.
fn found_document(entry: HelpEntry, words: &[String], room: usize) -> Option<HelpEntry> {
    if entry.contains(words) {
        return Some(entry);
    }
    let line = entry.opens?.text().lines().find(|line| {
        let line = line.to_lowercase();
        words.iter().all(|word| line.contains(word.as_str()))
    })?;
    let line = plain_line(line.trim_start_matches(['#', '-', ' ']));
    let excerpt = text::truncate(&line, room).0;
    Some(HelpEntry { words: excerpt, ..entry })
}

/// Wraps the text of a document; code keeps its lines.
fn document_lines(document: HelpDocument, columns: usize) -> Vec<HelpLine> {
    let width = columns.min(MAX_WIDTH);
    let heading = |title: &str| HelpLine::Heading(title.trim_start_matches(['#', ' ']).into());
    let mut lines = match document {
        HelpDocument::Topic(_) => Vec::new(),
        HelpDocument::Rule(rule) => vec![heading(rule.title), HelpLine::Blank],
    };
    let mut is_code = false;
    for line in &readable(document.text(), width) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if line.is_empty() {
            lines.push(HelpLine::Blank);
        } else if line.starts_with('#') && !is_code {
            lines.push(heading(line));
        } else if is_code {
            lines.push(HelpLine::Text(format!("    {line}")));
        } else {
            lines.extend(text::wrap(line, width).into_iter().map(HelpLine::Text));
        }
    }
    lines
}

/// Appends groups with a blank line between two.
fn joined(groups: Vec<Vec<HelpLine>>) -> Vec<HelpLine> {
    let mut lines = Vec::new();
    for group in groups.into_iter().filter(|group| !group.is_empty()) {
        if !lines.is_empty() {
            lines.push(HelpLine::Blank);
        }
        lines.extend(group);
    }
    lines
}
