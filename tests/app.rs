//! What a person does, key by key, without a terminal.

#![allow(clippy::expect_used, clippy::panic, reason = "a test program fails loudly")]

#[path = "support/driver.rs"]
#[allow(dead_code, reason = "other programs use the rest")]
mod driver;

use std::sync::Arc;

use clawscope::app::breakdown::BreakdownScreen;
use clawscope::app::compare::SweepUpdate;
use clawscope::app::effect::Effect;
use clawscope::app::estimators::EstimatesState;
use clawscope::app::event::Event;
use clawscope::app::explain::ExplainRow;
use clawscope::app::layout::Pane;
use clawscope::app::message::MessageView;
use clawscope::app::state::{Overlay, UpdateMode, WriteStage};
use clawscope::context::budget::BudgetPart;
use clawscope::context::rows::RowKind;
use clawscope::ids::{EntryIx, Epoch};
use clawscope::policy::{Fate, Policy};
use clawscope::report::breakdown::{Section, SectionKind, WindowContents};
use clawscope::session::Mark;
use clawscope::store::entry::Role;
use driver::Driver;

fn rows(driver: &Driver) -> usize {
    driver.app.transcript.as_ref().expect("a session").rows.len()
}

/// The overflowed build session under a plan with the gates taken as open.
fn tuned() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("p");
    driver
}

#[test]
fn the_newest_session_is_open_at_its_last_row() {
    let driver = Driver::demo(130, 36);
    let live =
        driver.app.sessions.items.iter().filter(|item| !item.has(Mark::Missing) && !item.has(Mark::Orphan));
    let newest = live
        .filter(|item| !item.marks.iter().any(|mark| mark.is_archive()))
        .filter_map(|item| item.updated_ms)
        .max();
    let session = driver.app.displayed_session().expect("a session");
    assert_eq!(session.item.updated_ms, newest);
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!(pane.scroll.cursor + 1, pane.rows.len());
    assert!(pane.follow);
    assert!(pane.rows.iter().skip(pane.scroll.top).all(|row| pane.excerpts.contains_key(&row.entry)));
}

#[test]
fn a_session_is_exported_from_the_screen_with_the_plan_that_is_shown() {
    let mut driver = tuned();
    driver.press("4 j j j H H H X");
    let (name, page) = driver.saved.last().cloned().expect("a page");
    assert_eq!(name, "agent-main-telegram-direct-8812.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("id=\"plan\""));
    driver.press("p : text:export-json enter");
    let (name, text) = driver.saved.last().cloned().expect("JSON");
    assert!(name == "agent-main-telegram-direct-8812.json" && text.contains("\"plan\":null"), "{name}");
    driver.press(": text:export-pi enter");
    let (name, text) = driver.saved.last().cloned().expect("a transcript");
    assert!(
        name == "agent-main-telegram-direct-8812.jsonl"
            && text.starts_with("{\"type\":\"session\",\"version\":3"),
        "{name}"
    );
    let loaded = driver.app.displayed_session().cloned();
    match driver.held_key("S").as_slice() {
        [Effect::SaveScreen { session: Some(shown) }] => {
            assert!(Arc::ptr_eq(shown, &loaded.expect("one")));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_configuration_that_the_gateway_refuses_is_reported_on_the_screen_with_line_and_column() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(dir.path().join("agents/main/sessions")).expect("folders");
    let mut file = std::fs::File::create(dir.path().join("openclaw.json")).expect("a file");
    std::io::Write::write_all(&mut file, b"{\n session: { scope: 'all' } }").expect("written");
    let driver = Driver::on(dir, 130, 36);
    let toast = driver.app.toast.as_ref().expect("a word");
    assert!(
        toast.is_error && toast.text.contains("openclaw.json:2:13: session.scope: expected"),
        "{}",
        toast.text
    );
    let listing = driver.app.listing.as_ref().expect("a list");
    assert!(listing.config_error.is_some() && !listing.findings.is_empty());
}

#[test]
fn the_rules_of_another_version_fix_settings_and_plan_anew() {
    use clawscope::gateway::ruleset::Ruleset;
    let mut driver = tuned();
    let ruleset = |driver: &Driver| {
        let open = driver.app.displayed_session().expect("a session").ruleset.clone();
        let listed = driver.app.listing.as_ref().expect("a list").ruleset.clone();
        assert_eq!(open, listed);
        open
    };
    assert_eq!(ruleset(&driver).id, Ruleset::V2026_3_2);
    driver.press("4 j j");
    assert_eq!(
        driver.app.tuning.focused_setting().map(clawscope::policy::settings::SettingRow::name),
        Some("softTrimRatio")
    );
    driver.press("l l");
    assert!(driver.app.tuning.has_changes());
    // Through all rulesets in between, to the newest.
    let on = Ruleset::ALL.iter().position(|known| *known == Ruleset::V2026_9_2).expect("known")
        - Ruleset::ALL.iter().position(|known| *known == Ruleset::V2026_3_2).expect("known");
    driver.press(&"V ".repeat(on));
    assert_eq!(
        (ruleset(&driver).id, ruleset(&driver).provenance_text().as_str()),
        (Ruleset::V2026_9_2, "chosen on the screen")
    );
    assert!(!driver.app.tuning.has_changes());
    driver.press("l L e 0");
    assert!(!driver.app.tuning.has_changes() && driver.app.input.is_none());
    let words = driver.app.toast.as_ref().map(|toast| toast.text.clone());
    assert_eq!(words.as_deref(), Some("softTrimRatio is built in since 2026.8.1"));
    driver.press("k k l");
    assert!(driver.app.tuning.has_changes(), "the ttl is a setting still");
    let settings = driver.app.plan.as_ref().expect("a plan").settings.prune.clone();
    assert_eq!(settings.soft_trim_ratio, 0.3);
    // Around the end: pi's two, then the oldest.
    driver.press("V V V V V V V");
    assert_eq!(ruleset(&driver).id, Ruleset::V2026_2_19);
    driver.press("i");
    assert!(driver.app.plan.as_ref().is_some_and(|plan| plan.is_empty()), "that version never prunes");
}

#[test]
fn typing_a_filter_narrows_the_sessions_and_enter_opens_the_match() {
    let mut driver = Driver::demo(130, 36);
    let all = driver.app.sessions.session_count();
    driver.press("1 / text:slack");
    assert!(driver.app.sessions.session_count() < all);
    driver.press("enter");
    assert!(driver.app.displayed_session().expect("a session").item.key.0.contains("slack"));
    assert_eq!(driver.app.focus, Pane::Transcript);
}

#[test]
fn the_first_esc_clears_the_filter_and_the_second_leaves_it() {
    let mut driver = Driver::demo(130, 36);
    let all = driver.app.sessions.session_count();
    driver.press("1 / text:zzzzqq");
    assert_eq!(driver.app.sessions.session_count(), 0);
    driver.press("esc");
    assert_eq!((driver.app.sessions.session_count(), driver.app.input.is_some()), (all, true));
    driver.press("esc");
    assert!(driver.app.input.is_none());
}

#[test]
fn moving_over_the_sessions_opens_each() {
    let mut driver = Driver::demo(130, 36);
    let shown = |driver: &Driver| driver.app.displayed_session().map(|session| session.item.key.clone());
    driver.press("1 G");
    let last = shown(&driver).expect("a session");
    driver.press("k");
    assert_ne!(shown(&driver).expect("a session"), last);
}

#[test]
fn space_folds_the_turn_and_unfolds_it_again() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    let before = rows(&driver);
    driver.press("2 k k space");
    assert!(rows(&driver) < before);
    let row = *driver.app.transcript.as_ref().and_then(|pane| pane.selected()).expect("a row");
    assert!(matches!(row.kind, RowKind::Turn { entries } if entries > 1));
    driver.press("space");
    assert_eq!(rows(&driver), before);
}

#[test]
fn a_folded_branch_opens_to_its_entries() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    let before = rows(&driver);
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    let branch =
        pane.rows.iter().position(|row| matches!(row.kind, RowKind::Branch { .. })).expect("a branch");
    let up = pane.scroll.cursor - branch;
    driver.press("2");
    driver.press(&"k ".repeat(up));
    driver.press("l");
    assert!(rows(&driver) > before);
    driver.press("h");
    assert_eq!(rows(&driver), before);
}

#[test]
fn the_preview_gives_every_message_a_fate_and_the_total_falls() {
    let driver = tuned();
    let plan = driver.app.plan.as_ref().expect("a plan");
    assert_eq!(plan.fates().len(), driver.app.displayed_session().expect("a session").context.messages.len());
    assert!(plan.count(Fate::SoftTrimmed) + plan.count(Fate::Cleared) > 5);
    assert!(plan.total_after() < plan.total_before() / 2);
}

#[test]
fn a_shut_gate_is_looked_past_until_it_is_executed() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("llvm-notes");
    driver.press("p");
    assert!(driver.app.plan.as_ref().expect("a plan").gate.is_open());
    driver.press("i");
    let plan = driver.app.plan.as_ref().expect("a plan");
    assert!(!plan.gate.is_open(), "{:?}", plan.gate);
    assert!(plan.is_empty());
}

#[test]
fn moving_a_threshold_changes_the_rows_at_once_and_zero_takes_it_back() {
    let mut driver = tuned();
    driver.press("4");
    let at = driver
        .app
        .tuning
        .rows
        .iter()
        .position(|row| row.setting.name() == "hardClearRatio")
        .expect("the row");
    driver.press(&"j ".repeat(at - driver.app.tuning.policy_rows().start));
    let before = driver.app.plan.as_ref().expect("a plan").total_after();
    driver.press("H H H");
    let after = driver.app.plan.as_ref().expect("a plan").total_after();
    assert!(after < before, "{after} < {before}");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    let fixed = pane.session.budget().fixed_tokens();
    assert_eq!(pane.running_totals.last().copied(), Some(fixed + after));
    assert!(driver.app.flash.total);
    assert!(driver.app.tuning.has_changes());
    driver.press("c");
    assert_eq!(driver.app.plan.as_ref().expect("a plan").total_after(), before);
    assert!(!driver.app.tuning.has_changes());
}

#[test]
fn a_value_can_be_typed_and_a_wrong_one_says_what_was_expected() {
    let mut driver = tuned();
    driver.press("4 e");
    assert!(driver.app.input.is_some());
    driver.press("ctrl-u text:soon enter");
    assert!(driver.app.input.as_ref().is_some_and(|prompt| prompt.error.is_some()));
    driver.press("ctrl-u text:2h enter");
    assert!(driver.app.input.is_none());
    assert_eq!(driver.app.tuning.prune_settings().ttl_ms, 7_200_000.0);
}

#[test]
fn the_patch_that_is_copied_names_what_was_moved() {
    let mut driver = tuned();
    driver.press("4 j j j h y");
    let patch = driver.copied.last().expect("copied");
    assert!(patch.contains("hardClearRatio"), "{patch}");
    assert!(patch.contains("contextPruning"), "{patch}");
}

#[test]
fn the_diff_shows_a_changed_message_before_and_after() {
    let mut driver = tuned();
    driver.press("2 { d");
    assert_eq!(driver.app.message.view, MessageView::Diff);
    assert!(driver.app.zoom);
    let text = driver.app.message.text.as_ref().expect("a message");
    let after = text.planned_text.as_ref().expect("a text under the plan");
    assert!(after.contains("[Tool result trimmed") || after.contains("cleared"), "{after}");
    driver.press("esc");
    assert!(!driver.app.zoom);
}

#[test]
fn a_search_goes_to_matches_and_unfolds_what_hides_them() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("2 - / text:libatomic enter");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert!(pane.matches.len() > 1);
    let first = pane.selected().expect("a row").entry;
    assert!(pane.matches.contains(&first));
    driver.press("n");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    let second = pane.selected().expect("a row").entry;
    assert!(second != first && pane.matches.contains(&second));
    driver.press("N");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!(pane.selected().expect("a row").entry, first);
}

#[test]
fn a_commit_is_requested_written_and_undone_without_touching_an_old_byte() {
    let mut driver = tuned();
    let old = std::fs::read(driver.path()).expect("the transcript");
    let (before, after) = {
        let plan = driver.app.plan.as_ref().expect("a plan");
        (plan.total_before(), plan.total_after())
    };
    driver.press("2 c");
    let Some(Overlay::Write(dialog)) = &driver.app.overlay else { panic!("no dialog") };
    let WriteStage::Confirming(shown) = &dialog.stage else { panic!("{:?}", dialog.stage) };
    assert!(shown.entries > 1);
    assert_eq!(std::fs::read(driver.path()).expect("the transcript"), old, "asking writes nothing");
    driver.press("enter");
    assert!(driver.app.overlay.is_some(), "enter decides nothing");
    driver.press("y");
    assert!(driver.app.overlay.is_none(), "{:?}", driver.app.overlay);
    let new = std::fs::read(driver.path()).expect("the transcript");
    assert!(new.starts_with(&old) && new.len() > old.len());
    let tokens =
        |driver: &Driver| driver.app.transcript.as_ref().expect("a transcript").tokens.iter().sum::<u64>();
    assert_eq!(tokens(&driver), after);
    driver.press("u y");
    assert!(driver.app.overlay.is_none(), "{:?}", driver.app.overlay);
    assert_eq!(tokens(&driver), before);
    assert!(std::fs::read(driver.path()).expect("the transcript").starts_with(&new));
}

#[test]
fn n_leaves_the_dialog_and_nothing_is_written() {
    let mut driver = tuned();
    let old = std::fs::read(driver.path()).expect("the transcript");
    driver.press("2 c n");
    assert!(driver.app.overlay.is_none());
    assert_eq!(std::fs::read(driver.path()).expect("the transcript"), old);
}

#[test]
fn a_file_that_changed_since_it_was_read_is_refused() {
    let mut driver = tuned();
    driver.press("2 c");
    let line = "{\"type\":\"custom\",\"customType\":\"x\",\"data\":{},\"id\":\"ffffffff\",\"parentId\":null,\"timestamp\":\"2026-03-05T14:06:41.000Z\"}\n";
    driver::append_to(&driver.path(), line);
    driver.press("y");
    let Some(Overlay::Write(dialog)) = &driver.app.overlay else { panic!("no dialog") };
    assert!(matches!(&dialog.stage, WriteStage::Refused(_)), "{:?}", dialog.stage);
}

const APPENDED: &str = "{\"type\":\"message\",\"id\":\"feedf00d\",\"parentId\":\"PARENT\",\"timestamp\":\"2026-03-05T14:06:41.000Z\",\"message\":{\"role\":\"user\",\"content\":\"one more thing\",\"timestamp\":1772719601000}}\n";

fn appended(driver: &Driver) -> String {
    let index = &driver.app.displayed_session().expect("a session").index;
    APPENDED.replace("PARENT", &index.display_id(index.last().expect("an entry")))
}

#[test]
fn what_is_appended_appears_and_the_cursor_follows() {
    let mut driver = Driver::demo(130, 36);
    let before = rows(&driver);
    let line = appended(&driver);
    driver.append(&line);
    assert_eq!(rows(&driver), before + 1);
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!(pane.scroll.cursor, before);
    let entry = pane.selected().expect("a row").entry;
    assert_eq!(pane.excerpts[&entry].text, "one more thing");
    assert_eq!(pane.session.index.entry(entry).role(), Some(Role::User));
}

#[test]
fn half_a_line_is_waited_for() {
    let mut driver = Driver::demo(130, 36);
    let before = rows(&driver);
    let line = appended(&driver);
    let (first, second) = line.split_at(60);
    driver.append(first);
    assert_eq!(rows(&driver), before);
    driver.append(second);
    assert_eq!(rows(&driver), before + 1);
}

#[test]
fn a_person_who_scrolled_up_stays_where_they_are() {
    let mut driver = Driver::demo(130, 36);
    driver.press("2 pgup");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    let (entry, top) = (pane.selected().expect("a row").entry, pane.scroll.top);
    let line = appended(&driver);
    driver.append(&line);
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!((pane.selected().expect("a row").entry, pane.scroll.top), (entry, top));
    driver.press("G");
    assert!(driver.app.transcript.as_ref().expect("a transcript").follow);
}

#[test]
fn paused_changes_are_counted_and_come_with_resuming() {
    let mut driver = Driver::demo(130, 36);
    let before = rows(&driver);
    driver.press("F");
    let line = appended(&driver);
    driver.append(&line);
    assert_eq!(driver.app.update_mode, UpdateMode::Paused { changes: 1 });
    assert_eq!(rows(&driver), before);
    driver.press("F");
    assert_eq!((driver.app.update_mode, rows(&driver)), (UpdateMode::Live, before + 1));
}

#[test]
fn a_rewritten_file_is_read_anew() {
    let mut driver = Driver::demo(130, 36);
    let path = driver.path();
    let text = std::fs::read_to_string(&path).expect("the transcript");
    let half: String = text.lines().take(9).flat_map(|line| [line, "\n"]).collect();
    let mut file = std::fs::File::create(&path).expect("the transcript");
    std::io::Write::write_all(&mut file, half.as_bytes()).expect("rewrites");
    driver.event(Event::FilesChanged(vec![path]));
    assert_eq!(driver.app.displayed_session().expect("a session").index.entries.len(), 8);
}

#[test]
fn a_pasted_entry_id_goes_to_the_entry() {
    let mut driver = Driver::demo(130, 36);
    let session = driver.app.displayed_session().expect("a session");
    let entry = session.context.messages[3].entry;
    let name = session.index.display_id(entry);
    driver.event(Event::Paste(name));
    assert_eq!(driver.app.selected_entry(), Some(entry));
}

#[test]
fn the_palette_runs_an_action_by_name() {
    let mut driver = Driver::demo(130, 36);
    driver.press(": text:prune enter");
    assert!(driver.app.plan.is_some());
}

#[test]
fn a_session_that_is_not_written_yet_says_so() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:9020");
    assert!(driver.app.transcript.is_none());
    let (_, error) = driver.app.open_error.as_ref().expect("a reason");
    assert!(error.contains("no such file yet"), "{error}");
}

#[test]
fn overflowed_sessions_are_marked() {
    let driver = Driver::demo(130, 36);
    driver.app.displayed_session().expect("a session");
    let mut driver = driver;
    driver.go_to("telegram:direct:8812");
    let item = &driver.app.displayed_session().expect("a session").item;
    assert!(item.has(Mark::Overflow), "{:?}", item.marks);
}

fn breakdown(driver: &Driver) -> &BreakdownScreen {
    match &driver.app.overlay {
        Some(Overlay::Breakdown(screen)) => screen,
        other => panic!("no breakdown: {other:?}"),
    }
}

#[test]
fn the_sections_of_the_window_add_up_to_the_estimate() {
    let mut driver = Driver::demo(130, 36);
    for key in
        ["telegram:direct:8812", "slack:channel:c07infra", "research:main", "feishu:direct:ou_3f7c21ab"]
    {
        driver.go_to(key);
        driver.press("B");
        let parts = |line: bool| -> u64 {
            let parts = breakdown(&driver).sections.iter().filter(|s| matches!(s.kind, SectionKind::Part(_)));
            let tokens = |section: &Section| {
                // A piece of a line is told again below it; thinking is one number.
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
        let total = driver.app.displayed_session().expect("a session").next_prompt.estimated_tokens;
        assert_eq!((parts(false), parts(true)), (total, total), "{key}");
        assert!(
            breakdown(&driver).blocks.values().all(|block| block.as_ref().is_ok_and(|block| block.chars > 0))
        );
        driver.press("B");
        assert!(driver.app.overlay.is_none());
    }
}

#[test]
fn a_heavy_message_leads_to_its_row_in_the_transcript() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("3 z B - j j j j j j j j j l j j enter");
    assert!(driver.app.overlay.is_none() && !driver.app.zoom);
    assert_eq!(driver.app.focus, Pane::Transcript);
    let session = driver.app.displayed_session().expect("a session");
    let second = WindowContents::new(session, None).heaviest[1];
    assert_eq!(driver.app.selected_entry(), Some(second.entry));
}

#[test]
fn sections_fold_and_the_cursor_stays_with_them() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("telegram:direct:8812");
    driver.press("B -");
    let sections = breakdown(&driver).sections.len();
    assert_eq!(breakdown(&driver).rows.len(), sections);
    driver.press("j space");
    assert_eq!(breakdown(&driver).rows.len(), sections + 18, "a row for each tool");
    driver.press("j j j h");
    assert_eq!((breakdown(&driver).rows.len(), breakdown(&driver).scroll.cursor), (sections, 1));
    driver.press("+ G");
    let screen = breakdown(&driver);
    assert_eq!(screen.scroll.cursor + 1, screen.rows.len());
    assert!(screen.scroll.top > 0);
    driver.press("g y b");
    assert!(driver.copied[0].starts_with("System prompt  ~9600 tokens"), "{:?}", driver.copied);
    assert!(driver.app.overlay.is_none());
}

#[test]
fn under_a_preview_the_window_says_what_each_part_becomes() {
    let mut driver = tuned();
    driver.press("B");
    let session = driver.app.displayed_session().expect("a session");
    let after = session.budget_after(driver.app.plan.as_ref().expect("a plan"));
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
    driver.press("B j j");
    let before = breakdown(&driver).contents.now.budget.total();
    let leaf = driver.app.displayed_session().expect("a session").index.entries.len() - 1;
    let session = driver.app.displayed_session().expect("a session");
    let parent = session.index.display_id(clawscope::ids::EntryIx(leaf as u32));
    let text = "x".repeat(400_000);
    driver.append(&format!(
        "{{\"type\":\"message\",\"id\":\"huge\",\"parentId\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
    ));
    let screen = breakdown(&driver);
    assert_eq!(screen.contents.now.budget.total(), before + 100_000);
    assert_eq!(screen.scroll.cursor, 2);
    let heaviest = screen.contents.heaviest[0].entry;
    assert_eq!(screen.blocks[&heaviest].as_ref().expect("read").chars, 400_000);
}

#[test]
fn blocks_of_an_older_reading_are_dropped() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    let requested = driver.held_key("B");
    assert!(
        matches!(requested.as_slice(), [.., Effect::ReadBlocks { .. }] | [Effect::ReadBlocks { .. }, ..]),
        "{requested:?}"
    );
    driver.event(Event::Blocks { epoch: Epoch(9_999), blocks: [(EntryIx(0), Err("old".into()))].into() });
    assert!(breakdown(&driver).blocks.is_empty());
    driver.perform(requested);
    assert_eq!(breakdown(&driver).blocks.len(), breakdown(&driver).contents.heaviest.len());
}

#[test]
fn q_quits_and_esc_at_the_top_does_not() {
    let mut driver = Driver::demo(80, 24);
    driver.press("esc esc esc esc");
    assert!(!driver.quit);
    driver.press("q");
    assert!(driver.quit);
}

#[test]
fn no_sequence_of_keys_panics_at_any_size() {
    let keys = "j k l h enter d r w T esc 1 j / a esc esc 4 j j l L h H 0 c e esc y 3 j G g d space esc 2 space - + f ctrl-o ctrl-o } { ] [ J K n N ! j esc ? j esc : esc p i m B j G + - h l space g enter B y esc F F R z tab tab tab";
    for (width, height) in [(1, 1), (10, 3), (60, 20), (80, 24), (130, 36), (300, 100)] {
        let mut driver = Driver::demo(width, height);
        driver.press(keys);
    }
}

/// The estimators over the Chinese session.
fn estimators() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("feishu:direct:ou_3f7c21ab");
    driver.press("E");
    driver
}

#[test]
fn the_estimators_are_at_the_last_call_and_enter_goes_to_its_answer() {
    let mut driver = estimators();
    let calls = driver.app.estimators().expect("open").calls().len();
    assert!(calls > 20, "{calls} calls");
    assert_eq!(driver.app.estimators().expect("open").scroll.cursor, calls - 1);
    driver.press("g j j");
    let entry = driver.app.estimators().and_then(|view| view.selected()).expect("a call").entry;
    driver.press("enter");
    assert!(driver.app.overlay.is_none());
    assert_eq!(driver.app.focus, Pane::Transcript);
    let row = driver.app.transcript.as_ref().and_then(|pane| pane.selected().copied()).expect("a row");
    assert_eq!(row.entry, entry);
}

#[test]
fn a_page_of_the_estimators_is_a_page_of_their_table() {
    let mut driver = estimators();
    driver.press("g pgdn");
    let page = driver.app.estimators().expect("open").scroll.cursor;
    assert!((5..30).contains(&page), "{page} rows");
    driver.press("pgup");
    assert_eq!(driver.app.estimators().expect("open").scroll.cursor, 0);
}

#[test]
fn a_call_is_copied_with_what_every_estimator_says_of_it() {
    let mut driver = estimators();
    driver.press("y");
    let line = driver.copied.last().expect("a line");
    assert!(line.contains("counted") && line.contains("pi ~") && line.contains("calibrated ~"), "{line}");
    driver.press("E");
    assert!(driver.app.overlay.is_none());
}

#[test]
fn estimates_of_another_session_are_dropped_and_closing_stops_them() {
    let mut driver = estimators();
    let Some(EstimatesState::Done(estimates)) = driver.app.estimators().map(|view| view.state.clone()) else {
        panic!("estimates")
    };
    driver.press("esc");
    driver.go_to("slack:channel:c07infra");
    let requested = driver.held_key("E");
    assert!(requested.iter().any(|effect| matches!(effect, Effect::ComputeEstimates { .. })));
    let old = Epoch::default();
    driver.held(Event::Estimates { epoch: old, estimates: Ok(estimates) });
    assert!(driver.app.estimators().expect("open").calls().is_empty(), "an older reading");
    let closed = driver.held_key("esc");
    assert!(closed.iter().any(|effect| matches!(effect, Effect::StopEstimates)));
}

#[test]
fn a_session_that_grows_is_estimated_anew_and_the_end_is_followed() {
    let mut driver = estimators();
    let before = driver.app.estimators().expect("open").calls().len();
    let session = driver.app.displayed_session().expect("a session");
    let leaf = session.index.display_id(session.context.leaf.expect("a leaf"));
    driver.append(&format!(
        r#"{{"type":"message","id":"new1","parentId":"{leaf}","timestamp":"2026-03-05T15:00:00Z","message":{{"role":"assistant","content":[{{"type":"text","text":"好"}}],"stopReason":"stop","usage":{{"input":110000,"output":3,"cacheRead":0,"cacheWrite":0,"totalTokens":110003}}}}}}"#
    ));
    let path = driver.path();
    driver.event(Event::FilesChanged(vec![path]));
    let view = driver.app.estimators().expect("open");
    assert_eq!((view.calls().len(), view.scroll.cursor), (before + 1, before));
    assert_eq!(view.selected().expect("the new call").measured, 110_000);
}

/// The rows of the recovery that is open.
fn recovery_rows(driver: &Driver) -> usize {
    match &driver.app.overlay {
        Some(Overlay::Recovery(screen)) => screen.rows().len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn v_shows_the_recovery_and_enter_goes_to_the_entry_of_a_row() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    driver.press("g v");
    assert_eq!(recovery_rows(&driver), 5);
    driver.press("enter");
    assert!(driver.app.overlay.is_none() && driver.app.focus == Pane::Transcript);
    let session = driver.app.displayed_session().expect("a session");
    let entry = driver.app.selected_entry().expect("a row");
    let message = session.index.entry(entry).message.expect("a message");
    assert_eq!(message.stop_reason, clawscope::store::entry::StopReason::Error);
}

#[test]
fn the_key_of_a_screen_leads_to_it_from_any_other_and_closes_its_own() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    let name = |driver: &Driver| match &driver.app.overlay {
        None => "none",
        Some(Overlay::Help { .. }) => "?",
        Some(Overlay::Findings { .. }) => "!",
        Some(Overlay::Policies(_)) => "s",
        Some(Overlay::Estimators(_)) => "E",
        Some(Overlay::Breakdown(_)) => "B",
        Some(Overlay::Recovery(_)) => "v",
        Some(Overlay::Explain(_)) => "e",
        Some(Overlay::Commits(_)) => "U",
        Some(Overlay::Branches(_)) => "C",
        Some(_) => "another",
    };
    let screens = ["?", "!", "s", "E", "B", "v", "e", "U", "C"];
    for from in screens {
        for to in screens.into_iter().filter(|to| *to != from) {
            driver.press(from);
            driver.press(to);
            assert_eq!(name(&driver), to, "from {from}");
            driver.press(to);
            assert_eq!(name(&driver), "none", "{to} closes its own");
        }
    }
}

#[test]
fn a_row_that_nothing_is_recorded_of_stays_open_and_says_so() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("slack:channel:c07infra");
    driver.press("v G enter");
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("shows nothing")));
    assert_eq!(recovery_rows(&driver), 5);
    driver.press("esc");
    assert!(driver.app.overlay.is_none());
}

#[test]
fn a_recovery_follows_the_file_and_one_of_an_older_reading_is_dropped() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    let requested = driver.held_key("v");
    let compaction = r#"{"type":"compaction","id":"c0ffee00","parentId":null,"timestamp":"2026-03-05T13:10:00.000Z","summary":"s","firstKeptEntryId":"x","tokensBefore":5}"#;
    driver.append(&format!("{compaction}\n"));
    let recorded = |driver: &Driver| match &driver.app.overlay {
        Some(Overlay::Recovery(screen)) => match &screen.result {
            Some(Ok(view)) => view.events.len(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(recorded(&driver), 2);
    driver.perform(requested);
    assert_eq!(recorded(&driver), 2);
}

/// The explanation that is open.
fn explanation(driver: &Driver) -> &clawscope::app::explain::ExplainScreen {
    match &driver.app.overlay {
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
fn e_explains_the_session_and_enter_goes_to_what_is_seen() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    driver.press("g e");
    let view = explanation(&driver).explanation().expect("read").clone();
    let verdict = view.verdict().expect("a verdict");
    assert_eq!(verdict.class, clawscope::report::explain::FindingClass::ParallelResults);
    let wanted = verdict.evidence[1].entries[0];
    go_to_row(&mut driver, ExplainRow::Evidence(0, 1));
    driver.press("enter");
    assert!(driver.app.overlay.is_none() && driver.app.focus == Pane::Transcript);
    assert_eq!(driver.app.selected_entry(), Some(wanted));
}

#[test]
fn the_course_ends_with_the_refused_call_and_knows_the_lines_it_ran_into() {
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
fn the_row_under_the_cursor_stays_in_sight_at_every_size() {
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
    match driver.held_key("y").as_slice() {
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
        match driver.held_key(key).as_slice() {
            [Effect::Copy { text, label: what }] => {
                assert!(text.contains("\"ttl\": \"30m\"") && *what == "config patch", "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    // Elsewhere the key of the patch copies that of the best change.
    go_to_row(&mut driver, ExplainRow::Guard(0));
    match driver.held_key("P").as_slice() {
        [Effect::Copy { text, .. }] => assert!(text.contains("\"ttl\""), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn enter_takes_a_change_into_the_tuning_pane_with_the_preview_on() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("e enter");
    assert!(driver.app.overlay.is_none() && driver.app.focus == Pane::Tuning);
    let tuning = &driver.app.tuning;
    assert!(tuning.preview && tuning.policies.has(Policy::Prune) && driver.app.plan.is_some());
    let row = tuning.focused_setting().expect("a row has the focus");
    assert_eq!(
        (row.name(), tuning.focused_row().map(|at| tuning.values[at].as_f64())),
        ("ttl", Some(Some(1_800_000.0)))
    );
    assert_eq!((0..tuning.rows.len()).filter(|at| tuning.is_changed(*at)).count(), 1);
    // Another one takes its place, it is not added to it.
    driver.press("2 e");
    go_to_row(&mut driver, ExplainRow::Advice(1));
    driver.press("enter");
    let tuning = &driver.app.tuning;
    let changed: Vec<_> =
        (0..tuning.rows.len()).filter(|at| tuning.is_changed(*at)).map(|at| tuning.rows[at].key()).collect();
    assert_eq!(changed, ["historyLimit"], "{:?}", driver.app.toast);
}

#[test]
fn a_line_without_an_entry_stays_open_and_an_older_reading_is_dropped() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("slack:channel:c07infra");
    let requested = driver.held_key("e");
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
    assert!(driver.app.overlay.is_none());
}

/// The session that overflowed once, its settings side by side.
fn compared() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("w a ctrl-u text:contextPruning.ttl=30m,45m,1h,2h space");
    driver.press("text:contextPruning.keepLastAssistants=1,3,5 enter");
    driver
}

#[test]
fn a_cell_of_the_comparison_is_taken_into_tuning_and_copied_as_a_patch() {
    let mut driver = compared();
    let sweep = driver.app.compare_screen.sweep_state.sweep.clone().expect("every cell is known");
    assert_eq!(sweep.cells.len(), 12);
    // The cursor begins at the smallest change.
    assert_eq!(
        (driver.app.compare_screen.selected(), sweep.smallest_fitting),
        (sweep.smallest_fitting, Some(4))
    );
    driver.press("k h");
    let cell = driver.app.compare_screen.selected().expect("a cell");
    let words: Vec<&str> = sweep
        .axes
        .iter()
        .zip(&sweep.cells[cell].points)
        .map(|(axis, at)| axis.points[*at].text.as_str())
        .collect();
    assert_eq!(words, ["30m", "1"]);
    driver.press("y");
    let patch = driver.copied.last().expect("a patch");
    assert!(patch.contains("\"ttl\": \"30m\"") && patch.contains("\"keepLastAssistants\": 1"), "{patch}");
    driver.press("s");
    let (name, text) = driver.saved.last().expect("a file");
    let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert_eq!((name.as_str(), json["cells"].as_array().map(Vec::len)), ("clawscope-sweep.json", Some(12)));
    driver.press("enter");
    assert!(driver.app.overlay.is_none() && driver.app.tuning.preview && driver.app.plan.is_some());
    assert_eq!(driver.app.focus, Pane::Tuning);
    let tuning = &driver.app.tuning;
    let value = |key: &str| {
        let at = tuning.rows.iter().position(|row| row.key() == key).expect("a row");
        (tuning.values[at].as_f64(), tuning.is_changed(at))
    };
    assert_eq!(value("contextPruning.ttl"), (Some(1_800_000.0), true));
    assert_eq!(value("contextPruning.keepLastAssistants"), (Some(1.0), true));
    assert!(!value("contextPruning.softTrimRatio").1);
    // The timeline replays what was taken: the call that overflowed fits.
    driver.press("esc t");
    let timeline = driver.app.timeline().expect("a replay");
    assert_eq!(timeline.totals.map(|totals| totals.overflows), [1, 0]);
    assert_eq!(timeline.totals[1], sweep.cells[cell].totals);
    // The map is what it was, its cursor where it was left.
    driver.press("esc w");
    assert_eq!(
        driver.app.compare_screen.sweep_state.sweep.as_ref().map(|again| &again.cells),
        Some(&sweep.cells)
    );
    assert_eq!(driver.app.compare_screen.selected(), Some(cell));
}

#[test]
fn what_is_compared_changes_with_keys_and_what_is_tuned_holds_in_every_cell() {
    let mut driver = compared();
    let keys = |driver: &Driver| -> Vec<String> {
        driver.app.compare_screen.sweep_state.axes.iter().map(|axis| axis.key().to_owned()).collect()
    };
    driver.press("x");
    assert_eq!(keys(&driver), ["contextPruning.keepLastAssistants", "contextPruning.ttl"]);
    driver.press("] m m");
    assert_eq!(keys(&driver)[0], "contextPruning.keepLastAssistants");
    assert_ne!(keys(&driver)[1], "contextPruning.ttl");
    assert_eq!(driver.app.compare_screen.metric, clawscope::app::compare::MapMetric::Overflows);
    // What cannot be read is told where it is typed.
    driver.press("a ctrl-u text:contextPruning.ttl=soon enter");
    assert!(driver.app.input.as_ref().and_then(|prompt| prompt.error.as_ref()).is_some());
    driver.press("ctrl-u text:contextPruning.keepLastAssistants=1,3 enter");
    assert_eq!(keys(&driver), ["contextPruning.keepLastAssistants"]);
    let before = driver.app.compare_screen.sweep_state.sweep.clone().expect("known");
    assert!(before.base.is_empty() && before.smallest_fitting.is_none());
    driver.press("esc 4");
    let ttl = driver.app.tuning.rows.iter().position(|row| row.key() == "contextPruning.ttl").expect("a row");
    driver.app.tuning.values[ttl] = 1_800_000.0.into();
    driver.app.tuning.preview = true;
    driver.press("w");
    let held = driver.app.compare_screen.sweep_state.sweep.clone().expect("known");
    assert_eq!(
        held.base.iter().map(clawscope::session::setting_change::SettingChange::key).collect::<Vec<_>>(),
        ["contextPruning.ttl"]
    );
    assert_eq!(held.smallest_fitting, Some(held.current), "with the shorter ttl every call fits");
    // The trade-offs lead to their cells.
    driver.press("tab G");
    assert_eq!(driver.app.compare_screen.selected(), held.trade_offs().last().copied());
}

#[test]
fn leaving_the_comparison_stops_what_is_on_its_way_and_late_cells_are_dropped() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.hold_sweeps();
    driver.press("w");
    let request = driver.last_sweep();
    let effects = driver.held_key("esc");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::StopSweep)), "{effects:?}");
    driver.event(Event::Sweep { request_id: request, update: SweepUpdate::Failed("late".into()) });
    assert_eq!(driver.app.compare_screen.sweep_state.error, None);
    driver.press("w");
    assert!(driver.last_sweep() > request);
    driver.event(Event::Sweep { request_id: driver.last_sweep(), update: SweepUpdate::Failed("why".into()) });
    assert_eq!(driver.app.compare_screen.sweep_state.error.as_deref(), Some("why"));
}

#[test]
fn a_cell_that_the_tuning_pane_cannot_hold_stays_on_the_map_with_its_patch() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("w a ctrl-u text:contextTokens=120000,160000 enter g enter");
    assert!(matches!(driver.app.overlay, Some(Overlay::Compare)), "it is not taken in part");
    let toast = driver.app.toast.as_ref().expect("told").text.clone();
    assert!(toast.starts_with("contextTokens is no setting of the tuning pane; y copies"), "{toast}");
    driver.press("y");
    assert!(driver.copied.last().is_some_and(|patch| patch.contains("\"contextTokens\": 120000")));
}

#[test]
fn room_to_leave_makes_the_smallest_change_a_larger_one() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("w");
    let smallest = |driver: &Driver| {
        let sweep = driver.app.compare_screen.sweep_state.sweep.clone().expect("known");
        sweep.smallest_fitting.map(|cell| sweep.cells[cell].peak())
    };
    let peak = smallest(&driver).expect("one helps");
    assert!(peak > 170_000.0);
    driver.press("r text:40k enter");
    let spared = smallest(&driver).expect("another helps");
    assert!(spared <= 160_000.0, "{spared}");
    driver.press("r ctrl-u text:99% enter");
    assert_eq!(smallest(&driver), None, "nothing leaves so much free");
    driver.press("r ctrl-u text:200% enter");
    let complaint = driver.app.input.as_ref().and_then(|prompt| prompt.error.clone());
    assert_eq!(complaint.as_deref(), Some("expected less than the window of 200\u{a0}000"));
    driver.press("esc r ctrl-u enter");
    assert_eq!(smallest(&driver), Some(peak));
}

#[test]
fn what_the_map_saves_is_what_the_command_answers() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("w s");
    let (name, text) = driver.saved.last().expect("saved");
    assert_eq!(name, "clawscope-sweep.json");
    let session = driver.app.displayed_session().expect("a session");
    let sweep = driver.app.compare_screen.sweep_state.sweep.clone().expect("known");
    let answer =
        clawscope::export::json::to_line(clawscope::report::sweep::json::sweep_document(session, &sweep));
    assert_eq!(text.trim_end(), answer);
    for member in ["schemaVersion", "\"path\"", "\"ruleset\"", "\"headroom\"", "\"smallestChange\""] {
        assert!(text.contains(member), "{member}");
    }
}
