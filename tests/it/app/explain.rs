//! The explanation screen.

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::screens::explain::{ExplainBlock, ExplainRow, FoldedReport};
use clawscope::app::state::Overlay;
use clawscope::app::target::Target;
use clawscope::context::budget::BudgetPart;
use clawscope::policy::Policy;
use clawscope::policy::settings::SettingId;
use clawscope::report::explain::Question;
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;
use crate::support::screens::todays_pi;

/// The sizes at which the answer must be visible.
const SIZES: [(u16, u16); 4] = [(160, 45), (120, 36), (80, 24), (60, 20)];

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

/// Opens the explanation of a demo session.
fn explained(key: &str, width: u16, height: u16) -> Driver {
    let mut driver = Driver::demo(width, height);
    driver.go_to(key);
    driver.press("e");
    driver
}

/// Today's pi after a refused call.
fn refused_pi(width: u16, height: u16) -> Driver {
    let mut driver = todays_pi(width, height);
    let session = driver.app.displayed_session().expect("a session");
    let leaf = session.index.display_id(session.context.leaf.expect("a leaf"));
    let message = serde_json::json!({ "role": "assistant", "content": [], "provider": "anthropic", "model": "claude-opus-4-5",
        "api": "anthropic-messages", "stopReason": "error", "timestamp": 1_792_488_000_000_i64,
        "errorMessage": "prompt is too long: 204500 tokens > 200000 maximum" });
    let line = serde_json::json!({ "type": "message", "id": "0badca11", "parentId": leaf,
        "timestamp": "2026-10-20T09:20:00.000Z", "message": message });
    driver.append(&format!("{line}\n"));
    driver.press("e");
    driver
}

/// Returns the drawn frame, and the rows of changes and ways out that it shows in full.
fn frame_and_fixes(driver: &Driver) -> (String, usize) {
    let (screen, size) = (explanation(driver), driver.app.size);
    let shown = screen.scroll.top..screen.scroll.top + screen.page_rows(size);
    let is_fix = |row: &ExplainRow| {
        matches!(row, ExplainRow::Line(ExplainBlock::Answer(Question::Advice | Question::WaysOut), _))
    };
    let page = screen.page(size);
    let placed = page.blocks.iter().flat_map(|block| &block.rows).filter(|placed| is_fix(&placed.row));
    let visible = placed.filter(|placed| {
        shown.contains(&usize::from(placed.area.y)) && usize::from(placed.area.bottom()) <= shown.end
    });
    (text_of(&drawn(&driver.app, &dark())), visible.count())
}

#[test]
fn headline_fixes_and_patch_are_visible_at_every_size() {
    let (width, height) = SIZES[0];
    let mut shapes = vec![
        (
            "fixes",
            explained("telegram:direct:8812", width, height),
            "Overflowed: pruning did",
            "contextPruning",
        ),
        ("no fix", explained("slack:channel:c07infra", width, height), "Overflowed: 3 parallel", "channels"),
        ("pi", refused_pi(width, height), "Overflowed", "compaction"),
    ];
    let mut healthy = explained("whatsapp:group:120363041188", width, height);
    for (width, height) in SIZES {
        for (shape, driver, headline, key) in &mut shapes {
            driver.event(Event::Resize { width, height });
            let (frame, fixes) = frame_and_fixes(driver);
            let patch = format!("\"{key}\": ");
            assert!(frame.contains(*headline) && frame.contains(&patch), "{shape} {width}x{height}\n{frame}");
            assert!(fixes >= 2.min(explanation(driver).explanation().expect("read").advice.len()), "{frame}");
            assert_eq!(explanation(driver).selected(), Some(ExplainRow::of(Question::Advice, 0)), "{frame}");
            assert!(frame.contains("Patch for a"), "{frame}");
        }
        healthy.event(Event::Resize { width, height });
        let (frame, _) = frame_and_fixes(&healthy);
        assert!(frame.contains("Fits: 161k to spare") && frame.contains("Findings"), "{frame}");
    }
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
    go_to_row(&mut driver, ExplainRow::of(Question::Findings, 1));
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
    assert_eq!(explanation(&driver).selected(), Some(ExplainRow::of(Question::Findings, 0)));
}

#[test]
fn the_cursor_visits_changes_call_parts_guards_counts_and_evidence_in_this_order() {
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
        ExplainRow::Headline(report) | ExplainRow::Line(ExplainBlock::Folded(report), _) => match report {
            FoldedReport::Recovery => "recovery",
            FoldedReport::Estimators => "estimators",
        },
        ExplainRow::Line(ExplainBlock::Answer(question), _) => match question {
            Question::Parts => "part",
            Question::Guards => "guard",
            Question::Counts => "count",
            Question::WaysOut => "way out",
            Question::Advice => "change",
            Question::Overflows => "call",
            Question::GatewayRecord => "gateway",
            Question::Findings => "finding",
        },
        ExplainRow::Line(..) => "drawn",
    };
    let mut kinds: Vec<_> = seen.iter().map(kind).collect();
    kinds.dedup();
    assert_eq!(kinds, ["change", "call", "part", "guard", "count", "finding", "recovery", "estimators"]);
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
fn a_change_is_copied_as_a_patch_and_as_a_command() {
    let mut driver = explained("telegram:direct:8812", 60, 20);
    let patch = r#""ttl": "30m""#;
    for (key, wanted) in [
        ("y", patch),
        (":copy-patch", patch),
        ("Y", "openclaw config set agents.defaults.contextPruning.ttl 30m"),
    ] {
        driver.press(key);
        assert!(driver.copied.last().is_some_and(|text| text.contains(wanted)), "{key} {:?}", driver.copied);
    }
    driver.press("j Y");
    let second = "openclaw config set agents.defaults.compaction.reserveTokens 30000";
    assert_eq!(driver.copied.last().map(String::as_str), Some(second), "of the change under the cursor");
    // On other rows both keys copy the best change.
    go_to_row(&mut driver, ExplainRow::of(Question::Guards, 0));
    for (key, wanted) in [(":copy-patch", patch), ("Y", "contextPruning.ttl 30m")] {
        driver.press(key);
        assert!(driver.copied.last().is_some_and(|text| text.contains(wanted)), "{key} {:?}", driver.copied);
    }
}

#[test]
fn for_pi_the_path_of_its_settings_is_copied_as_no_command_sets_them() {
    let mut driver = refused_pi(80, 24);
    driver.press("y");
    assert!(driver.copied.last().is_some_and(|text| text.contains(r#""compaction""#)), "{:?}", driver.copied);
    driver.press("Y");
    assert!(driver.copied.last().is_some_and(|text| text.ends_with("settings.json")), "{:?}", driver.copied);
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
    go_to_row(&mut driver, ExplainRow::of(Question::Advice, 1));
    driver.press("enter");
    let tuning = &driver.app.tuning;
    let changed: Vec<_> =
        (0..tuning.rows.len()).filter(|at| tuning.is_changed(*at)).map(|at| tuning.rows[at].key()).collect();
    assert_eq!(changed, ["compaction.reserveTokens"], "{:?}", driver.app.toast);
    // The rows, the bar and the verdict are about one prompt: with the summary, and without it where the trigger was too high.
    let planned = |driver: &Driver| {
        let preview = &driver.app.preview;
        let effects = preview.plan.as_ref().map_or(&[][..], |plan| &plan.effects);
        let compacts = effects.iter().any(|effect| effect.policy == Policy::Compact);
        (compacts, preview.totals.after.map(|after| after.total()))
    };
    let outcome = driver.app.replay_outcome().and_then(|outcome| outcome.tuned).expect("replayed");
    assert_eq!(planned(&driver), (true, outcome.failing_call_tokens));
    assert!(!outcome.failing_call_overflows && outcome.failing_call_tokens < Some(100_000), "{outcome:?}");
    driver.press("backspace");
    assert_eq!(planned(&driver), (false, Some(203_412)), "20,000 leave the trigger at 180,000");
    let screen = text_of(&drawn(&driver.app, &dark()));
    assert!(screen.contains("No compaction before this call: the trigger is 180k"), "{screen}");
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
    go_to_row(&mut driver, ExplainRow::of(Question::Guards, 0));
    driver.press("enter");
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("no entry")));
    driver.press("esc");
    assert!(driver.app.overlay().is_none());
}

#[test]
fn a_limit_of_files_takes_its_tokens_from_the_files_alone() {
    let mut driver = explained("telegram:direct:8812", 130, 36);
    let advice = &explanation(&driver).explanation().expect("read").advice;
    let at =
        advice.iter().position(|it| it.changes[0].id == SettingId::BootstrapTotalMaxChars).expect("tried");
    go_to_row(&mut driver, ExplainRow::of(Question::Advice, at));
    driver.press("enter");
    assert_eq!(driver.app.target, Target::FailedCall);
    let totals = &driver.app.preview.totals;
    let (now, after) = (totals.current, totals.after.expect("a preview"));
    for part in BudgetPart::ALL {
        let (now, after) = (now.tokens(part), after.tokens(part));
        if part == BudgetPart::Files {
            assert!(after < now, "{now} {after}");
        } else {
            assert!(now.abs_diff(after) <= 4, "{}: {now} {after}", part.name());
        }
    }
    let tuned = driver.app.target_tokens().and_then(|(_, _, tuned)| tuned);
    assert_eq!(Some(after.total()), tuned);
    driver.press("a");
    assert_eq!(driver.app.target, Target::NextCall);
    let totals = &driver.app.preview.totals;
    let results = totals.after.expect("a preview").tokens(BudgetPart::Files);
    assert!(results < totals.current.tokens(BudgetPart::Files), "the next call has smaller files too");
}

#[test]
fn tab_goes_from_block_to_block() {
    let mut driver = explained("telegram:direct:8812", 130, 36);
    let block = |driver: &Driver| match explanation(driver).selected() {
        Some(ExplainRow::Line(block, 0)) => Some(block),
        Some(ExplainRow::Call) => Some(ExplainBlock::Call),
        _ => None,
    };
    assert_eq!(block(&driver), Some(ExplainBlock::Answer(Question::Advice)));
    driver.press("j tab");
    assert_eq!(block(&driver), Some(ExplainBlock::Call));
    driver.press("tab");
    assert_eq!(block(&driver), Some(ExplainBlock::Answer(Question::Parts)));
    driver.press("backtab backtab");
    assert_eq!(block(&driver), Some(ExplainBlock::Answer(Question::Advice)));
}

#[test]
fn a_click_selects_a_row_and_opens_a_fold() {
    let mut driver = explained("telegram:direct:8812", 130, 60);
    let screen = explanation(&driver);
    let size = driver.app.size;
    let top = driver.app.layout().header.bottom() + screen.headline_rows(size);
    let place = |driver: &Driver, row| {
        let screen = explanation(driver);
        let area = screen.page(size).row(row).expect("placed").area;
        (area.x + 4, top + area.y - screen.scroll.top as u16)
    };
    let third = ExplainRow::of(Question::Advice, 2);
    let click = |driver: &mut Driver, (column, row)| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        driver.event(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
    };
    let at = place(&driver, third);
    click(&mut driver, at);
    assert_eq!(explanation(&driver).selected(), Some(third));
    driver.press("G");
    let head = ExplainRow::Headline(FoldedReport::Recovery);
    let is_open = |driver: &Driver| explanation(driver).recovery.is_open;
    let before = is_open(&driver);
    let at = place(&driver, head);
    click(&mut driver, at);
    assert_eq!(explanation(&driver).selected(), Some(head));
    assert_ne!(is_open(&driver), before, "one click");
}

#[test]
fn a_change_that_only_postpones_has_its_reason_at_every_width() {
    let driver = explained("telegram:direct:8812", 80, 40);
    let frame = text_of(&drawn(&driver.app, &dark()));
    let line = frame.lines().find(|line| line.contains("bootstrapTotalMaxChars 150,000")).expect("the row");
    assert!(line.contains("✗") && line.contains("0 ("), "{frame}");
}

/// The rows of the screen between the titles of two blocks.
fn block_lines(screen: &str, title: &str) -> Vec<String> {
    let rows = screen.lines().skip_while(|row| !row.contains(title)).skip(1);
    rows.take_while(|row| !row.starts_with(['─', '━'])).map(str::to_owned).collect()
}

#[test]
fn a_low_screen_shows_fixes_and_evidence_between_headline_and_patch() {
    for key in ["telegram:direct:8812", "slack:channel:c07infra"] {
        let driver = explained(key, 60, 20);
        let screen = text_of(&drawn(&driver.app, &dark()));
        let fixes = screen.lines().filter(|row| row.contains(" ✓ ") || row.contains(" ✗ "));
        assert!(fixes.count() >= 2, "{screen}");
        assert!(screen.contains("sent, the limit is 200,000"), "{screen}");
        let page = explanation(&driver).page_rows(driver.app.size);
        assert!(page * 2 > usize::from(driver.app.size.1), "{page} rows of\n{screen}");
    }
}

#[test]
fn the_provider_s_error_has_more_lines_than_a_patch_on_a_low_screen() {
    let mut driver = explained("telegram:direct:8812", 60, 20);
    assert_eq!(explanation(&driver).footer_rows((60, 20)), 2);
    go_to_row(&mut driver, ExplainRow::Call);
    assert_eq!(explanation(&driver).footer_rows((60, 20)), 4);
    let screen = text_of(&drawn(&driver.app, &dark()));
    assert!(screen.contains("prompt is too long: 203412 tokens"), "{screen}");
}

#[test]
fn sentences_use_the_width_of_a_narrow_page() {
    let driver = explained("telegram:direct:8812", 80, 120);
    let screen = text_of(&drawn(&driver.app, &dark()));
    for (title, sentence) in [
        (
            "Why nothing prevented it",
            "by its rules it should have cut results, but the provider counted them",
        ),
        ("Who counted what", "compared with the thresholds of pruning and of the context guard"),
        (
            "Evidence and other findings",
            "cache-misses · sure: Cache misses are most of the cost of all branches:",
        ),
        ("Evidence and other findings", "pause longer than the cache lifetime: 27 calls, 2,463,147"),
    ] {
        let lines = block_lines(&screen, title);
        assert!(lines.iter().any(|line| line.contains(sentence)), "{sentence} in\n{}", lines.join("\n"));
    }
}
