//! Screens on a stack: opening one covers the others, and going back shows them unchanged.

use clawscope::app::action::{Action, ScreenKind};
use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::screens::explain::{ExplainBlock, ExplainRow, ExplainScreen};
use clawscope::app::screens::help::HelpDocument;
use clawscope::app::state::Overlay;
use clawscope::report::explain::Question;

use crate::support::driver::Driver;

fn demo() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver
}

/// The names of the open views, from the bottom up.
fn open(driver: &Driver) -> Vec<&'static str> {
    let name = |view: &Overlay| match view {
        Overlay::Help { .. } => "help",
        Overlay::Palette { .. } => "palette",
        Overlay::Explain(_) => "explain",
        Overlay::Timeline => "timeline",
        Overlay::Compare => "compare",
        Overlay::Branches(_) => "branches",
        Overlay::Write(_) => "write",
        _ => "another",
    };
    driver.app.views.iter().map(name).collect()
}

fn explain(driver: &Driver) -> &ExplainScreen {
    let found = driver.app.views.find(|view| match view {
        Overlay::Explain(screen) => Some(screen),
        _ => None,
    });
    found.expect("explain is open")
}

#[test]
fn help_opens_over_a_screen_and_leads_back_to_its_row() {
    let mut driver = demo();
    driver.press("e j j");
    let row = explain(&driver).scroll.cursor;
    driver.press("? j");
    assert_eq!(open(&driver), ["explain", "help"]);
    assert!(matches!(driver.app.page(), Some(Overlay::Explain(_))), "it is drawn below the help");
    assert_eq!(explain(&driver).scroll.cursor, row, "the help takes the keys");
    driver.press("esc");
    assert_eq!(open(&driver), ["explain"]);
    assert_eq!(explain(&driver).scroll.cursor, row);
    driver.press("? ? e");
    assert!(driver.app.overlay().is_none(), "the key of a screen closes it");
}

#[test]
fn explain_over_the_timeline_leads_back_to_the_call() {
    let mut driver = demo();
    driver.press("t h h");
    let call = driver.app.timeline_screen.cursor;
    driver.press("e");
    assert_eq!(open(&driver), ["timeline", "explain"]);
    driver.press("esc");
    assert_eq!((open(&driver), driver.app.timeline_screen.cursor), (vec!["timeline"], call));
    driver.press("esc");
    assert_eq!(open(&driver), <[&str; 0]>::default());
}

#[test]
fn a_screen_opened_again_from_another_is_in_the_stack_once() {
    let mut driver = demo();
    driver.press("t e t e t");
    assert_eq!(open(&driver), ["explain", "timeline"]);
    driver.press("esc esc");
    assert!(driver.app.overlay().is_none());
}

#[test]
fn the_palette_runs_an_action_on_the_screen_below_it() {
    let mut driver = demo();
    driver.press("w : text:measure");
    assert_eq!(open(&driver), ["compare", "palette"]);
    let metric = driver.app.compare_screen.metric;
    driver.press("enter");
    assert_eq!(open(&driver), ["compare"]);
    assert_ne!(driver.app.compare_screen.metric, metric);
    driver.press(": text:overflowed enter");
    assert_eq!(open(&driver), ["compare", "explain"]);
    driver.press("esc : esc");
    assert_eq!(open(&driver), ["compare"]);
    driver.press(": text:focus-tuning enter");
    assert!(driver.app.overlay().is_none(), "an action of the panes leaves the screens");
}

#[test]
fn a_sweep_continues_below_another_screen_and_stops_with_its_screen() {
    let mut driver = demo();
    driver.pause_sweeps();
    driver.press("w");
    let stops = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::StopSweep));
    assert!(driver.last_sweep() > 0);
    assert!(!stops(&driver.key_effects("?")));
    assert!(!stops(&driver.key_effects("esc")));
    assert!(!stops(&driver.key_effects("e")));
    assert!(!stops(&driver.key_effects("esc")));
    assert_eq!(open(&driver), ["compare"]);
    assert!(stops(&driver.key_effects("esc")));
}

#[test]
fn going_to_an_entry_closes_every_screen_and_stops_their_work() {
    let mut driver = demo();
    driver.press("e G enter b t");
    assert_eq!(open(&driver), ["explain", "branches", "timeline"]);
    let stops = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::StopEstimates));
    assert!(!stops(&driver.key_effects("q")));
    driver.press("t");
    let effects = driver.key_effects("enter");
    assert!(driver.app.overlay().is_none());
    assert!(stops(&effects));
}

#[test]
fn an_answer_reaches_a_covered_screen() {
    let mut driver = demo();
    let effects = driver.key_effects("e");
    driver.press("?");
    assert!(explain(&driver).result.is_none());
    driver.perform(effects);
    assert!(explain(&driver).result.is_some());
    assert_eq!(open(&driver), ["explain", "help"]);
}

#[test]
fn a_session_opened_below_a_screen_is_explained_instead() {
    let mut driver = demo();
    let items = &driver.app.sessions.items;
    let item = items.iter().find(|item| item.key.0.ends_with("slack:channel:c07infra")).unwrap();
    let key = item.key.0.clone();
    let opening = driver.effects(Event::Paste(key.clone()));
    driver.press("e");
    let before = explain(&driver).result.clone().unwrap().unwrap();
    driver.press("?");
    driver.perform(opening);
    assert_eq!(driver.app.displayed_session().unwrap().item.key.0, key);
    let after = explain(&driver).result.clone().unwrap().unwrap();
    assert_ne!(format!("{:?}", before.failure), format!("{:?}", after.failure));
    assert_eq!(open(&driver), ["explain", "help"]);
}

#[test]
fn comparing_the_branches_of_a_commit_leads_back_to_the_list() {
    let mut driver = demo();
    driver.press("plan 4 j j j H H H 2 c y");
    driver.press("b enter");
    assert_eq!(open(&driver), ["branches"]);
    driver.press("esc u");
    assert_eq!(open(&driver), ["branches", "write"]);
    driver.press("n");
    assert_eq!(open(&driver), ["branches"]);
    driver.press("u y");
    assert_eq!(open(&driver), ["branches"], "what was undone shows in the list");
}

#[test]
fn a_timeline_over_a_comparison_follows_the_settings() {
    let mut driver = demo();
    driver.press("w t");
    let before = driver.app.timeline().expect("a replay").clone();
    driver.press("plan");
    let after = driver.app.timeline().expect("a replay");
    assert!(!before.is_simulated() && after.is_simulated());
    driver.press("esc");
    assert_eq!(open(&driver), ["compare"]);
}

/// The rule on top: document, id, and the first visible line.
fn rule(driver: &Driver) -> (&'static str, &'static str, usize) {
    let Some(Overlay::Help(screen)) = driver.app.overlay() else { panic!("{:?}", driver.app.overlay()) };
    match screen.document {
        Some(HelpDocument::Rule(rule)) => (rule.document.name, rule.id, screen.scroll.top),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_rule_behind_a_policy_opens_scrolls_and_closes() {
    let mut driver = demo();
    driver.press(":policies .");
    let policy = driver.app.tuning.policy;
    driver.press(":rule");
    let (document, id, top) = rule(&driver);
    assert!(policy.rule().starts_with(document) && policy.rule().contains(id) && top == 0);
    driver.press("g y");
    assert!(driver.copied.last().is_some_and(|text| text.len() > 100));
    driver.press("esc");
    assert!(driver.app.overlay().is_none() && driver.app.shows_policies());
}

#[test]
fn the_rules_behind_a_finding_and_the_gate_open() {
    let mut driver = demo();
    driver.press("e");
    let cites = |driver: &Driver| {
        let screen = explain(driver);
        let Some(ExplainRow::Line(block @ ExplainBlock::Answer(Question::Findings), at)) = screen.selected()
        else {
            return false;
        };
        screen.doc(block).and_then(|doc| doc.rows().nth(at)).is_some_and(|row| !row.rule.is_empty())
    };
    let rows = explain(&driver).rows.len();
    for _ in 0..rows {
        driver.press("j");
        if cites(&driver) {
            break;
        }
    }
    assert!(cites(&driver), "a finding of the demo cites a rule");
    driver.press(":rule");
    assert!(!rule(&driver).1.is_empty());
    driver.press("esc esc 4 plan i :rule");
    assert_eq!(rule(&driver).0, "pruning");
}

#[test]
fn the_rule_key_on_a_row_without_a_rule_shows_a_message() {
    let mut driver = demo();
    driver.press(":rule");
    assert!(driver.app.overlay().is_none());
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("no rule")));
}

#[test]
fn every_policy_cites_a_rule_that_opens() {
    let mut driver = demo();
    driver.press(":policies");
    for _ in 0..driver.app.tuning.visible_policies.len() {
        driver.press(":rule");
        assert!(!rule(&driver).1.is_empty());
        driver.press("esc .");
    }
}

/// Every screen with the key that opens it from the panes, and its words in the palette.
const KEYS: [(&str, &str, ScreenKind); 9] = [
    ("?", "help", ScreenKind::Help),
    (":", "palette", ScreenKind::Palette),
    ("v !", "problems", ScreenKind::Problems),
    ("v d", "session-record", ScreenKind::Record),
    ("v w", "breakdown", ScreenKind::Breakdown),
    ("e", "explain", ScreenKind::Explain),
    ("b", "branches", ScreenKind::Branches),
    ("t", "timeline", ScreenKind::Timeline),
    ("w", "compare", ScreenKind::Compare),
];

fn kinds(driver: &Driver) -> Vec<ScreenKind> {
    driver.app.views.iter().filter_map(Overlay::kind).collect()
}

/// Whether a key or the view menu opens the screen here.
fn opens_here(driver: &Driver, kind: ScreenKind) -> bool {
    !driver.app.key_words(driver.app.key_context(), Action::Show(kind)).starts_with(':')
}

#[test]
fn every_screen_opens_over_every_other_and_esc_closes_exactly_one() {
    let mut driver = demo();
    driver.pause_sweeps();
    driver.press("plan");
    let mut pairs = 0;
    for (below_key, _, below) in KEYS.iter().filter(|row| row.2 != ScreenKind::Palette) {
        for (key, name, above) in KEYS.iter().filter(|row| row.2 != *below) {
            driver.press("esc 2 g");
            assert_eq!(kinds(&driver), []);
            driver.press("G k k");
            driver.press(below_key);
            assert_eq!(kinds(&driver), [*below], "{below:?}");
            if opens_here(&driver, *above) {
                driver.press(key);
            } else {
                driver.press(&format!(": text:{name} enter"));
            }
            assert_eq!(kinds(&driver), [*below, *above], "{above:?} over {below:?}");
            driver.press("esc");
            assert_eq!(kinds(&driver), [*below], "back from {above:?}");
            driver.press("esc");
            assert_eq!(kinds(&driver), [], "back from {below:?}");
            pairs += 1;
        }
    }
    assert!(pairs == 8 * 8, "{pairs}");
}

#[test]
fn one_key_returns_from_an_entry_to_the_evidence() {
    let mut driver = demo();
    driver.press("e g");
    let is_evidence = |driver: &Driver| {
        let screen = explain(driver);
        let is_finding = |row| matches!(row, ExplainRow::Line(ExplainBlock::Answer(Question::Findings), _));
        screen.selected().is_some_and(|row| is_finding(row) && screen.entry(row).is_some())
    };
    for _ in 0..40 {
        if !is_evidence(&driver) {
            driver.press("j");
        }
    }
    assert!(is_evidence(&driver));
    let (row, entry) = (explain(&driver).scroll, driver.app.selected_entry());
    driver.press("enter");
    assert!(driver.app.overlay().is_none());
    let found = driver.app.selected_entry();
    driver.press("k k");
    let moved = driver.app.selected_entry();
    assert_ne!(moved, found);
    driver.press("<");
    assert_eq!((open(&driver), explain(&driver).scroll), (vec!["explain"], row));
    assert_eq!(driver.app.selected_entry(), entry, "the row below it is the old one too");
    driver.press("ctrl-o");
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text == "no earlier place"));
    driver.press(">");
    assert!(driver.app.overlay().is_none());
    assert_eq!(driver.app.selected_entry(), moved, "forward leads to where going back started");
    driver.press("ctrl-o esc");
    assert_eq!(open(&driver), <[&str; 0]>::default(), "the screens below are a stack again");
}

#[test]
fn a_jump_from_the_timeline_keeps_its_call() {
    let mut driver = demo();
    driver.press("t h h h");
    let call = driver.app.timeline_screen.cursor;
    driver.press("enter g t");
    assert_ne!(driver.app.timeline_screen.cursor, call);
    driver.press("esc <");
    assert_eq!((open(&driver), driver.app.timeline_screen.cursor), (vec!["timeline"], call));
}

#[test]
fn a_search_can_be_taken_back() {
    let mut driver = demo();
    driver.press("2 g");
    let start = driver.app.selected_entry();
    driver.press("/ text:ninja enter n n");
    assert_ne!(driver.app.selected_entry(), start);
    driver.press("<");
    assert_eq!(driver.app.selected_entry(), start);
}

#[test]
fn places_lead_across_sessions_and_a_walk_through_the_list_counts_once() {
    let mut driver = demo();
    let shown = |driver: &Driver| driver.app.displayed_session().expect("a session").item.key.clone();
    driver.press("e j j enter k k");
    let (first, entry) = (shown(&driver), driver.app.selected_entry());
    driver.press("1 g j j j");
    let last = shown(&driver);
    assert_ne!(last, first);
    driver.press("<");
    assert_eq!(shown(&driver), first);
    assert_eq!(driver.app.selected_entry(), entry);
    assert_eq!(driver.app.sessions.selected().map(|item| item.key.clone()), Some(first.clone()));
    driver.press("<");
    assert_eq!(open(&driver), ["explain"]);
    assert!(explain(&driver).result.is_some());
    driver.press("> >");
    assert_eq!(shown(&driver), last);
    driver.press("< <");
    assert_eq!((shown(&driver), open(&driver)), (first, vec!["explain"]));
}

#[test]
fn a_place_without_its_entry_is_skipped() {
    let mut driver = demo();
    driver.press("2 g / text:ninja enter");
    driver.press("/ text:cmake enter");
    driver.rewrite(|mut line| {
        if line["type"] == "message" {
            let id = line["id"].as_str().map(|id| format!("x{id}"));
            line["id"] = serde_json::json!(id);
            let parent = line["parentId"].as_str().map(|id| format!("x{id}"));
            line["parentId"] = serde_json::json!(parent);
        }
        line
    });
    driver.press("<");
    assert!(driver.app.toast.is_some(), "no place is left");
}
