//! Every screen, cell by cell, without a terminal: texts as snapshots, and styles where colour carries meaning.

use std::fmt::Write as _;
use std::sync::OnceLock;

use clawscope::app::App;
use clawscope::app::event::Event;
use clawscope::app::legend::legend;
use clawscope::policy::Policy;
use clawscope::store::demo::NOW_MS;
use clawscope::ui;
use clawscope::ui::theme::{ColourDepth, Theme};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use crate::support::driver::{self, Driver};
use crate::support::screens::{
    self, STATES, at_rest, comparing_typed, estimating, opened, preview, settled, stepping, taken_apart,
    timing_tuned,
};

/// The sizes at which screens are checked.
const SIZES: [(u16, u16); 4] = [(130, 36), (120, 40), (80, 24), (60, 20)];

pub(crate) fn dark() -> Theme {
    Theme::load("dark", ColourDepth::True).expect("a theme")
}

pub(crate) fn drawn(app: &App, theme: &Theme) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, app.size.0, app.size.1));
    ui::render(app, theme, &mut buf);
    buf
}

/// The symbols, row by row. The second cell of a wide character is skipped.
pub(crate) fn text_of(buf: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buf.area.height {
        let mut skip = 0;
        let mut line = String::new();
        for x in 0..buf.area.width {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let symbol = buf[(x, y)].symbol();
            line.push_str(symbol);
            skip = clawscope::text::width(symbol).saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Runs of one style: first column, text colour, background, modifiers.
fn styles_of(buf: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buf.area.height {
        write!(out, "{y:>2}").expect("a string");
        let mut last = None;
        for x in 0..buf.area.width {
            let cell = &buf[(x, y)];
            let style = (cell.fg, cell.bg, cell.modifier);
            if last != Some(style) {
                write!(out, " {x}:{}", style_text(style)).expect("a string");
                last = Some(style);
            }
        }
        out.push('\n');
    }
    out
}

fn style_text((fg, bg, modifier): (Color, Color, Modifier)) -> String {
    let colour = |colour: Color| match colour {
        Color::Reset => "-".to_owned(),
        Color::Rgb(red, green, blue) => format!("{red:02x}{green:02x}{blue:02x}"),
        Color::Indexed(index) => format!("{index}"),
        other => format!("{other:?}"),
    };
    let marks =
        [(Modifier::BOLD, 'b'), (Modifier::DIM, 'd'), (Modifier::UNDERLINED, 'u'), (Modifier::REVERSED, 'r')];
    let marks: String =
        marks.iter().filter(|(mark, _)| modifier.contains(*mark)).map(|(_, sign)| sign).collect();
    format!("{}/{}{}{marks}", colour(fg), colour(bg), if marks.is_empty() { "" } else { "+" })
}

fn snapshot_text(name: &str, make: fn(u16, u16) -> Driver) {
    let (width, height) = SIZES[0];
    let mut driver = make(width, height);
    // New entries get new ids, and two screens show only those.
    let ids = match name {
        "commits" | "branches" => vec![("old leaf [0-9a-f]{1,8}", "old leaf [id]"), ("[0-9a-f]{8}", "[id]")],
        "session record" | "ways out" | "drop" | "switch" => vec![(r"/\S*/\.tmp\w{1,6}", "[store]")],
        _ => vec![("(after|old branch) [0-9a-f]{8}", "$1 [id]")],
    };
    for (width, height) in SIZES {
        driver.event(Event::Resize { width, height });
        let title = format!("{name} {width}x{height}");
        insta::with_settings!({filters => ids.clone()}, {
            insta::assert_snapshot!(title, text_of(&drawn(&driver.app, &dark())));
        });
    }
}

macro_rules! screens {
    ($($test:ident: $name:literal),+ $(,)?) => {
        $(
            #[test]
            fn $test() {
                let make = STATES.iter().find(|state| state.0 == $name).expect("a state").1;
                snapshot_text($name, make);
            }
        )+
    };
}

screens! {
    the_first_screen_shows_the_window_part_by_part: "rest",
    a_closed_gate_shows_its_reason_and_the_key_that_ignores_it: "gate shut",
    a_preview_shows_each_message_after_the_plan: "preview",
    a_setting_that_a_version_fixes_is_marked: "newest",
    a_commit_is_confirmed_with_the_entries_to_write: "commit",
    a_refused_commit_states_that_no_file_changed: "refused",
    an_undo_is_confirmed: "undo",
    help_lists_every_key_in_groups: "help",
    typing_filters_the_palette: "palette",
    problems_name_file_and_line: "problems",
    a_filter_without_a_match_names_the_key_that_clears_it: "no match",
    a_search_marks_the_found_words: "search",
    a_search_of_all_sessions_ranks_the_hits: "search all",
    a_search_of_all_sessions_without_a_hit_says_so: "search all none",
    an_invalid_typed_value_shows_the_expected_form: "typing",
    an_empty_store_shows_the_next_steps: "empty store",
    an_unreadable_store_shows_the_reason: "no store",
    a_long_load_shows_its_progress: "loading",
    a_session_that_cannot_be_opened_shows_the_reason: "open error",
    missing_numbers_are_dashes_with_a_reason: "no usage",
    a_zoomed_pane_fills_the_screen: "zoom",
    the_session_list_is_sorted_by_a_column: "sessions by cost",
    a_filter_marks_its_matches: "sessions filter",
    a_record_is_shown_field_by_field: "session record",
    the_turn_limit_drops_older_messages: "history",
    a_compaction_shows_its_cut_in_the_tree: "compaction",
    the_guard_has_a_tab: "guard",
    every_policy_shows_its_effect: "steps",
    estimates_are_shown_next_to_the_counted_tokens: "estimators",
    running_estimates_show_their_progress: "estimators reading",
    the_breakdown_lists_the_parts_of_the_window: "breakdown",
    the_breakdown_of_a_plan_shows_each_part_after_it: "breakdown plan",
    without_a_report_the_parts_before_the_messages_are_unknown: "breakdown no report",
    a_recovery_is_shown_next_to_its_record: "recovery",
    without_an_overflow_the_recovery_of_the_next_one_is_shown: "next overflow",
    a_program_runs_only_after_its_calls_are_shown: "summary offered",
    a_summary_shows_the_progress_of_each_call: "summary call",
    a_failed_summary_shows_the_reason_and_that_no_file_changed: "summary failed",
    a_compaction_is_confirmed_with_its_summary: "append",
    a_verdict_comes_before_its_evidence_and_the_fixes: "explain",
    a_change_is_shown_on_the_call_that_failed: "failed call",
    a_change_is_shown_on_every_call: "whole session",
    an_overflow_that_no_setting_prevents_is_reported: "explain none helps",
    a_session_that_fits_shows_its_free_room: "explain well",
    a_loading_explanation_is_announced: "explain reading",
    a_session_that_images_stopped_has_ways_out: "ways out",
    a_dropped_message_is_confirmed_with_the_next_prompt: "drop",
    another_branch_is_confirmed_with_the_next_prompt: "switch",
    commits_are_listed_with_their_state: "commits",
    two_branches_are_compared_side_by_side: "branches",
    settings_are_compared_on_a_map: "compare",
    a_third_setting_is_fixed_while_two_are_shown: "compare typed",
    cells_appear_as_they_are_computed: "compare filling",
    a_map_without_a_helpful_cell_says_so: "compare none helps",
    the_timeline_shows_every_call_as_recorded: "timeline",
    a_changed_setting_is_a_second_curve: "timeline tuned",
    a_compaction_is_drawn_on_its_curve_with_its_tokens: "timeline compaction",
    the_timeline_is_also_shown_in_sentences: "timeline in words",
    a_loading_timeline_is_announced: "timeline reading",
    a_session_of_todays_pi_has_its_prompt_and_tools_in_the_bar: "pi today",
    a_plan_for_pi_is_confirmed_as_edits: "pi edits",
    todays_pi_recovers_once: "pi recovery",
    a_session_in_a_database_is_shown_like_any_other: "database",
    long_ids_leave_room_for_the_numbers: "database branches",
}

#[test]
fn colours_carry_the_plan_in_every_theme() {
    let driver = preview(130, 36);
    for (name, depth) in
        [("dark", ColourDepth::True), ("light", ColourDepth::True), ("dark", ColourDepth::Sixteen)]
    {
        let theme = Theme::load(name, depth).expect("a theme");
        insta::assert_snapshot!(format!("styles {name} {depth:?}"), styles_of(&drawn(&driver.app, &theme)));
    }
}

#[test]
fn the_tuning_tab_names_its_step() {
    let mut driver = stepping(60, 20);
    driver.press("z j");
    let driver = settled(driver);
    insta::assert_snapshot!("tuning tab 60x20", text_of(&drawn(&driver.app, &dark())));
}

#[test]
fn the_policies_have_light_colours_too() {
    let theme = Theme::load("light", ColourDepth::True).expect("a theme");
    let driver = settled(stepping(130, 36));
    insta::assert_snapshot!("steps light", styles_of(&drawn(&driver.app, &theme)));
}

#[test]
fn colours_show_how_far_an_estimate_is_off() {
    for (name, depth, (width, height)) in [
        ("dark", ColourDepth::True, (130, 36)),
        ("light", ColourDepth::True, (130, 36)),
        ("light", ColourDepth::True, (80, 24)),
        ("light", ColourDepth::True, (60, 20)),
        ("mono", ColourDepth::None, (80, 24)),
    ] {
        let driver = estimating(width, height);
        let styles = styles_of(&drawn(&driver.app, &Theme::load(name, depth).expect("a theme")));
        insta::assert_snapshot!(format!("estimators styles {name} {width}x{height}"), styles);
    }
}

#[test]
fn a_map_is_readable_by_colour_and_by_signs() {
    let mut driver = comparing_typed(130, 36);
    for (name, depth, (width, height)) in [
        ("dark", ColourDepth::True, (130, 36)),
        ("dark", ColourDepth::Sixteen, (80, 24)),
        ("light", ColourDepth::True, (130, 36)),
        ("light", ColourDepth::True, (80, 24)),
        ("light", ColourDepth::True, (60, 20)),
        ("mono", ColourDepth::None, (80, 24)),
    ] {
        driver.event(Event::Resize { width, height });
        let styles = styles_of(&drawn(&driver.app, &Theme::load(name, depth).expect("a theme")));
        insta::assert_snapshot!(format!("compare styles {name} {depth:?} {width}x{height}"), styles);
    }
    let mono = Theme::load("mono", ColourDepth::None).expect("a theme").with_ascii(true);
    driver.event(Event::Resize { width: 110, height: 30 });
    insta::assert_snapshot!("compare ascii", text_of(&drawn(&driver.app, &mono)));
}

#[test]
fn bars_of_the_window_have_the_colours_of_the_budget_bar() {
    for (width, height) in [(130, 36), (80, 24), (60, 20)] {
        let driver = taken_apart(width, height);
        for name in ["dark", "light"] {
            let theme = Theme::load(name, ColourDepth::True).expect("a theme");
            let title = format!("breakdown styles {name} {width}x{height}");
            insta::assert_snapshot!(title, styles_of(&drawn(&driver.app, &theme)));
        }
    }
    let mono = Theme::load("mono", ColourDepth::True).expect("a theme");
    let buf = drawn(&taken_apart(130, 36).app, &mono);
    assert!(buf.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    insta::assert_snapshot!("breakdown mono 130x36", text_of(&buf));
}

#[test]
fn blocks_are_side_by_side_from_110_columns_on() {
    let states = ["explain", "explain none helps", "explain well"];
    for (name, make) in STATES.iter().filter(|(name, _)| states.contains(name)) {
        let driver = make(110, 30);
        insta::assert_snapshot!(format!("{name} 110x30"), text_of(&drawn(&driver.app, &dark())));
    }
}

#[test]
fn without_colour_the_signs_of_an_explanation_carry_the_meaning() {
    let mono = Theme::load("mono", ColourDepth::None).expect("a theme").with_ascii(true);
    let buf = drawn(&screens::explaining_in_vain(130, 36).app, &mono);
    assert!(buf.content.iter().all(|cell| cell.symbol().is_ascii()));
    insta::assert_snapshot!("explain mono ascii 130x36", text_of(&buf));
}

#[test]
fn verdict_and_advice_have_separate_colours() {
    for (width, height) in [(130, 36), (80, 24), (60, 20)] {
        let driver = screens::explaining(width, height);
        for name in ["dark", "light"] {
            let theme = Theme::load(name, ColourDepth::True).expect("a theme");
            let title = format!("explain styles {name} {width}x{height}");
            insta::assert_snapshot!(title, styles_of(&drawn(&driver.app, &theme)));
        }
    }
}

#[test]
fn a_recovery_is_readable_by_colour_and_sign_in_a_light_theme() {
    let driver = screens::recovering(130, 36);
    let theme = Theme::load("light", ColourDepth::True).expect("a theme");
    insta::assert_snapshot!("recovery styles light", styles_of(&drawn(&driver.app, &theme)));
}

#[test]
fn curves_and_signs_of_the_timeline_have_their_colours() {
    for (width, height) in [(130, 36), (80, 24), (60, 20)] {
        let driver = timing_tuned(width, height);
        for name in ["dark", "light"] {
            let theme = Theme::load(name, ColourDepth::True).expect("a theme");
            let title = format!("timeline styles {name} {width}x{height}");
            insta::assert_snapshot!(title, styles_of(&drawn(&driver.app, &theme)));
        }
    }
    let driver = timing_tuned(130, 36);
    let mono = Theme::load("mono", ColourDepth::True).expect("a theme");
    let buf = drawn(&driver.app, &mono);
    assert!(buf.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    let ascii = drawn(&driver.app, &mono.with_ascii(true));
    assert!(ascii.content.iter().all(|cell| cell.symbol().is_ascii()), "{}", text_of(&ascii));
    insta::assert_snapshot!("timeline ascii 130x36", text_of(&ascii));
}

#[test]
fn without_colour_letters_and_signs_carry_the_meaning() {
    let driver = settled(preview(130, 36));
    let theme = Theme::load("mono", ColourDepth::True).expect("a theme");
    let buf = drawn(&driver.app, &theme);
    assert!(buf.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    insta::assert_snapshot!("mono 130x36", text_of(&buf));
}

#[test]
fn without_unicode_every_sign_is_ascii() {
    let mut driver = settled(preview(130, 36));
    driver.press("c");
    let buf = drawn(&driver.app, &dark().with_ascii(true));
    let foreign = |symbol: &str| !symbol.is_ascii() && clawscope::text::width(symbol) < 2;
    let kept: Vec<&str> =
        buf.content.iter().map(ratatui::buffer::Cell::symbol).filter(|s| foreign(s)).collect();
    assert_eq!(kept, Vec::<&str>::new());
    insta::assert_snapshot!("ascii 130x36", text_of(&buf));
}

#[test]
fn a_terminal_that_is_too_small_shows_the_needed_size() {
    let driver = opened(40, 10);
    let text = text_of(&drawn(&driver.app, &dark()));
    assert!(text.contains("60x20"), "{text}");
}

#[test]
fn mint_is_used_only_for_the_plan() {
    let rest = drawn(&unsaved(), &dark());
    let mint = [Color::Rgb(0x4f, 0xd6, 0xb8), Color::Rgb(0x3a, 0x9c, 0x88)];
    assert!(rest.content.iter().all(|cell| !mint.contains(&cell.fg)), "{}", text_of(&rest));
    let planned = drawn(&preview(130, 36).app, &dark());
    assert!(planned.content.iter().any(|cell| cell.fg == mint[0]));
}

/// A session at rest, in which the configured settings would save nothing.
fn unsaved() -> App {
    let mut app = at_rest(130, 36).app;
    app.preview.policy_savings = vec![(Policy::Prune, Some(0))];
    app
}

#[test]
fn an_answer_that_shows_the_silent_token_says_so_before_its_words() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("agents/main/sessions");
    std::fs::create_dir_all(&folder).expect("a folder");
    let answer = |id: &str, parent: &str, words: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-03-05T14:00:00Z","message":{{"role":"assistant","content":[{{"type":"text","text":"{words}"}}]}}}}"#
        )
    };
    let text = [
        r#"{"type":"session","version":3,"id":"s"}"#.to_owned(),
        answer("a", "null", "NO_REPLY"),
        answer(
            "b",
            r#""a""#,
            "NO_REPLY is what I say when there is nothing to say, and this answer is longer than any row",
        ),
    ]
    .join("\n");
    driver::append_to_new(&folder.join("s.jsonl"), &(text + "\n"));
    for width in [130, 80, 60] {
        let mut driver = Driver::at_path(dir.path(), width, 24);
        driver.press("2");
        let text = text_of(&drawn(&driver.app, &dark()));
        assert!(text.contains("NO_REPLY · silent") && text.contains("NO_REPLY shown"), "{width}: {text}");
    }
}

#[test]
fn hostile_text_never_reaches_a_cell_unescaped() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("agents/main/sessions");
    std::fs::create_dir_all(&folder).expect("a folder");
    let evil = r"\u001b[2J\u001b]0;x\u0007\u202e\u2066\u200b\u0000\u009b31m\ue000end";
    let message = |id: &str, parent: &str, body: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-03-05T14:00:00Z","message":{body}}}"#
        )
    };
    let text = [
        r#"{"type":"session","version":3,"id":"s"}"#.to_owned(),
        message("u", "null", &format!(r#"{{"role":"user","content":"{evil}"}}"#)),
        message(
            "a",
            r#""u""#,
            &format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"{evil}"}},{{"type":"toolCall","id":"c","name":"{evil}","arguments":{{"command":"{evil}"}}}}],"model":"{evil}"}}"#
            ),
        ),
        message(
            "r",
            r#""a""#,
            &format!(r#"{{"role":"toolResult","toolCallId":"c","toolName":"{evil}","content":[{{"type":"text","text":"{evil}"}}]}}"#),
        ),
        message("e", r#""r""#, &format!(r#"{{"role":"assistant","content":[],"stopReason":"error","errorMessage":"{evil}"}}"#)),
    ]
    .join("\n");
    driver::append_to_new(&folder.join("s.jsonl"), &(text + "\n"));
    driver::append_to_new(
        &folder.join("sessions.json"),
        &format!(
            r#"{{"agent:main:{evil}":{{"sessionId":"s","updatedAt":1,"displayName":"{evil}","model":"{evil}"}}}}"#
        ),
    );
    let mut driver = Driver::on(dir, 130, 36);
    for keys in ["g", "j", "j", "j", "p i", "3", "?", "esc : text:x", "esc !", "esc 1"] {
        driver.press(keys);
        let buf = drawn(&driver.app, &dark());
        let shown = text_of(&buf);
        assert!(!shown.chars().any(|c| c != '\n' && obeyed(c)), "{shown:?}");
    }
    driver.press("2");
    assert!(text_of(&drawn(&driver.app, &dark())).contains("␛[2J"));
}

#[test]
fn silent_answers_and_small_windows_are_labelled() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("agents/main/sessions");
    std::fs::create_dir_all(&folder).expect("a folder");
    let message = |id: &str, parent: &str, body: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-03-05T14:00:00Z","message":{body}}}"#
        )
    };
    let text = [
        r#"{"type":"session","version":3,"id":"s"}"#.to_owned(),
        message("u", "null", r#"{"role":"user","content":"a heartbeat"}"#),
        message(
            "a",
            r#""u""#,
            r#"{"role":"assistant","content":[{"type":"text","text":"NO_REPLY"}],"stopReason":"stop"}"#,
        ),
        message(
            "b",
            r#""a""#,
            r#"{"role":"assistant","content":[{"type":"text","text":"no_reply"}],"stopReason":"stop"}"#,
        ),
    ]
    .join("\n");
    driver::append_to_new(&folder.join("s.jsonl"), &(text + "\n"));
    driver::append_to_new(
        &folder.join("sessions.json"),
        r#"{"agent:main:main":{"sessionId":"s","updatedAt":1}}"#,
    );
    let config = "{ agents: { defaults: { contextTokens: 8000 } } }";
    driver::append_to_new(&dir.path().join("openclaw.json"), config);
    let driver = Driver::on(dir, 130, 36);
    let shown = text_of(&drawn(&driver.app, &dark()));
    assert!(shown.contains("NO_REPLY · silent") && !shown.contains("no_reply · silent"), "{shown}");
    assert!(shown.contains("window 1M (model list; contextTokens 8,000) too small"), "{shown}");
    assert!(shown.contains("! 1 problem"), "{shown}");
}

/// Whether a terminal would execute or hide it.
fn obeyed(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{e000}'..='\u{f8ff}')
}

fn all_states() -> &'static [App] {
    static APPS: OnceLock<Vec<App>> = OnceLock::new();
    APPS.get_or_init(|| STATES.iter().map(|(_, make)| make(130, 36).app).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_state_in_any_size_panics(
        state in 0..STATES.len(),
        width in 1_u16..=300,
        height in 1_u16..=100,
        theme in 0_usize..3,
        depth in 0_usize..4,
        focus in 0_usize..4,
        zoom: bool,
    ) {
        let mut app = all_states()[state].clone();
        app.focus = clawscope::app::layout::Pane::ALL[focus];
        app.zoom = zoom;
        app.update(Event::Resize { width, height }, NOW_MS);
        let depth =
            [ColourDepth::None, ColourDepth::Sixteen, ColourDepth::TwoFiftySix, ColourDepth::True][depth];
        let theme = Theme::load(["dark", "light", "mono"][theme], depth).expect("a theme").with_ascii(zoom);
        drawn(&app, &theme);
    }
}

/// The sizes at which a screen changes its layout, and one column or row more and less.
#[test]
fn no_state_panics_at_the_sizes_where_layouts_change() {
    let widths = [1, 3, 20, 40, 45, 46, 60, 109, 110];
    let heights = [1, 3, 9, 23, 24, 34];
    let theme = dark();
    for app in all_states() {
        let mut app = app.clone();
        for (width, height) in widths.iter().flat_map(|width| heights.map(|height| (*width, height))) {
            app.update(Event::Resize { width, height }, NOW_MS);
            drawn(&app, &theme);
        }
    }
}

#[test]
fn the_largest_prompts_are_shown_once_they_are_replayed() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("discord:channel:118204471002");
    driver.press("plan 2");
    let effects = driver.key_effects("a");
    let line = |driver: &Driver, at: usize| {
        text_of(&drawn(&driver.app, &dark())).lines().nth(at).unwrap_or_default().trim_end().to_owned()
    };
    assert!(line(&driver, 6).contains("a next call · session"), "{}", line(&driver, 6));
    assert_eq!(line(&driver, 3).split_whitespace().take(2).collect::<Vec<_>>(), ["peak", "—"]);
    assert!(!line(&driver, 3).contains('%'));
    driver.perform(effects);
    assert!(
        line(&driver, 3).starts_with(" peak ") && line(&driver, 3).contains("82.2k"),
        "{}",
        line(&driver, 3)
    );
}

/// Signs of sentences and of frames, which have no meaning by themselves.
const PLAIN_SIGNS: &str = "…→·×–—−“”‘’›≤≥≈╭╮╰╯─│┬┴├┤└";

#[test]
fn every_sign_on_a_screen_has_its_row_in_the_legend() {
    let rows: Vec<&str> =
        legend().iter().flat_map(|section| section.rows.clone()).map(|row| row.signs).collect();
    let is_known = |sign: char| {
        let is_curve = ('\u{2800}'..='\u{28ff}').contains(&sign);
        is_curve || PLAIN_SIGNS.contains(sign) || rows.iter().any(|signs| signs.contains(sign))
    };
    let mut unknown: std::collections::BTreeMap<char, &str> = std::collections::BTreeMap::new();
    for ((name, _), app) in STATES.iter().zip(all_states()) {
        let buf = drawn(app, &dark());
        for cell in &buf.content {
            let sign = cell.symbol().chars().next().unwrap_or(' ');
            // Letters, pictures and control pictures come from transcripts.
            let is_text =
                sign.is_ascii() || sign.is_alphanumeric() || clawscope::text::width(cell.symbol()) > 1;
            if !is_text && !('\u{2400}'..='\u{2426}').contains(&sign) && !is_known(sign) {
                unknown.entry(sign).or_insert(name);
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn presets_are_side_by_side_at_every_width() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".config/clawscope/presets");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in [
        ("early", "\"contextPruning.ttl\" = \"5m\"\n\"contextPruning.softTrimRatio\" = 0.1\n"),
        ("room", "\"compaction.reserveTokens\" = 80000\n"),
    ] {
        driver::append_to_new(&folder.join(format!("{name}.toml")), text);
    }
    let mut driver = preview(130, 36);
    driver.home = Some(home.path().to_owned());
    driver.press(": text:presets enter l space l");
    let driver = &mut driver;
    for (width, height) in [(130, 36), (80, 24), (60, 20)] {
        driver.event(Event::Resize { width, height });
        insta::assert_snapshot!(format!("presets {width}x{height}"), text_of(&drawn(&driver.app, &dark())));
    }
}

#[test]
fn the_copy_menu_lists_what_each_letter_copies() {
    let mut driver = preview(80, 24);
    driver.press("2 g j j j y");
    insta::with_settings!({filters => vec![(r"/\S*\.tm\S*", "[path]")]}, {
        insta::assert_snapshot!("copy menu 80x24", text_of(&drawn(&driver.app, &dark())));
    });
}
