//! The explanation screen.

use clawscope::app::effect::Effect;
use clawscope::app::layout::Pane;
use clawscope::app::screens::explain::ExplainRow;
use clawscope::app::state::Overlay;
use clawscope::policy::Policy;

use crate::support::driver::Driver;

/// Returns the open explanation.
fn explanation(driver: &Driver) -> &clawscope::app::screens::explain::ExplainScreen {
    match driver.app.overlay() {
        Some(Overlay::Explain(screen)) => screen,
        other => panic!("{other:?}"),
    }
}

/// Moves the cursor of the explanation to a row.
fn go_to_row(driver: &mut Driver, wanted: ExplainRow) {
    let rows = &explanation(driver).rows;
    let at = rows.iter().position(|row| *row == wanted).expect("the row is on the page");
    driver.press("g");
    for _ in 0..at {
        driver.press("j");
    }
    assert_eq!(explanation(driver).selected(), Some(wanted));
}

#[test]
fn e_explains_the_session_and_enter_opens_the_evidence() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    driver.press("g e");
    let view = explanation(&driver).explanation().expect("read").clone();
    let verdict = view.verdict().expect("a verdict");
    assert_eq!(verdict.class, clawscope::report::explain::FindingClass::ParallelResults);
    let wanted = verdict.evidence()[1].entries[0];
    go_to_row(&mut driver, ExplainRow::Evidence(0, 1));
    driver.press("enter");
    assert!(driver.app.overlay().is_none() && driver.app.focus == Pane::Transcript);
    assert_eq!(driver.app.selected_entry(), Some(wanted));
}

#[test]
fn the_call_history_ends_with_the_refused_call_and_has_its_limits() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("e");
    let course = explanation(&driver).explanation().expect("read").course.clone();
    assert_eq!((course.calls.len(), course.total), (40, 135));
    let limits = (course.believed_window, course.served_limit, course.trigger);
    assert_eq!(limits, (Some(200_000), Some(200_000), Some(180_000)));
    assert_eq!(course.largest_accepted.map(|(_, tokens)| tokens), Some(176_174));
    let last = course.calls.last().expect("a call");
    assert_eq!((last.number, last.tokens, last.is_measured, last.is_refused), (135, 203_412, true, true));
    assert!(course.calls[..39].iter().all(|call| call.is_measured && !call.is_refused));
    let behind: Vec<u64> =
        course.calls.iter().filter(|call| call.compacted_before).map(|call| call.tokens).collect();
    assert_eq!(behind, [46_931], "the first call behind the one compaction");
}

#[test]
fn a_session_without_an_overflow_has_its_counted_calls_and_no_served_limit() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("whatsapp:group:120363041188");
    driver.press("e");
    let course = explanation(&driver).explanation().expect("read").course.clone();
    assert_eq!((course.calls.len(), course.total, course.served_limit), (40, 99, None));
    assert!(course.calls.iter().all(|call| call.is_measured && !call.is_refused && call.tokens > 0));
    assert_eq!(explanation(&driver).selected(), Some(ExplainRow::Evidence(0, 0)));
}

#[test]
fn the_cursor_visits_call_mechanism_guards_counts_changes_and_evidence_in_this_order() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    driver.press("e g");
    let mut seen = Vec::new();
    for _ in 0..explanation(&driver).rows.len() {
        seen.push(explanation(&driver).selected().expect("a row"));
        driver.press("j");
    }
    let kind = |row: &ExplainRow| match row {
        ExplainRow::Call => "call",
        ExplainRow::Mechanism => "mechanism",
        ExplainRow::Guard(_) => "guard",
        ExplainRow::Count(_) => "count",
        ExplainRow::WayOut(_) => "way out",
        ExplainRow::Advice(_) => "change",
        ExplainRow::OtherCall(_) => "event",
        ExplainRow::Finding(_) | ExplainRow::Evidence(..) => "finding",
    };
    let mut kinds: Vec<_> = seen.iter().map(kind).collect();
    kinds.dedup();
    assert_eq!(kinds, ["call", "mechanism", "guard", "count", "change", "finding"]);
    let page = explanation(&driver).page((130, 36));
    assert!(seen.iter().all(|row| page.row(*row).is_some()), "every row has a place");
}

#[test]
fn the_row_under_the_cursor_is_visible_at_every_size() {
    for (width, height) in [(130, 36), (110, 30), (80, 24), (60, 20)] {
        let mut driver = Driver::demo(width, height);
        driver.go_to("slack:channel:c07infra");
        driver.press("e g");
        for key in ["j", "k"] {
            for _ in 0..explanation(&driver).rows.len() {
                let screen = explanation(&driver);
                let size = (width, height);
                let area = screen.page(size).row(screen.selected().expect("a row")).expect("a place").area;
                let shown = screen.scroll.top..screen.scroll.top + screen.page_rows(size);
                let row = usize::from(area.y)..usize::from(area.bottom());
                assert!(shown.start <= row.start && row.end <= shown.end, "{shown:?} {row:?} {size:?}");
                driver.press(key);
            }
        }
        assert_eq!(explanation(&driver).scroll.top, 0, "the titles above the first row come back");
    }
}

#[test]
fn the_refused_call_leads_to_its_entry_and_copies_the_words_of_the_refusal() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    driver.press("g e");
    go_to_row(&mut driver, ExplainRow::Call);
    match driver.key_effects("y").as_slice() {
        [Effect::Copy { text, .. }] => {
            assert_eq!(text, "prompt is too long: 390607 tokens > 200000 maximum");
        }
        other => panic!("{other:?}"),
    }
    let refused = explanation(&driver).explanation().expect("read").overflows[0].entry;
    driver.press("enter");
    assert_eq!(driver.app.selected_entry(), Some(refused));
}

#[test]
fn a_change_that_would_have_helped_is_copied_as_a_patch() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("e");
    assert_eq!(explanation(&driver).selected(), Some(ExplainRow::Advice(0)), "the answer has the cursor");
    for key in ["y", "P"] {
        match driver.key_effects(key).as_slice() {
            [Effect::Copy { text, label: what }] => {
                assert!(text.contains("\"ttl\": \"30m\"") && *what == "config patch", "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    // On other rows the patch key copies the best change.
    go_to_row(&mut driver, ExplainRow::Guard(0));
    match driver.key_effects("P").as_slice() {
        [Effect::Copy { text, .. }] => assert!(text.contains("\"ttl\""), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn enter_takes_a_change_into_the_tuning_pane_with_the_preview_on() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("e enter");
    assert!(driver.app.overlay().is_none() && driver.app.focus == Pane::Tuning);
    let tuning = &driver.app.tuning;
    assert!(tuning.preview && tuning.policies.has(Policy::Prune) && driver.app.preview.plan.is_some());
    let row = tuning.focused_setting().expect("a row has the focus");
    assert_eq!(
        (row.name(), tuning.focused_row().map(|at| tuning.values[at].as_f64())),
        ("ttl", Some(Some(1_800_000.0)))
    );
    assert_eq!((0..tuning.rows.len()).filter(|at| tuning.is_changed(*at)).count(), 1);
    // Another change replaces it; it is not added.
    driver.press("2 e");
    go_to_row(&mut driver, ExplainRow::Advice(1));
    driver.press("enter");
    let tuning = &driver.app.tuning;
    let changed: Vec<_> =
        (0..tuning.rows.len()).filter(|at| tuning.is_changed(*at)).map(|at| tuning.rows[at].key()).collect();
    assert_eq!(changed, ["compaction.reserveTokens"], "{:?}", driver.app.toast);
}

#[test]
fn enter_on_a_row_without_an_entry_keeps_the_screen_open() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("slack:channel:c07infra");
    let requested = driver.key_effects("e");
    assert!(explanation(&driver).explanation().is_none());
    driver.append("{\"type\":\"custom\",\"customType\":\"x\",\"id\":\"late1\",\"parentId\":null,\"timestamp\":\"2026-03-05T15:00:00Z\"}\n");
    assert!(explanation(&driver).explanation().is_some(), "read again for what was added");
    let rows = explanation(&driver).rows.len();
    driver.perform(requested);
    assert_eq!(explanation(&driver).rows.len(), rows);
    go_to_row(&mut driver, ExplainRow::Guard(0));
    driver.press("enter");
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("no entry")));
    driver.press("esc");
    assert!(driver.app.overlay().is_none());
}
