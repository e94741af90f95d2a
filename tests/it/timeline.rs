//! The timeline by keys: the cursor over the calls, the way to their entries, zoom, and the curve that follows a setting.

use std::fmt::Write as _;

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::screens::timeline::BarMetric;
use clawscope::app::state::Overlay;
use clawscope::report::timeline::{Timeline, TraceKind};
use clawscope::ui;
use clawscope::ui::theme::{ColourDepth, Theme};
use clawscope::units::Millis;
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::frames::{dark, drawn, text_of};
use crate::support::driver::{self, Driver};

/// The build session that overflowed, its timeline open.
fn opened() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("t");
    driver
}

fn timeline(driver: &Driver) -> &Timeline {
    assert!(matches!(driver.app.overlay(), Some(Overlay::Timeline)));
    driver.app.timeline().expect("replayed")
}

fn cursor(driver: &Driver) -> usize {
    driver.app.timeline_screen.cursor
}

fn seen(driver: &Driver) -> usize {
    driver.app.timeline_screen.viewport.visible(timeline(driver).len()).len()
}

fn shown(driver: &Driver) -> String {
    let (width, height) = driver.app.size;
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    ui::render(&driver.app, &Theme::load("dark", ColourDepth::True).expect("a theme"), &mut buf);
    let mut text = String::new();
    for row in buf.content.chunks(usize::from(width)) {
        text.extend(row.iter().map(ratatui::buffer::Cell::symbol));
        text.push('\n');
    }
    text
}

/// A store with one session of these lines.
fn on(lines: &[String], width: u16, height: u16) -> Driver {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("agents/main/sessions");
    std::fs::create_dir_all(&folder).expect("a folder");
    driver::append_to_new(&folder.join("s.jsonl"), &(lines.join("\n") + "\n"));
    driver::append_to_new(
        &folder.join("sessions.json"),
        r#"{"agent:main:main":{"sessionId":"s","updatedAt":1,"model":"claude-opus-4-5","modelProvider":"anthropic"}}"#,
    );
    Driver::on(dir, width, height)
}

/// A session of this many questions and answers, one a minute; `overflows` are the calls that were refused.
fn session(calls: usize, overflows: &[usize]) -> Vec<String> {
    let mut lines =
        vec![r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-05T08:00:00.000Z"}"#.to_owned()];
    let mut parent = "null".to_owned();
    for at in 0..calls {
        let time = format!("2026-03-{:02}T{:02}:{:02}", 5 + at / 1440, at / 60 % 24, at % 60);
        let (user, answer) = (format!("u{at}"), format!("a{at}"));
        let mut line = String::new();
        let _ = write!(
            line,
            r#"{{"type":"message","id":"{user}","parentId":{parent},"timestamp":"{time}:00.000Z","message":{{"role":"user","content":"again, number {at}"}}}}"#
        );
        lines.push(line);
        let body = if overflows.contains(&at) {
            r#""content":[],"stopReason":"error","errorMessage":"prompt is too long: 203412 tokens > 200000 maximum""#.to_owned()
        } else {
            format!(
                r#""content":[{{"type":"text","text":"done {at}"}}],"stopReason":"stop","usage":{{"input":{},"output":20,"cacheRead":0,"cacheWrite":0}}"#,
                1_000 + at
            )
        };
        lines.push(format!(
            r#"{{"type":"message","id":"{answer}","parentId":"{user}","timestamp":"{time}:30.000Z","message":{{"role":"assistant","provider":"anthropic","model":"claude-opus-4-5",{body}}}}}"#
        ));
        parent = format!("\"{answer}\"");
    }
    lines
}

#[test]
fn t_opens_at_the_call_of_the_row_under_the_cursor_and_closes_again() {
    let mut driver = opened();
    let last = timeline(&driver).len() - 1;
    assert_eq!((last, cursor(&driver)), (134, 134));
    assert!(!timeline(&driver).is_simulated(), "nothing is changed yet");
    driver.press("t");
    assert!(driver.app.overlay().is_none());
    driver.press("2 [ [");
    let turn = driver.app.selected_entry().expect("a row");
    driver.press("t");
    let calls = timeline(&driver).calls();
    assert!(calls[cursor(&driver)].entry > turn && calls[cursor(&driver) - 1].entry < turn);
}

#[test]
fn keys_move_by_calls_and_stop_at_the_ends() {
    let mut driver = opened();
    driver.press("h h left");
    assert_eq!(cursor(&driver), 131);
    driver.press("H l right");
    assert_eq!(cursor(&driver), 123);
    driver.press("g h");
    assert_eq!(cursor(&driver), 0);
    driver.press("L G l");
    assert_eq!(cursor(&driver), 134);
}

#[test]
fn n_cycles_through_overflows_and_reports_if_there_is_none() {
    let mut driver = on(&session(40, &[7, 20]), 100, 30);
    driver.press("t g n");
    assert_eq!(cursor(&driver), 7);
    driver.press("n");
    assert_eq!(cursor(&driver), 20);
    driver.press("n");
    assert_eq!(cursor(&driver), 7);
    driver.press("N");
    assert_eq!(cursor(&driver), 20);
    let mut driver = on(&session(5, &[]), 100, 30);
    driver.press("t n");
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("every prompt fits")));
}

#[test]
fn enter_opens_the_answer_of_the_call_and_t_returns_to_it() {
    let mut driver = opened();
    driver.press("H H h");
    let (at, entry) = (cursor(&driver), timeline(&driver).calls()[cursor(&driver)].entry);
    driver.press("enter");
    assert!(driver.app.overlay().is_none() && driver.app.focus == Pane::Transcript);
    let row = driver.app.selected_entry().expect("a row");
    assert!(row == entry || row.0 == entry.0 + 1, "the answer, or what its only tool returned");
    driver.press("t");
    assert_eq!(cursor(&driver), at);
}

#[test]
fn a_setting_below_the_curves_is_typed_after_enter() {
    let mut driver = opened();
    driver.press("tab j enter");
    let setting = driver.app.tuning.focused_row().expect("a setting");
    assert!(driver.app.input.is_some() && matches!(driver.app.overlay(), Some(Overlay::Timeline)));
    driver.press("ctrl-u text:5 enter");
    assert_eq!(driver.app.tuning.values[setting].as_f64(), Some(5.0), "{:?}", driver.app.input);
    assert!(timeline(&driver).is_simulated());
    driver.press("tab enter");
    assert!(driver.app.input.is_none() && driver.app.overlay().is_none());
}

#[test]
fn the_signs_of_the_cache_are_explained_on_the_screen() {
    let mut driver = opened();
    for (width, height) in [(160, 45), (120, 40), (120, 36), (80, 32), (80, 24)] {
        driver.event(Event::Resize { width, height });
        let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
        ui::render(&driver.app, &Theme::load("dark", ColourDepth::True).expect("a theme"), &mut buf);
        let text: String = buf.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert!(text.contains("p pause  b branch  + new  ─ read"), "{width}x{height}");
    }
}

#[test]
fn the_smallest_timeline_says_which_calls_missed_the_cache_and_why() {
    let mut driver = opened();
    driver.event(Event::Resize { width: 60, height: 20 });
    driver.press("end h h h h h");
    let screen = text_of(&drawn(&driver.app, &dark()));
    assert!(screen.contains("missed 158k, $0.91: branch switched at"), "{screen}");
    assert!(screen.lines().any(|line| line.trim_end().ends_with("bp  cache")), "{screen}");
}

#[test]
fn zoom_shows_fewer_calls_around_the_cursor_and_all_again() {
    let mut driver = opened();
    driver.press("H H H z z");
    assert_eq!(seen(&driver), 33);
    let stretch = driver.app.timeline_screen.viewport;
    assert!(stretch.visible(135).contains(&cursor(&driver)));
    driver.press("pgup");
    assert!(driver.app.timeline_screen.viewport.visible(135).contains(&cursor(&driver)));
    assert_ne!(driver.app.timeline_screen.viewport, stretch, "the stretch follows the cursor");
    driver.press("z");
    assert_eq!(seen(&driver), 16);
    driver.press("z z");
    assert_eq!(seen(&driver), 135);
}

#[test]
fn a_setting_that_is_moved_on_the_timeline_moves_the_curve() {
    let mut driver = opened();
    driver.press("2 -");
    let before = timeline(&driver);
    assert!(before.is_simulated());
    let cleared = |timeline: &Timeline| timeline.totals[TraceKind::Simulated as usize].changed_messages;
    assert!(cleared(before) > 0, "a shorter ttl lets pruning run");
    let few = cleared(before);
    driver.press("3 -");
    assert!(cleared(timeline(&driver)) > few);
    let peak = timeline(&driver).totals.map(|total| total.peak.0);
    assert!(peak[1] < peak[0], "{peak:?}");
    driver.press("backspace");
    assert_eq!(cleared(timeline(&driver)), 0, "with the configured ttl it does not");
}

#[test]
fn a_step_that_is_switched_joins_those_in_force() {
    let mut driver = opened();
    driver.press(", , , , , x");
    let simulated = timeline(&driver).settings(TraceKind::Simulated);
    assert!(simulated.policies.enabled.has(clawscope::policy::Policy::Compact) && !simulated.prune_on);
    driver.press("x");
    assert!(!timeline(&driver).is_simulated());
}

#[test]
fn the_timeline_replays_the_tuned_settings() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("4 H H - t");
    let timeline = timeline(&driver);
    assert_eq!(timeline.settings(TraceKind::Simulated).policies.prune.ttl_ms, Millis(600_000.0));
    assert!(timeline.totals[1].changed_messages > 0);
}

#[test]
fn answers_arrive_when_ready_and_an_older_one_never_replaces_a_newer() {
    let mut driver = opened();
    let first = driver.key_effects("-");
    let second = driver.key_effects("-");
    let asks = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Replay { .. }));
    assert!(asks(&first) && asks(&second));
    let ttl = |driver: &Driver| timeline(driver).settings(TraceKind::Simulated).policies.prune.ttl_ms;
    driver.perform(second);
    let newest = ttl(&driver);
    driver.perform(first);
    assert_eq!(ttl(&driver), newest);
    driver.key_effects("-");
    driver.now_ms += Millis(200.0);
    driver.effects(Event::Timer);
    assert!(shown(&driver).contains("replaying…"));
}

#[test]
fn another_session_is_replayed_and_late_results_of_the_previous_are_dropped() {
    let mut driver = opened();
    let late = driver.key_effects("-");
    driver.press("esc");
    driver.go_to("slack:channel:c07infra");
    // The preview is on, so the new session may have a replay of its own.
    let is_new = |driver: &Driver| driver.app.timeline().is_none_or(|timeline| timeline.len() < 134);
    assert!(is_new(&driver));
    driver.perform(late);
    assert!(is_new(&driver));
    driver.press("t");
    assert!(timeline(&driver).len() < 134);
}

#[test]
fn a_session_that_grows_is_followed_at_its_last_call() {
    let mut driver = opened();
    let path = driver.path();
    let text = std::fs::read_to_string(path).expect("the transcript");
    let last = text.lines().rev().find(|line| line.contains("\"role\":\"assistant\"")).expect("an answer");
    let id = last.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id");
    let answer = format!(
        "{{\"type\":\"message\",\"id\":\"late0001\",\"parentId\":\"{id}\",\"timestamp\":\"2026-03-05T14:03:00.000Z\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"again\"}}],\"stopReason\":\"stop\",\"provider\":\"anthropic\",\"model\":\"claude-opus-4-5\",\"usage\":{{\"input\":9,\"output\":9,\"cacheRead\":100000,\"cacheWrite\":0}}}}}}\n"
    );
    driver.now_ms += Millis(1_000.0);
    driver.append(&answer);
    assert_eq!((timeline(&driver).len(), cursor(&driver)), (136, 135));
    driver.press("h h");
    driver.append(&answer.replace("late0001", "late0002").replace(id, "late0001"));
    assert_eq!(timeline(&driver).len(), 136, "read at most once a second");
    driver.now_ms += Millis(1_000.0);
    driver.event(Event::Timer);
    assert_eq!(
        (timeline(&driver).len(), cursor(&driver)),
        (137, 133),
        "a person who looks elsewhere stays there"
    );
}

#[test]
fn b_shows_the_cache_and_words_give_the_same_without_curves() {
    let mut driver = opened();
    driver.press("v b");
    assert_eq!(driver.app.timeline_screen.bar_metric, BarMetric::Cache);
    assert!(shown(&driver).contains("Tokens not read from the cache"));
    driver.press("v x");
    let words = shown(&driver);
    assert!(words.contains("1 prompt does not fit") && words.contains("203"), "{words}");
    driver.press("y");
    assert!(driver.copied.last().is_some_and(|text| text.contains("the largest answered prompt is")));
}

#[test]
fn a_click_selects_a_call_and_a_second_opens_it() {
    let mut driver = opened();
    let chart = driver.app.timeline_layout().chart;
    let click = |driver: &mut Driver| {
        driver.event(Event::Mouse(MouseEvent {
            kind: MouseEventKind::Down(MouseButton::Left),
            column: chart.x + chart.width / 2,
            row: chart.y + 2,
            modifiers: KeyModifiers::NONE,
        }));
    };
    click(&mut driver);
    let at = cursor(&driver);
    assert!((60..75).contains(&at), "{at}");
    let entry = timeline(&driver).calls()[at].entry;
    click(&mut driver);
    assert!(driver.app.overlay().is_none());
    let row = driver.app.selected_entry().expect("a row");
    assert!((entry.0..=entry.0 + 1).contains(&row.0), "{row:?} {entry:?}");
}

#[test]
fn the_slider_of_the_strip_is_dragged_and_the_curve_follows() {
    let mut driver = opened();
    let strip = driver.app.timeline_layout().setting;
    let track = driver.app.layout().with_tuning(strip).slider_track();
    let mouse = |driver: &mut Driver, kind, column| {
        let row = strip.bottom() - 1;
        driver.event(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
    };
    let ttl = |driver: &Driver| timeline(driver).settings(TraceKind::Simulated).policies.prune.ttl_ms;
    mouse(&mut driver, MouseEventKind::Down(MouseButton::Left), track.end - 1);
    let most = ttl(&driver);
    mouse(&mut driver, MouseEventKind::Drag(MouseButton::Left), track.start + 5);
    assert!(ttl(&driver) < most);
    mouse(&mut driver, MouseEventKind::Up(MouseButton::Left), track.start + 5);
    let left = ttl(&driver);
    mouse(&mut driver, MouseEventKind::Drag(MouseButton::Left), track.start);
    assert_eq!(ttl(&driver), left, "the button is up");
}

#[test]
fn timelines_of_no_call_and_one_call_are_readable() {
    let lines = [
        r#"{"type":"session","version":3,"id":"s"}"#,
        r#"{"type":"message","id":"u","parentId":null,"timestamp":"2026-03-05T08:00:00.000Z","message":{"role":"user","content":"anyone?"}}"#,
    ];
    let mut driver = on(&lines.map(str::to_owned), 80, 24);
    driver.press("t n z l enter t v x");
    assert!(driver.app.timeline().is_some_and(|timeline| timeline.is_empty()));
    driver.press("v x");
    assert!(shown(&driver).contains("No calls recorded"), "{}", shown(&driver));
    for size in [(60, 20), (80, 24), (130, 36)] {
        let mut driver = on(&session(1, &[]), size.0, size.1);
        driver.press("t z z n l h");
        let text = shown(&driver);
        assert!(text.contains("Call #1") && text.contains("1 call"), "{text}");
    }
}

#[test]
fn sentences_show_the_first_and_the_last_turns_of_a_long_course() {
    let refused: Vec<usize> = (0..120).map(|at| at * 3 + 1).collect();
    let mut driver = on(&session(400, &refused), 130, 36);
    driver.press("t");
    let lines = timeline(&driver).describe();
    assert!(lines.len() < 30, "{lines:#?}");
    let holds = |words: &str| lines.iter().any(|line| line.contains(words));
    assert!(
        holds("400 calls, 2026-03-05 08:00:00Z") || holds("400 calls, 2026-03-05 00:00:00Z"),
        "{lines:#?}"
    );
    assert!(holds("120 prompts do not fit") && holds("turns not shown") && holds("  #400 "), "{lines:#?}");
    let first = lines.iter().position(|line| line.starts_with("  #2 ")).expect("the first refusal");
    assert!(lines[first].contains("does not fit"), "{lines:#?}");
}

#[test]
fn every_overflow_is_visible_among_many_calls() {
    for (width, height) in [(60, 20), (80, 24), (130, 36)] {
        let mut driver = on(&session(2_000, &[41, 900, 1_777]), width, height);
        driver.press("t g");
        let chart = driver.app.timeline_layout().chart;
        let text = shown(&driver);
        let rows = text.lines().skip(usize::from(chart.y)).take(usize::from(chart.height));
        let signs: usize = rows.map(|row| row.matches('⚠').count()).sum();
        assert_eq!(signs, 3, "{width}x{height}\n{text}");
    }
}

#[test]
fn j_and_k_stay_with_the_calls_until_tab_moves_the_focus() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("telegram:direct:8812");
    driver.press("t");
    let places = |driver: &Driver| (driver.app.timeline_screen.cursor, driver.app.tuning.cursor);
    let (call, setting) = places(&driver);
    driver.press("k k j");
    assert_eq!(places(&driver), (call - 1, setting));
    driver.press("tab j");
    assert_eq!(places(&driver), (call - 1, setting + 1));
    driver.press("enter");
    assert!(driver.app.input.is_some(), "enter edits the setting");
    driver.press("esc tab enter");
    assert!(driver.app.overlay().is_none(), "enter goes to the entry of the call");
}
