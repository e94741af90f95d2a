//! Where everything stands, from the size alone and before anything is drawn, so that keys, mouse and
//! drawing agree.

use std::ops::Range;

use ratatui::layout::Rect;

use crate::policy::Step;

/// A pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pane {
    /// The sessions of the store.
    Sessions,
    /// The transcript of the open session.
    Transcript,
    /// The message under the cursor.
    Message,
    /// The settings.
    Tuning,
}

impl Pane {
    /// Every pane, in tab order.
    pub const ALL: [Self; 4] = [Self::Sessions, Self::Transcript, Self::Message, Self::Tuning];

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Sessions => "Sessions",
            Self::Transcript => "Transcript",
            Self::Message => "Message",
            Self::Tuning => "Tuning",
        }
    }
}

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breadth {
    /// Less than 60x20: one sentence.
    TooSmall,
    /// 60–79 columns: one pane at a time, with tabs.
    Tabs,
    /// 80–99: the message under the transcript.
    Narrow,
    /// 100–119: three panes, no bars.
    Medium,
    /// 120 and more: everything.
    Wide,
}

/// What is shown, as far as it moves things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Columns and rows of the terminal.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// A plan is shown: two bars, and the tuning pane is open.
    pub plan: bool,
    /// The focused pane.
    pub focus: Pane,
    /// The focused pane takes the whole screen.
    pub zoom: bool,
    /// Rows the tuning pane would like to have for settings.
    pub tuning_rows: u16,
}

/// Rectangles; those of width or height 0 are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// How much room there is.
    pub breadth: Breadth,
    /// Program, store and live state.
    pub header: Rect,
    /// The open session.
    pub session_line: Rect,
    /// One bar, or two while a plan is shown.
    pub bars: Rect,
    /// Names of the thresholds.
    pub scale: Rect,
    /// Names of the parts.
    pub legend: Rect,
    /// The tabs of the narrowest layout.
    pub tabs: Rect,
    /// Sessions, its title line first.
    pub sessions: Rect,
    /// Transcript, its title line first.
    pub transcript: Rect,
    /// Message, its title line first.
    pub message: Rect,
    /// Tuning, its title line first.
    pub tuning: Rect,
    /// The line under its title that says what the plan saves, or would; where there is no room, the title does.
    pub tuning_facts: Rect,
    /// The line above the status line in the narrowest layout: fate of the row, changed setting.
    pub note: Rect,
    /// Keys that work now.
    pub status: Rect,
}

const NONE: Rect = Rect::ZERO;

/// Lays the main screen out.
pub fn layout(shape: &Shape) -> Layout {
    let breadth = breadth(shape.width, shape.height);
    let mut rows = Rows { width: shape.width, next: 0, end: shape.height };
    let mut layout = Layout {
        breadth,
        header: NONE,
        session_line: NONE,
        bars: NONE,
        scale: NONE,
        legend: NONE,
        tabs: NONE,
        sessions: NONE,
        transcript: NONE,
        message: NONE,
        tuning: NONE,
        tuning_facts: NONE,
        note: NONE,
        status: NONE,
    };
    if breadth == Breadth::TooSmall {
        return layout;
    }
    layout.header = rows.take(1);
    layout.status = rows.take_last(1);
    if shape.zoom {
        if shape.focus == Pane::Message && shape.height >= 30 {
            rows.take(1);
        }
        let whole = rows.rest();
        *layout.pane_mut(shape.focus) = whole;
        facts(&mut layout, shape);
        return layout;
    }
    top(&mut layout, &mut rows, shape);
    match breadth {
        Breadth::Tabs => {
            layout.note = rows.take_last(1);
            // The tabs are the title line of the pane that is shown.
            let whole = rows.rest();
            layout.tabs = Rect { height: whole.height.min(1), ..whole };
            *layout.pane_mut(shape.focus) = whole;
            facts(&mut layout, shape);
        }
        _ => panes(&mut layout, &mut rows, shape),
    }
    layout
}

fn breadth(width: u16, height: u16) -> Breadth {
    match width {
        _ if width < 60 || height < 20 => Breadth::TooSmall,
        60..80 => Breadth::Tabs,
        80..100 => Breadth::Narrow,
        100..120 => Breadth::Medium,
        _ => Breadth::Wide,
    }
}

/// Header lines, bars, scale and legend. Under 30 rows the legend and the blank rows go first.
fn top(layout: &mut Layout, rows: &mut Rows, shape: &Shape) {
    let roomy = shape.height >= 30 && layout.breadth >= Breadth::Medium;
    if layout.breadth >= Breadth::Medium {
        layout.session_line = rows.take(1);
    }
    if roomy {
        rows.take(1);
    }
    layout.bars = rows.take(if shape.plan { 2 } else { 1 });
    layout.scale = rows.take(1);
    if roomy {
        layout.legend = rows.take(1);
        rows.take(1);
    }
}

fn panes(layout: &mut Layout, rows: &mut Rows, shape: &Shape) {
    layout.tuning = rows.take_last(tuning_height(layout.breadth, shape));
    facts(layout, shape);
    let middle = rows.rest();
    let (sessions, message) = match layout.breadth {
        Breadth::Wide => (26, 38 + shape.width.saturating_sub(160) * 2 / 5),
        Breadth::Medium => (20, 34),
        _ => (19, 0),
    };
    let transcript = middle.width - sessions - message;
    let column = |x: u16, width: u16| Rect { x: middle.x + x, width, ..middle };
    layout.sessions = column(0, sessions);
    layout.transcript = column(sessions, transcript);
    layout.message = column(sessions + transcript, message);
    if layout.breadth == Breadth::Narrow {
        let under = 5.min(middle.height / 3);
        layout.message = Rect { y: middle.bottom() - under, height: under, ..layout.transcript };
        layout.transcript.height -= under;
    }
}

/// The line of facts under the title of the tuning pane, where there is room for one; among tabs it is the only line
/// that can name the steps.
fn facts(layout: &mut Layout, shape: &Shape) {
    let roomy = shape.height >= 30 && layout.breadth >= Breadth::Medium;
    if (roomy || layout.breadth == Breadth::Tabs) && layout.tuning.height >= 2 {
        layout.tuning_facts = Rect { y: layout.tuning.y + 1, height: 1, ..layout.tuning };
    }
}

/// The tuning pane: its line, and a row that says what would be saved; under a plan its sliders.
fn tuning_height(breadth: Breadth, shape: &Shape) -> u16 {
    let open = shape.plan || shape.focus == Pane::Tuning;
    match breadth {
        _ if !open => 2,
        Breadth::Narrow => 3,
        _ if shape.height < 30 => 3,
        _ => (shape.tuning_rows + 2).min(shape.height / 4 + 1),
    }
}

impl Layout {
    /// The rectangle of a pane.
    pub fn pane(&self, pane: Pane) -> Rect {
        match pane {
            Pane::Sessions => self.sessions,
            Pane::Transcript => self.transcript,
            Pane::Message => self.message,
            Pane::Tuning => self.tuning,
        }
    }

    fn pane_mut(&mut self, pane: Pane) -> &mut Rect {
        match pane {
            Pane::Sessions => &mut self.sessions,
            Pane::Transcript => &mut self.transcript,
            Pane::Message => &mut self.message,
            Pane::Tuning => &mut self.tuning,
        }
    }

    /// Lines of a pane above its rows: its title, of the sessions the filter too, of tuning the facts.
    pub fn head(&self, pane: Pane) -> u16 {
        match pane {
            Pane::Sessions => 2,
            Pane::Tuning => 1 + self.tuning_facts.height,
            Pane::Transcript | Pane::Message => 1,
        }
    }

    /// Rows of a pane below its head.
    pub fn rows(&self, pane: Pane) -> usize {
        usize::from(self.pane(pane).height.saturating_sub(self.head(pane)))
    }

    /// Everything above the status line.
    pub fn above_status(&self, size: (u16, u16)) -> Rect {
        Rect { x: 0, y: 0, width: size.0, height: size.1.saturating_sub(self.status.height) }
    }

    /// Everything between the budget bar and the status line: where a screen stands that the bar is to agree with.
    pub fn under_bar(&self, size: (u16, u16)) -> Rect {
        let panes = [self.tabs, self.sessions];
        let under = panes.into_iter().find(|area| !area.is_empty()).map(|area| area.y);
        let y = under.unwrap_or(self.header.bottom());
        Rect { x: 0, y, width: size.0, height: self.status.y.saturating_sub(y) }
    }

    /// The same with the tuning pane in another place, without its line of facts.
    #[must_use]
    pub fn with_tuning(self, tuning: Rect) -> Self {
        Self { tuning, tuning_facts: NONE, tabs: NONE, ..self }
    }

    /// Columns of a slider's track in the tuning pane.
    pub fn slider_track(&self) -> std::ops::Range<u16> {
        let (start, end) = match self.breadth {
            Breadth::Wide => (35, 79 + self.tuning.width.saturating_sub(130) / 2),
            Breadth::Medium => (33, 65),
            _ => (24, self.tuning.width.saturating_sub(18)),
        };
        self.tuning.x + start..self.tuning.x + end.max(start + 4)
    }

    /// The line that names the steps: the title of the tuning pane, or the one under the tabs.
    pub fn steps_line(&self) -> Rect {
        if self.tabs.is_empty() {
            Rect { height: self.tuning.height.min(1), ..self.tuning }
        } else {
            self.tuning_facts
        }
    }

    /// Where the steps stand on their line: all of them where they fit, else the focused one.
    pub fn step_spots(&self, shown: &[Step], focused: Step) -> Vec<(Step, Range<u16>)> {
        step_spots(self.steps_line(), if self.tabs.is_empty() { STEPS_FROM } else { 1 }, shown, focused)
    }

    /// The pane at a place, and the row below its title line.
    pub fn hit(&self, column: u16, row: u16) -> Option<(Pane, u16)> {
        let at = ratatui::layout::Position { x: column, y: row };
        let pane = Pane::ALL.into_iter().find(|pane| self.pane(*pane).contains(at))?;
        Some((pane, row - self.pane(pane).y))
    }
}

/// Columns before the first step on the title line of the tuning pane, blanks between two, and those of a sign with
/// the blank before it.
const STEPS_FROM: u16 = 11;
const STEPS_GAP: u16 = 2;
const SIGN: u16 = 2;

fn step_spots(area: Rect, from: u16, shown: &[Step], focused: Step) -> Vec<(Step, Range<u16>)> {
    let place = |steps: &[Step]| {
        let mut x = area.x + from;
        let mut spots = Vec::new();
        for step in steps {
            let end = x + step.word().len() as u16 + SIGN;
            spots.push((*step, x..end));
            x = end + STEPS_GAP;
        }
        spots
    };
    let all = place(shown);
    let fits = all.last().is_some_and(|(_, columns)| columns.end < area.right());
    if fits { all } else { place(&[focused]) }
}

/// Hands rows out from both ends.
struct Rows {
    width: u16,
    next: u16,
    end: u16,
}

impl Rows {
    fn take(&mut self, height: u16) -> Rect {
        let height = height.min(self.end - self.next);
        let rect = Rect { x: 0, y: self.next, width: self.width, height };
        self.next += height;
        rect
    }

    fn take_last(&mut self, height: u16) -> Rect {
        let height = height.min(self.end - self.next);
        self.end -= height;
        Rect { x: 0, y: self.end, width: self.width, height }
    }

    fn rest(&mut self) -> Rect {
        self.take(self.end - self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(width: u16, height: u16) -> Shape {
        Shape { width, height, plan: true, focus: Pane::Transcript, zoom: false, tuning_rows: 7 }
    }

    #[test]
    fn at_130_columns_three_panes_stand_side_by_side() {
        let layout = layout(&shape(130, 36));
        assert_eq!((layout.sessions.width, layout.transcript.width, layout.message.width), (26, 66, 38));
        assert_eq!((layout.tuning.height, layout.rows(Pane::Tuning)), (9, 7));
    }

    #[test]
    fn at_80_columns_the_message_folds_under_the_transcript() {
        let layout = layout(&shape(80, 24));
        assert_eq!(layout.message.y, layout.transcript.bottom());
        assert_eq!(layout.message.width, layout.transcript.width);
    }

    #[test]
    fn at_60_columns_there_is_one_pane() {
        let layout = layout(&shape(60, 20));
        assert!(layout.transcript.height > 0);
        assert_eq!(layout.sessions, NONE);
        assert_eq!(layout.tabs.height, 1);
    }

    #[test]
    fn the_title_names_every_step_where_they_fit_and_else_the_focused_one() {
        let shown = Step::shown(crate::gateway::ruleset::Ruleset::default().rules());
        let words = |width| -> Vec<Step> {
            let area = Rect { x: 0, y: 0, width, height: 1 };
            step_spots(area, STEPS_FROM, &shown, Step::Guard).into_iter().map(|(step, _)| step).collect()
        };
        assert_eq!(words(100), shown);
        assert_eq!(words(80), [Step::Guard]);
    }

    #[test]
    fn no_size_panics_or_leaves_the_screen() {
        for width in 0..200 {
            for height in 0..60 {
                for (plan, zoom) in [(true, false), (false, false), (true, true)] {
                    let layout = layout(&Shape { plan, zoom, ..shape(width, height) });
                    for pane in Pane::ALL {
                        let rect = layout.pane(pane);
                        assert!(
                            rect.right() <= width && rect.bottom() <= height,
                            "{width}x{height} {pane:?}"
                        );
                    }
                }
            }
        }
    }
}
