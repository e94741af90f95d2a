//! The breakdown of the window.

use std::collections::BTreeSet;
use std::sync::Arc;

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::screens::breakdown::BreakdownScreen;
use clawscope::app::state::Overlay;
use clawscope::context::budget::BudgetPart;
use clawscope::ids::{EntryIx, Epoch};
use clawscope::report::breakdown::{Section, SectionKind, WindowContents};
use clawscope::store::body::BodyError;
use clawscope::units::Chars;

use super::tuned;
use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;

fn breakdown(driver: &Driver) -> &BreakdownScreen {
    match driver.app.overlay() {
        Some(Overlay::Breakdown(screen)) => screen,
        other => panic!("no breakdown: {other:?}"),
    }
}

/// The visible rows.
fn rows(driver: &Driver) -> usize {
    let lines = breakdown(driver).page.lines(76);
    lines.iter().filter_map(|line| line.row).collect::<BTreeSet<_>>().len()
}

#[test]
fn the_sections_of_the_window_add_up_to_the_bar() {
    let mut driver = Driver::demo(130, 36);
    for key in
        ["telegram:direct:8812", "slack:channel:c07infra", "research:main", "feishu:direct:ou_3f7c21ab"]
    {
        driver.go_to(key);
        driver.press("v w");
        let parts = |line: bool| -> u64 {
            let parts = breakdown(&driver).sections.iter().filter(|s| matches!(s.kind, SectionKind::Part(_)));
            let tokens = |section: &Section| {
                // A piece of a line is repeated below it; thinking is one number.
                let own = section
                    .lines
                    .iter()
                    .filter(|line| line.depth == 0)
                    .filter_map(|line| line.figure.tokens());
                if line && !section.lines.is_empty() {
                    own.sum()
                } else {
                    section.figure.tokens().unwrap_or(0)
                }
            };
            parts.map(tokens).sum()
        };
        let total = driver.app.displayed_session().expect("a session").next_prompt.total.tokens;
        assert_eq!((parts(false), parts(true)), (total, total), "{key}");
        assert!(
            breakdown(&driver)
                .blocks
                .values()
                .all(|block| block.as_ref().is_ok_and(|block| block.chars > Chars(0.0)))
        );
        driver.press("v w");
        assert!(driver.app.overlay().is_none());
    }
}

#[test]
fn a_heavy_message_leads_to_its_row_in_the_transcript() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("3 z v w - j j j j j j j j j l j j enter");
    assert!(driver.app.overlay().is_none() && !driver.app.zoom);
    assert_eq!(driver.app.focus, Pane::Transcript);
    let session = driver.app.displayed_session().expect("a session");
    let second = WindowContents::new(session, None).heaviest[1];
    assert_eq!(driver.app.selected_entry(), Some(second.entry));
}

#[test]
fn sections_fold_and_keep_the_cursor() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("telegram:direct:8812");
    driver.press("v w -");
    let sections = breakdown(&driver).sections.len();
    assert_eq!(rows(&driver), sections);
    driver.press("j space");
    assert_eq!(rows(&driver), sections + 18, "a row for each tool");
    driver.press("j j j h");
    assert_eq!(
        (rows(&driver), breakdown(&driver).page.row().expect("a row").title()),
        (sections, "Tool schemas")
    );
    driver.press("+ G");
    let page = &breakdown(&driver).page;
    assert_eq!(page.selected + 1, page.doc.rows().count());
    assert!(page.top > 0);
    driver.press("g y esc");
    assert!(driver.copied[0].starts_with("System prompt  9,8"), "{:?}", driver.copied);
    assert!(driver.app.overlay().is_none());
}

#[test]
fn a_preview_shows_each_part_of_the_window_after_the_plan() {
    let mut driver = tuned();
    driver.press("v w");
    let session = driver.app.displayed_session().expect("a session");
    let plan = driver.app.preview.plan.as_ref().expect("a plan");
    let after = session.next_budget_after(plan);
    assert_eq!(driver.app.preview.totals.after, Some(after));
    let screen = breakdown(&driver);
    let parts = screen.sections.iter().filter(|section| matches!(section.kind, SectionKind::Part(_)));
    assert_eq!(parts.map(|section| section.after.expect("a plan")).sum::<u64>(), after.total());
    let results =
        screen.sections.iter().find(|section| section.kind == SectionKind::Part(BudgetPart::Results));
    let results = results.expect("results");
    let lines: u64 = results.lines.iter().map(|line| line.after.expect("a plan")).sum();
    assert_eq!(Some(lines), results.after);
    assert!(results.figure.tokens() > results.after);
}

#[test]
fn the_window_grows_with_its_session_while_it_is_shown() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("v w j j");
    let before = breakdown(&driver).contents.now.budget.total();
    let selected = breakdown(&driver).page.row().expect("a row").title().to_owned();
    let leaf = driver.app.displayed_session().expect("a session").index.entries.len() - 1;
    let session = driver.app.displayed_session().expect("a session");
    let parent = session.index.display_id(clawscope::ids::EntryIx(leaf as u32));
    let text = "x".repeat(400_000);
    driver.append(&format!(
        "{{\"type\":\"message\",\"id\":\"huge\",\"parentId\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
    ));
    let screen = breakdown(&driver);
    let now = driver.app.displayed_session().expect("a session").next_prompt.total;
    assert_eq!(screen.contents.total(), now);
    assert!(now.tokens > before + 90_000 && now.is_estimate(), "{now:?} {before}");
    assert_eq!(screen.page.row().expect("a row").title(), selected);
    let heaviest = screen.contents.heaviest[0].entry;
    assert_eq!(screen.blocks[&heaviest].as_ref().expect("read").chars, Chars(400_000.0));
}

#[test]
fn blocks_of_an_older_reading_are_dropped() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    let requested = driver.key_effects("v w");
    assert!(
        matches!(requested.as_slice(), [.., Effect::ReadBlocks { .. }] | [Effect::ReadBlocks { .. }, ..]),
        "{requested:?}"
    );
    let changed = BodyError::Changed { path: "a.jsonl".to_owned(), line: 1 };
    let blocks = [(EntryIx(0), Err(Arc::new(changed)))].into();
    driver.event(Event::Blocks { epoch: Epoch(9_999), blocks });
    assert!(breakdown(&driver).blocks.is_empty());
    driver.perform(requested);
    assert_eq!(breakdown(&driver).blocks.len(), breakdown(&driver).contents.heaviest.len());
}

#[test]
fn the_title_keeps_the_sum_on_a_narrow_screen() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("telegram:direct:8812");
    driver.press(":breakdown");
    let title = text_of(&drawn(&driver.app, &dark()));
    assert!(title.contains("203,412 · 102% of the window"), "{title}");
}
