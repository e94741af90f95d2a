//! Every rectangle of the main screen and of the comparison at the sizes where the layout changes.

use std::fmt::Write as _;

use ratatui::layout::Rect;

use crate::app::layout::{Layout, LayoutInput, Pane, PaneSizes, layout};
use crate::app::screens::compare::layout::layout_compare;
use crate::policy::Policy;

fn rect(area: Rect) -> String {
    format!("{},{} {}x{}", area.x, area.y, area.width, area.height)
}

fn shape(width: u16, height: u16) -> LayoutInput<'static> {
    LayoutInput {
        width,
        height,
        has_plan: false,
        focus: Pane::Transcript,
        zoom: false,
        tuning_rows: 7,
        policies: &Policy::ALL,
        resized: PaneSizes::default(),
    }
}

/// The rectangles with room, and values derived from them.
fn described(shape: &LayoutInput<'_>) -> String {
    let it = layout(shape);
    let Layout {
        width_class,
        header,
        session_line,
        bars,
        scale,
        legend,
        tabs,
        tuning_facts,
        policy_list,
        note,
        status,
        ..
    } = it;
    let [sessions, transcript, message, tuning] = Pane::ALL.map(|pane| it.pane(pane));
    let parts = [
        ("header", header),
        ("line", session_line),
        ("bars", bars),
        ("scale", scale),
        ("legend", legend),
        ("tabs", tabs),
        ("sessions", sessions),
        ("transcript", transcript),
        ("message", message),
        ("tuning", tuning),
        ("facts", tuning_facts),
        ("list", policy_list),
        ("note", note),
        ("status", status),
        ("above", it.above_status((shape.width, shape.height))),
        ("below", it.below_bars((shape.width, shape.height))),
        ("policies", it.policies_line()),
    ];
    let shown = parts.iter().filter(|(_, area)| !area.is_empty());
    let parts: Vec<String> = shown.map(|(name, area)| format!("{name} {}", rect(*area))).collect();
    let rows = Pane::ALL.map(|pane| (it.header_rows(pane), it.rows(pane)));
    let policies = it.policy_spots(&[Policy::Prune, Policy::Guard], Policy::Guard);
    let policies: Vec<_> =
        policies.iter().map(|(policy, columns)| format!("{} {columns:?}", policy.word())).collect();
    format!(
        "{width_class:?}; {}; rows {rows:?}; track {:?}; {policies:?}",
        parts.join("; "),
        it.slider_track()
    )
}

#[test]
fn every_part_of_the_main_screen_has_its_place_at_every_width() {
    let sizes = [
        (59, 30),
        (60, 19),
        (60, 20),
        (79, 40),
        (80, 24),
        (99, 30),
        (100, 29),
        (100, 30),
        (119, 30),
        (120, 30),
        (130, 36),
        (131, 36),
        (160, 50),
        (166, 50),
        (240, 60),
    ];
    let mut text = String::new();
    for (width, height) in sizes {
        let plain = shape(width, height);
        let tuned = LayoutInput { has_plan: true, ..plain };
        let focused = LayoutInput { focus: Pane::Tuning, tuning_rows: 2, ..plain };
        let zoomed = LayoutInput { zoom: true, focus: Pane::Message, ..plain };
        let larger = LayoutInput { resized: PaneSizes { sessions: 3, message: -4, tuning: 2 }, ..tuned };
        let smaller = LayoutInput { resized: PaneSizes { sessions: -99, message: 99, tuning: -99 }, ..tuned };
        let zoomed_tuning = LayoutInput { zoom: true, ..focused };
        for shape in [plain, tuned, focused, zoomed, zoomed_tuning, larger, smaller] {
            let _ = writeln!(text, "{width}x{height} {}", described(&shape));
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_position_belongs_to_a_pane_and_perhaps_to_a_border() {
    let mut text = String::new();
    for (width, height) in [(60, 20), (80, 24), (130, 36)] {
        let it = layout(&LayoutInput { has_plan: true, ..shape(width, height) });
        let edges = |starts: [u16; 3], end: u16| {
            starts
                .into_iter()
                .flat_map(|at| [at.saturating_sub(1), at, at + 1])
                .chain([end - 1, end])
                .collect::<Vec<_>>()
        };
        for column in edges([it.sessions.x, it.transcript.x, it.message.x], width) {
            for row in edges([it.sessions.y, it.message.y, it.tuning.y], height) {
                let _ = writeln!(
                    text,
                    "{width}x{height} {column},{row} {:?} {:?}",
                    it.hit(column, row),
                    it.border_at(column, row)
                );
            }
        }
        let facts = it.with_tuning(Rect { x: 1, y: 2, width: 90, height: 5 });
        let _ = writeln!(text, "{} {:?}", rect(facts.tuning), facts.slider_track());
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_comparison_gives_each_part_its_rows() {
    let mut text = String::new();
    for (width, height) in
        [(60, 3), (60, 18), (80, 22), (80, 25), (109, 26), (110, 25), (110, 26), (130, 34), (200, 60)]
    {
        for (rows, columns) in [(1, 1), (3, 5), (9, 12)] {
            let places = layout_compare(Rect { x: 0, y: 1, width, height }, rows, columns, 6);
            let parts = [places.header, places.map, places.list, places.scatter, places.footer].map(rect);
            let _ = writeln!(text, "{width}x{height} {rows}x{columns} {}", parts.join("; "));
        }
    }
    insta::assert_snapshot!(text);
}
