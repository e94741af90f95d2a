//! The keys that the status line offers, and the columns where it shows them.

use std::ops::Range;

use crate::app::action::{Action, ScreenKind};
use crate::app::key_words::preferred_key;
use crate::app::keymap::KeyContext;
use crate::app::layout::Pane;
use crate::app::message::MessageView;
use crate::app::screens::hint::Hint;
use crate::app::screens::{Overlay, compare, timeline};
use crate::app::state::App;
use crate::text;

const MOVE: Hint = (&[Action::Down, Action::Up], "move");
const NEXT_PANE: Hint = (&[Action::NextPane], "next pane");
/// Columns between two hints.
const GAP: u16 = 3;

/// A hint whose actions have keys here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownHint {
    pub actions: &'static [Action],
    pub keys: String,
    pub words: &'static str,
}

impl ShownHint {
    fn width(&self) -> u16 {
        (text::width(&self.keys) + 1 + text::width(self.words)) as u16
    }
}

impl App {
    pub fn left_hints(&self) -> Vec<ShownHint> {
        self.shown_hints(left_hints(self))
    }

    pub fn right_hints(&self) -> Vec<ShownHint> {
        self.shown_hints(right_hints(self))
    }

    fn shown_hints(&self, hints: Vec<Hint>) -> Vec<ShownHint> {
        let context = self.key_context();
        let shown = |(actions, words): Hint| {
            Some(ShownHint { actions, keys: keys_text(self, context, actions)?, words })
        };
        hints.into_iter().filter_map(shown).collect()
    }

    /// Returns the action whose hint is at a position; the second half of a hint for two actions is the second one.
    pub(super) fn hint_at(&self, column: u16, row: u16) -> Option<Action> {
        let line = self.layout().status;
        if row != line.y || line.is_empty() || self.input.is_some() || self.toast.is_some() {
            return None;
        }
        let (spots, actions): (Vec<Range<u16>>, Vec<_>) = self.hint_spots().into_iter().unzip();
        let at = spots.iter().position(|columns| columns.contains(&column))?;
        let (columns, actions) = (&spots[at], actions[at]);
        let is_second = column >= columns.start + (columns.end - columns.start) / 2;
        actions.get(usize::from(is_second && actions.len() > 1)).copied()
    }

    /// The columns of every visible hint, as the status line places them: from both ends, and only whole ones.
    fn hint_spots(&self) -> Vec<(Range<u16>, &'static [Action])> {
        let line = self.layout().status;
        let mut spots = Vec::new();
        let last = line.right().saturating_sub(1);
        let mut start = last;
        for hint in self.right_hints().iter().rev() {
            let end = if start == last { last } else { start.saturating_sub(GAP) };
            if end < line.x + line.width / 2 + hint.width() {
                break;
            }
            start = end - hint.width();
            spots.push((start..end, hint.actions));
        }
        let (mut x, end) = (line.x + 1, start.saturating_sub(GAP));
        for hint in self.left_hints() {
            if x + hint.width() > end {
                break;
            }
            spots.push((x..x + hint.width(), hint.actions));
            x += hint.width() + GAP;
        }
        spots
    }
}

fn left_hints(app: &App) -> Vec<Hint> {
    if let Some(overlay) = app.overlay() {
        if matches!(overlay, Overlay::Search) {
            return app.search_screen.hints();
        }
        if matches!(overlay, Overlay::Compare) && app.compare_screen.sides.is_some() {
            return compare::side_hints(!app.presets.is_empty() || app.tuning.has_changes());
        }
        if matches!(overlay, Overlay::Timeline) {
            return timeline::viewport::hints(&app.timeline_screen);
        }
        return overlay.hints();
    }
    // Without a store there are no panes; the empty state shows the keys instead.
    if app.store.error.is_some() {
        return Vec::new();
    }
    let mut hints = pane_hints(app);
    let back = app.screen_behind().and_then(Overlay::kind).map(jump_hint);
    if let Some(hint) = back {
        hints.insert(1, hint);
    }
    hints
}

fn pane_hints(app: &App) -> Vec<Hint> {
    match app.focus {
        Pane::Sessions => vec![
            MOVE,
            (&[Action::Open], "open"),
            if app.sessions.filter.is_empty() {
                (&[Action::Search], "filter")
            } else {
                (&[Action::Back], "clear filter")
            },
            (&[Action::NextOrder], "sort"),
            (&[Action::ViewMenu], "view"),
            NEXT_PANE,
        ],
        Pane::Transcript => transcript_hints(app),
        Pane::Message if app.zoom => detail_hints(app),
        Pane::Message => vec![
            (&[Action::Down, Action::Up], "scroll"),
            (&[Action::Diff], "diff"),
            (&[Action::Raw], "raw"),
            (&[Action::ViewMenu], "view"),
            (&[Action::Search], "search"),
            (&[Action::Zoom], "full screen"),
            (&[Action::Copy], "copy"),
            NEXT_PANE,
        ],
        Pane::Tuning => vec![
            (&[Action::Less, Action::More], "adjust"),
            (&[Action::PreviousPolicy, Action::NextPolicy], "policy"),
            (&[Action::TogglePolicy], "on/off"),
            (&[Action::Zoom], if app.zoom { "panes" } else { "full screen" }),
            (&[Action::UndoTuning], "undo"),
            (&[Action::Open], "edit"),
            (&[Action::ToDefault], "default"),
            (&[Action::ToConfig], "config"),
            (&[Action::Copy], "copy"),
            (&[Action::Commit], "commit…"),
            NEXT_PANE,
        ],
    }
}

/// Hints of a message on the full screen: next message, views, and the way back, which is never the hint that does not
/// fit.
fn detail_hints(app: &App) -> Vec<Hint> {
    let view =
        app.message_screen().map_or(app.message.view, |screen| screen.layout.options.body_options.view);
    let diff = view == MessageView::Diff;
    let changed = app.message.text.as_ref().is_some_and(|text| text.planned_text.is_some());
    let on = |shown: bool, one, other| if shown { one } else { other };
    let mut hints: Vec<Hint> = if app.preview.plan.is_some() {
        vec![(&[Action::NextChange, Action::PreviousChange], "changed")]
    } else {
        vec![(&[Action::NextMessage, Action::PreviousMessage], "message")]
    };
    if app.message.current_match.is_some() {
        hints.push((&[Action::NextMatch, Action::PreviousMatch], "match"));
    }
    if diff {
        hints.push((&[Action::Fold], on(app.message.unfold, "fold", "unfold")));
    }
    if changed {
        hints.push((&[Action::Diff], on(diff, "text", "diff")));
    }
    hints.push((&[Action::Raw], on(view == MessageView::Raw, "text", "raw")));
    hints.push((&[Action::ViewMenu], "view"));
    hints.push((&[Action::Copy], "copy"));
    let back = if app.size.0 < 100 { 1 } else { hints.len() };
    hints.insert(back, (&[Action::Back], "back"));
    hints
}

fn transcript_hints(app: &App) -> Vec<Hint> {
    let searching = app.transcript.as_ref().is_some_and(|pane| !pane.query.is_empty());
    let mut hints = vec![MOVE];
    let urgent =
        |hint: &Hint| matches!(hint.0, [Action::Repair | Action::Commit | Action::Show(ScreenKind::Explain)]);
    hints.extend(app.likely_actions().into_iter().filter(urgent));
    hints.extend([(&[Action::Open][..], "open"), (&[Action::Fold], "fold")]);
    hints.push(if searching {
        (&[Action::NextMatch, Action::PreviousMatch], "match")
    } else {
        (&[Action::Search], "search")
    });
    if app.preview.plan.is_some() {
        hints.push((&[Action::NextChange, Action::PreviousChange], "change"));
        hints.push((&[Action::TogglePrune], "end preview"));
    } else {
        hints.push((&[Action::TogglePrune], "preview"));
    }
    hints.push(NEXT_PANE);
    hints
}

/// The way back to the screen that a jump left.
fn jump_hint(kind: ScreenKind) -> Hint {
    let words = match kind {
        ScreenKind::Explain => "back to explain",
        ScreenKind::Timeline => "back to the timeline",
        ScreenKind::Breakdown => "back to the window",
        ScreenKind::Problems => "back to the problems",
        ScreenKind::Branches => "back to the branches",
        ScreenKind::Compare => "back to compare",
        ScreenKind::Search => "back to the hits",
        ScreenKind::Record => "back to the record",
        ScreenKind::Help | ScreenKind::Palette => "back",
    };
    (&[Action::JumpBack], words)
}

fn right_hints(app: &App) -> Vec<Hint> {
    match (app.overlay(), &app.input) {
        (Some(Overlay::Timeline), None) if app.size.0 >= 100 => {
            vec![(&[Action::Show(ScreenKind::Explain)], "explain")]
        }
        (Some(_), _) | (_, Some(_)) => Vec::new(),
        _ if app.zoom && app.focus == Pane::Message => {
            vec![(&[Action::Search], "search")]
        }
        _ => vec![(&[Action::Show(ScreenKind::Palette)], "run"), (&[Action::Close], "quit")],
    }
}

/// Formats the keys of related actions, as `j/k` or `←→`.
fn keys_text(app: &App, context: KeyContext, actions: &[Action]) -> Option<String> {
    let keymap = &app.options.keymap;
    let bound: Vec<Vec<String>> = actions.iter().map(|action| keymap.keys_for(context, *action)).collect();
    let holds = |at: usize, name: &str| bound.get(at).is_some_and(|keys| keys.iter().any(|key| key == name));
    if holds(0, "left") && holds(1, "right") {
        return Some("←→".to_owned());
    }
    let both = actions.iter().zip(&bound);
    let first: Option<Vec<&str>> = both.map(|(action, keys)| preferred_key(*action, keys)).collect();
    match (first, actions) {
        (Some(keys), _) => Some(keys.join("/")),
        (None, [action]) => Some(app.key_words(context, *action)),
        (None, _) => None,
    }
}

// The actions that the state of the session suggests: the status line shows the first one, the palette lists all
// before the others.

impl App {
    /// Returns actions with a few words for each, the most likely first.
    pub fn likely_actions(&self) -> Vec<Hint> {
        let mut likely: Vec<Hint> = Vec::new();
        let Some(session) = self.active_session() else {
            return vec![(&[Action::Demo], "demo store"), (&[Action::Reload], "reload")];
        };
        if session.unfinished_commit.is_some() {
            likely.push((&[Action::Repair], "repair"));
        }
        if self.changes_something() {
            likely.push((&[Action::Commit], "commit…"));
        }
        if self.failed_overflow().is_some() {
            likely.push((&[Action::Show(ScreenKind::Explain)], "why"));
        }
        if self.tuning.has_changes() {
            likely.push((&[Action::CopyPatch], "copy patch"));
        }
        if self.failed_overflow().is_some() {
            likely.push((&[Action::NextTarget], "failed call"));
        } else {
            likely.push((&[Action::Show(ScreenKind::Breakdown)], "what fills it"));
        }
        if !self.tuning.preview {
            likely.push((&[Action::TogglePrune], "preview"));
        }
        likely.push((&[Action::Show(ScreenKind::Timeline)], "timeline"));
        likely.push((&[Action::Show(ScreenKind::Compare)], "compare"));
        likely
    }

    /// Whether the plan on the screen changes a message.
    pub fn changes_something(&self) -> bool {
        self.preview.plan.as_ref().is_some_and(|plan| plan.fates().iter().any(|fate| fate.fate.is_change()))
    }
}
