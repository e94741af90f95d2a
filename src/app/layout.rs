//! The main screen's rectangles, computed from its size and state before anything is drawn, so that keys, mouse and
//! drawing agree.

use std::ops::Range;

use ratatui::layout::Rect;

use crate::policy::Policy;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pane {
    /// The sessions of the store.
    Sessions,
    /// The transcript of the open session.
    Transcript,
    /// The message under the cursor.
    Message,
    /// The settings of the policies.
    Tuning,
}

impl Pane {
    /// Every pane, in tab order.
    pub const ALL: [Self; 4] = [Self::Sessions, Self::Transcript, Self::Message, Self::Tuning];

    pub fn title(self) -> &'static str {
        match self {
            Self::Sessions => "Sessions",
            Self::Transcript => "Transcript",
            Self::Message => "Message",
            Self::Tuning => "Tuning",
        }
    }
}

/// The layout class of a terminal size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WidthClass {
    /// Less than 60x20: one sentence.
    TooSmall,
    /// 60–79 columns: one pane at a time, with tabs.
    Tabs,
    /// 80–99 columns: the message is below the transcript.
    Narrow,
    /// 100–119 columns: three panes without bars in their rows.
    Medium,
    /// 120 columns and more: everything.
    Wide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayoutInput<'a> {
    /// In columns.
    pub width: u16,
    /// In rows.
    pub height: u16,
    /// Whether a plan is shown: it takes a second bar and opens the tuning pane.
    pub has_plan: bool,
    pub focus: Pane,
    /// Whether the focused pane takes the whole screen.
    pub zoom: bool,
    /// Rows that the settings of the tuning pane would fill.
    pub tuning_rows: u16,
    /// The policies that the tuning pane lists at full height.
    pub policies: &'a [Policy],
    pub resized: PaneSizes,
}

/// Columns and rows that a person added to panes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PaneSizes {
    pub sessions: i16,
    pub message: i16,
    /// In rows.
    pub tuning: i16,
}

/// A line between two panes that can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Border {
    /// Right of the sessions.
    Sessions,
    /// Left of the message.
    Message,
    /// Above the tuning pane.
    Tuning,
}

/// Rows from which the tuning pane at full height leaves the bars visible.
const TALL: u16 = 44;
/// The fewest columns of a pane next to others, and of the transcript.
const MIN_PANE: u16 = 12;
const MIN_TRANSCRIPT: u16 = 36;

/// The rectangles of the main screen; those of width or height 0 are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub width_class: WidthClass,
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
    /// The tabs of [`WidthClass::Tabs`].
    pub tabs: Rect,
    /// Its first line is the title.
    pub sessions: Rect,
    /// Its first line is the title.
    pub transcript: Rect,
    /// Its first line is the title.
    pub message: Rect,
    /// Its first line is the title.
    pub tuning: Rect,
    /// The savings of the plan, below the title of the tuning pane; without room for it, the title shows them.
    pub tuning_facts: Rect,
    /// Every policy with its effect, above the settings of the tuning pane at full height.
    pub policy_list: Rect,
    /// Rows below the settings for the details of the focused policy.
    pub policy_rows: u16,
    /// Fate of the row and changed setting, above the status line of [`WidthClass::Tabs`].
    pub note: Rect,
    /// The keys that work now.
    pub status: Rect,
}

const EMPTY: Rect = Rect::ZERO;

/// Lays out the main screen.
pub fn layout(shape: &LayoutInput<'_>) -> Layout {
    let breadth = width_class(shape.width, shape.height);
    let mut rows = RowAllocator { width: shape.width, next: 0, end: shape.height };
    let mut layout = Layout {
        width_class: breadth,
        header: EMPTY,
        session_line: EMPTY,
        bars: EMPTY,
        scale: EMPTY,
        legend: EMPTY,
        tabs: EMPTY,
        sessions: EMPTY,
        transcript: EMPTY,
        message: EMPTY,
        tuning: EMPTY,
        tuning_facts: EMPTY,
        policy_list: EMPTY,
        policy_rows: 0,
        note: EMPTY,
        status: EMPTY,
    };
    if breadth == WidthClass::TooSmall {
        return layout;
    }
    layout.header = rows.take(1);
    layout.status = rows.take_last(1);
    if shape.zoom {
        if shape.focus == Pane::Message && shape.height >= 30 {
            rows.take(1);
        }
        if shape.focus == Pane::Tuning && shape.height >= TALL {
            place_header(&mut layout, &mut rows, shape);
        }
        let whole = rows.rest();
        *layout.pane_mut(shape.focus) = whole;
        place_tuning_facts(&mut layout, shape);
        place_policies(&mut layout, shape);
        return layout;
    }
    place_header(&mut layout, &mut rows, shape);
    match breadth {
        WidthClass::Tabs => {
            layout.note = rows.take_last(1);
            // The tabs replace the title line of the shown pane.
            let whole = rows.rest();
            layout.tabs = Rect { height: whole.height.min(1), ..whole };
            *layout.pane_mut(shape.focus) = whole;
            place_tuning_facts(&mut layout, shape);
        }
        _ => place_panes(&mut layout, &mut rows, shape),
    }
    layout
}

fn width_class(width: u16, height: u16) -> WidthClass {
    match width {
        _ if width < 60 || height < 20 => WidthClass::TooSmall,
        60..80 => WidthClass::Tabs,
        80..100 => WidthClass::Narrow,
        100..120 => WidthClass::Medium,
        _ => WidthClass::Wide,
    }
}

/// Places session line, bars, scale and legend. Below 30 rows the legend and the blank rows are dropped first.
fn place_header(layout: &mut Layout, rows: &mut RowAllocator, shape: &LayoutInput<'_>) {
    let roomy = shape.height >= 30 && layout.width_class >= WidthClass::Medium;
    if layout.width_class >= WidthClass::Medium {
        layout.session_line = rows.take(1);
    }
    if roomy {
        rows.take(1);
    }
    layout.bars = rows.take(if shape.has_plan { 2 } else { 1 });
    layout.scale = rows.take(1);
    if roomy {
        layout.legend = rows.take(1);
        rows.take(1);
    }
}

fn place_panes(layout: &mut Layout, rows: &mut RowAllocator, shape: &LayoutInput<'_>) {
    layout.tuning = rows.take_last(tuning_height(layout.width_class, shape));
    place_tuning_facts(layout, shape);
    let middle = rows.rest();
    let (sessions, message) = match layout.width_class {
        WidthClass::Wide => {
            (26 + (shape.width.saturating_sub(130) / 5).min(18), 38 + shape.width.saturating_sub(160) * 2 / 5)
        }
        WidthClass::Medium => (20, 34),
        _ => (19, 0),
    };
    let room = middle.width.saturating_sub(MIN_TRANSCRIPT);
    let sessions = added(sessions, shape.resized.sessions, room.saturating_sub(message));
    let message =
        if message == 0 { 0 } else { added(message, shape.resized.message, room.saturating_sub(sessions)) };
    let transcript = middle.width - sessions - message;
    let column = |x: u16, width: u16| Rect { x: middle.x + x, width, ..middle };
    layout.sessions = column(0, sessions);
    layout.transcript = column(sessions, transcript);
    layout.message = column(sessions + transcript, message);
    if layout.width_class == WidthClass::Narrow {
        let under = 5.min(middle.height / 3);
        layout.message = Rect { y: middle.bottom() - under, height: under, ..layout.transcript };
        layout.transcript.height -= under;
    }
}

/// Returns a size with a person's adjustment, between the minimum and `most`.
fn added(size: u16, by: i16, most: u16) -> u16 {
    if by == 0 { size } else { size.saturating_add_signed(by).clamp(MIN_PANE.min(most), most) }
}

/// Places the facts below the title of the tuning pane, if there is room. Among tabs it is the only line that can
/// name the policies.
fn place_tuning_facts(layout: &mut Layout, shape: &LayoutInput<'_>) {
    let roomy = shape.height >= 30 && layout.width_class >= WidthClass::Medium;
    if (roomy || shape.zoom || layout.width_class == WidthClass::Tabs) && layout.tuning.height >= 2 {
        layout.tuning_facts = Rect { y: layout.tuning.y + 1, height: 1, ..layout.tuning };
    }
}

/// Places the list of policies in the tuning pane at full height, with their phases where the settings keep room, and
/// the details of the focused policy.
fn place_policies(layout: &mut Layout, shape: &LayoutInput<'_>) {
    let top = layout.tuning_facts.bottom().max(layout.tuning.y + 1);
    let room = layout.tuning.bottom().saturating_sub(top);
    if layout.tuning.is_empty() || room == 0 {
        return;
    }
    let policies = shape.policies.len() as u16 + 1;
    // With the phases comes a hairline.
    let phases = shape.policies.chunk_by(|one, next| one.phase() == next.phase()).count() as u16 + 1;
    let has_phases = room >= policies + phases + shape.tuning_rows;
    let height = if has_phases { policies + phases } else { policies }.min(room);
    layout.policy_list = Rect { y: top, height, ..layout.tuning };
    let left = room - height;
    layout.policy_rows = left.saturating_sub(shape.tuning_rows).max(left / 3);
}

/// Returns the rows of the tuning pane: its title and the savings; with a plan or the focus, its sliders too.
fn tuning_height(breadth: WidthClass, shape: &LayoutInput<'_>) -> u16 {
    let open = shape.has_plan || shape.focus == Pane::Tuning;
    let rows = default_tuning_height(breadth, shape, open);
    let by = if open { shape.resized.tuning } else { 0 };
    if by == 0 { rows } else { rows.saturating_add_signed(by).clamp(2, (shape.height / 2).max(2)) }
}

fn default_tuning_height(breadth: WidthClass, shape: &LayoutInput<'_>, open: bool) -> u16 {
    match breadth {
        _ if !open => 2,
        WidthClass::Narrow => 3,
        _ if shape.height < 30 => 3,
        _ => (shape.tuning_rows + 2).min(shape.height / 4 + 1),
    }
}

impl Layout {
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

    /// Returns the lines of a pane above its rows: the title, the filter of the sessions, the facts of tuning.
    pub fn header_rows(&self, pane: Pane) -> u16 {
        match pane {
            Pane::Sessions => 2,
            Pane::Tuning => 1 + self.tuning_facts.height + self.policy_list.height,
            Pane::Transcript | Pane::Message => 1,
        }
    }

    /// Rows of a pane below its header.
    pub fn rows(&self, pane: Pane) -> usize {
        let details = if pane == Pane::Tuning { self.policy_rows } else { 0 };
        usize::from(self.pane(pane).height.saturating_sub(self.header_rows(pane) + details))
    }

    /// Everything above the status line.
    pub fn above_status(&self, size: (u16, u16)) -> Rect {
        Rect { x: 0, y: 0, width: size.0, height: size.1.saturating_sub(self.status.height) }
    }

    /// Everything between the budget bar and the status line, for screens that change the bar.
    pub fn below_bars(&self, size: (u16, u16)) -> Rect {
        let panes = [self.tabs, self.sessions];
        let under = panes.into_iter().find(|area| !area.is_empty()).map(|area| area.y);
        let y = under.unwrap_or(self.header.bottom());
        Rect { x: 0, y, width: size.0, height: self.status.y.saturating_sub(y) }
    }

    /// Returns the layout with the tuning pane elsewhere and without its facts.
    #[must_use]
    pub fn with_tuning(self, tuning: Rect) -> Self {
        Self { tuning, tuning_facts: EMPTY, policy_list: EMPTY, policy_rows: 0, tabs: EMPTY, ..self }
    }

    /// Columns of a slider's track in the tuning pane.
    pub fn slider_track(&self) -> std::ops::Range<u16> {
        let (start, end) = match self.width_class {
            WidthClass::Wide => (35, 79 + self.tuning.width.saturating_sub(130) / 2),
            WidthClass::Medium => (33, 65),
            _ => (24, self.tuning.width.saturating_sub(18)),
        };
        self.tuning.x + start..self.tuning.x + end.max(start + 4)
    }

    /// The line that names the policies: the title of the tuning pane, or the line under the tabs.
    pub fn policies_line(&self) -> Rect {
        if self.tabs.is_empty() {
            Rect { height: self.tuning.height.min(1), ..self.tuning }
        } else {
            self.tuning_facts
        }
    }

    /// Returns the columns of each policy on their line: all policies if they fit, otherwise only the focused one.
    pub fn policy_spots(&self, shown: &[Policy], focused: Policy) -> Vec<(Policy, Range<u16>)> {
        policy_spots(
            self.policies_line(),
            if self.tabs.is_empty() { POLICIES_START } else { 1 },
            shown,
            focused,
        )
    }

    /// Returns the border at a position.
    pub fn border_at(&self, column: u16, row: u16) -> Option<Border> {
        let beside =
            |area: Rect| !area.is_empty() && column == area.x && (area.top()..area.bottom()).contains(&row);
        match self.width_class {
            WidthClass::TooSmall | WidthClass::Tabs => None,
            _ if self.sessions.is_empty() => None,
            _ if row == self.tuning.y => Some(Border::Tuning),
            WidthClass::Narrow if beside(self.message) => Some(Border::Sessions),
            _ if beside(self.transcript) => Some(Border::Sessions),
            _ if beside(self.message) => Some(Border::Message),
            _ => None,
        }
    }

    /// Returns the pane at a position, and the row counted from its title line.
    pub fn hit(&self, column: u16, row: u16) -> Option<(Pane, u16)> {
        let at = ratatui::layout::Position { x: column, y: row };
        let pane = Pane::ALL.into_iter().find(|pane| self.pane(*pane).contains(at))?;
        Some((pane, row - self.pane(pane).y))
    }
}

/// Columns before the first policy in the title of the tuning pane, between two policies, and of a sign with its
/// blank.
const POLICIES_START: u16 = 11;
const POLICIES_GAP: u16 = 2;
const SIGN_COLUMNS: u16 = 2;

fn policy_spots(area: Rect, from: u16, shown: &[Policy], focused: Policy) -> Vec<(Policy, Range<u16>)> {
    let place = |steps: &[Policy]| {
        let mut x = area.x + from;
        let mut spots = Vec::new();
        for step in steps {
            let end = x + step.word().len() as u16 + SIGN_COLUMNS;
            spots.push((*step, x..end));
            x = end + POLICIES_GAP;
        }
        spots
    };
    let all = place(shown);
    let fits = all.last().is_some_and(|(_, columns)| columns.end < area.right());
    if fits { all } else { place(&[focused]) }
}

/// Hands out rows from both ends.
struct RowAllocator {
    width: u16,
    next: u16,
    end: u16,
}

impl RowAllocator {
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

    fn shape(width: u16, height: u16) -> LayoutInput<'static> {
        LayoutInput {
            width,
            height,
            has_plan: true,
            focus: Pane::Transcript,
            zoom: false,
            tuning_rows: 7,
            policies: &Policy::ALL,
            resized: PaneSizes::default(),
        }
    }

    #[test]
    fn at_130_columns_three_panes_are_side_by_side() {
        let layout = layout(&shape(130, 36));
        assert_eq!((layout.sessions.width, layout.transcript.width, layout.message.width), (26, 66, 38));
        assert_eq!((layout.tuning.height, layout.rows(Pane::Tuning)), (9, 7));
    }

    #[test]
    fn a_wide_screen_gives_sessions_and_message_their_share_of_the_columns() {
        let columns = |width: u16| {
            let layout = layout(&shape(width, 36));
            (layout.sessions.width, layout.transcript.width, layout.message.width)
        };
        assert_eq!(columns(160), (32, 90, 38));
        assert_eq!(columns(165), (33, 92, 40));
        assert_eq!(columns(230), (44, 120, 66), "a list of sessions needs no more than 44");
        assert_eq!(columns(110), (20, 56, 34));
    }

    #[test]
    fn below_thirty_rows_legend_and_sliders_make_room_for_the_transcript() {
        let rows = |width: u16, height: u16| {
            let layout = layout(&shape(width, height));
            (layout.session_line.height, layout.legend.height, layout.tuning.height)
        };
        assert_eq!(rows(130, 30), (1, 1, 8));
        assert_eq!(rows(130, 29), (1, 0, 3));
        assert_eq!(rows(100, 30), (1, 1, 8));
        assert_eq!(rows(99, 40), (0, 0, 3), "a narrow screen has none of them, however high it is");
        let closed = LayoutInput { has_plan: false, ..shape(130, 40) };
        assert_eq!(layout(&closed).tuning.height, 2);
    }

    #[test]
    fn at_80_columns_the_message_folds_under_the_transcript() {
        let layout = layout(&shape(80, 24));
        assert_eq!(layout.message.y, layout.transcript.bottom());
        assert_eq!(layout.message.width, layout.transcript.width);
    }

    #[test]
    fn one_pane_is_visible_at_60_columns() {
        let layout = layout(&shape(60, 20));
        assert!(layout.transcript.height > 0);
        assert_eq!(layout.sessions, EMPTY);
        assert_eq!(layout.tabs.height, 1);
    }

    #[test]
    fn the_title_names_every_policy_if_they_fit_and_otherwise_the_focused_one() {
        let shown = Policy::visible_for(crate::gateway::ruleset::Ruleset::default().rules());
        let words = |width| -> Vec<Policy> {
            let area = Rect { x: 0, y: 0, width, height: 1 };
            policy_spots(area, POLICIES_START, &shown, Policy::Guard)
                .into_iter()
                .map(|(step, _)| step)
                .collect()
        };
        assert_eq!(words(100), shown);
        assert_eq!(words(80), [Policy::Guard]);
    }

    #[test]
    fn a_moved_border_leaves_room_for_every_pane() {
        for (width, height) in [(80, 24), (100, 30), (140, 40), (250, 60)] {
            for by in [-500, -3, 3, 500] {
                let resized = PaneSizes { sessions: by, message: by, tuning: by };
                let layout = layout(&LayoutInput { resized, ..shape(width, height) });
                let [sessions, transcript, message, tuning] = Pane::ALL.map(|pane| layout.pane(pane));
                assert!(sessions.width >= MIN_PANE && transcript.width >= MIN_TRANSCRIPT, "{width} {by}");
                assert!(message.width >= MIN_PANE && message.right() <= width, "{width} {by}");
                assert!(tuning.height >= 2 && transcript.height >= 4, "{height} {by}");
            }
        }
    }

    #[test]
    fn no_size_panics_or_draws_outside_the_screen() {
        for width in 0..200 {
            for height in 0..60 {
                for (plan, zoom) in [(true, false), (false, false), (true, true)] {
                    let layout = layout(&LayoutInput { has_plan: plan, zoom, ..shape(width, height) });
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
