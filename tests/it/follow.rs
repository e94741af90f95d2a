//! A file that changes while a person works on it: a commit and its undo, a search, a rewrite.

use std::path::PathBuf;

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::source_status::SourceStatus;
use clawscope::app::state::{Overlay, ToastKind, WriteStage};
use clawscope::app::target::Target;
use clawscope::app::transcript::TranscriptPane;
use clawscope::session::{CountSource, LoadedSession, Mark, UnmeasuredReason};
use clawscope::transcript::Leaf;
use clawscope::units::Moment;

use crate::support::driver::{Driver, append_to, append_to_new};

fn loaded_session(driver: &Driver) -> &LoadedSession {
    driver.app.displayed_session().expect("a session")
}

fn pane(driver: &Driver) -> &TranscriptPane {
    driver.app.transcript.as_ref().expect("a transcript")
}

/// Opens the overflowed build session under a plan with open gates.
fn tuned() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("plan 2");
    driver
}

/// Returns a line that follows the last entry.
fn line(driver: &Driver, id: &str, text: &str) -> String {
    let index = &loaded_session(driver).index;
    let parent = index.display_id(index.last().expect("an entry"));
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-03-05T14:06:41.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
    )
}

#[test]
fn copied_usage_does_not_count_as_measured_on_the_new_branch() {
    let mut driver = tuned();
    let measured = loaded_session(&driver).measured.expect("the provider counted the old branch");
    let called = loaded_session(&driver).last_call_ms.expect("a call");
    let plan = driver.app.preview.plan.clone().expect("a plan");
    let after = loaded_session(&driver).budget_after(&plan).total();
    driver.press("c y");
    assert!(driver.app.overlay().is_none(), "{:?}", driver.app.overlay());
    let branch = loaded_session(&driver);
    assert_eq!(branch.measured, Err(UnmeasuredReason::SinceCommit));
    let tokens = branch.item.tokens.expect("tokens");
    assert_eq!(tokens.source, CountSource::Calibrated);
    assert_eq!(branch.next_prompt.estimated_tokens, after);
    assert_eq!(branch.last_call_ms, Some(called), "nobody was called meanwhile");
    assert!(!branch.item.has(Mark::Overflow), "the next call fits");
    assert_eq!(branch.item.overflows, Some(1), "the refused call is still in the file");
    driver.press("u y");
    assert_eq!(loaded_session(&driver).measured.expect("as before"), measured);
    assert!(loaded_session(&driver).item.has(Mark::Overflow));
}

#[test]
fn undoing_right_after_a_commit_waits_until_the_branch_was_read() {
    let mut driver = tuned();
    driver.press("c");
    let write = driver.key_effects("y");
    let [Effect::Write { .. }] = write.as_slice() else { panic!("{write:?}") };
    let plan = driver.app.preview.plan.clone().expect("a plan");
    let request = clawscope::write::request::WriteRequest {
        session: loaded_session(&driver),
        action: clawscope::write::request::WriteAction::Commit { plan: &plan, summary: None },
        allow_orphan: false,
        now_ms: driver.now_ms,
    };
    let written = clawscope::write::request::write(
        &request,
        None,
        &clawscope::commit::SystemClock,
        &clawscope::gateway::env::Environment::default(),
    );
    let reread = driver.effects(Event::Written(written.map_err(Into::into)));
    assert!(reread.iter().any(|effect| matches!(effect, Effect::RefreshSession { .. })));
    let requested = driver.key_effects("u");
    assert!(
        !requested.iter().any(|effect| matches!(effect, Effect::PreviewWrite(_))),
        "the branch is not known yet"
    );
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("no dialog") };
    assert!(matches!(dialog.stage, WriteStage::Waiting));
    driver.perform(reread);
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("no dialog") };
    assert!(matches!(dialog.stage, WriteStage::Confirming(_)), "{:?}", dialog.stage);
}

#[test]
fn an_entry_appended_during_the_confirmation_is_committed_too() {
    let mut driver = tuned();
    driver.press("c");
    let text = line(&driver, "feedf00d", "one more thing");
    append_to(&driver.path(), &text);
    driver.press("y");
    assert!(driver.app.overlay().is_none(), "{:?}", driver.app.overlay());
    let toast = driver.app.toast.as_ref().expect("a receipt");
    assert!(
        toast.kind == ToastKind::Done && toast.text.contains("The session grew by 1 entry while committing"),
        "{toast:?}"
    );
    let index = &loaded_session(&driver).index;
    let copies = index.iter().filter(|(ix, _)| index.entry(*ix).time_ms == Moment(1_772_719_601_000.0));
    assert!(copies.count() >= 2, "the entry and its copy");
}

#[test]
fn a_reading_that_fails_does_not_keep_the_dialog_waiting() {
    let mut driver = tuned();
    let reread = driver.key_effects(":reload");
    assert!(reread.iter().any(|effect| matches!(effect, Effect::RefreshSession { .. })));
    driver.press("c");
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("no dialog") };
    assert!(matches!(dialog.stage, WriteStage::Waiting));
    driver.event(Event::RefreshFailed("the disk is gone".into()));
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("no dialog") };
    assert!(matches!(dialog.stage, WriteStage::Confirming(_)), "{:?}", dialog.stage);
}

#[test]
fn a_search_continues_while_the_session_reloads() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("2 / text:libatomic");
    let search = driver.key_effects("enter");
    let text = line(&driver, "feedf00d", "and libatomic once more");
    driver.append(&text);
    assert!(pane(&driver).matches.is_empty(), "no answer yet");
    driver.perform(search);
    let found = pane(&driver).matches.clone();
    assert!(found.len() > 2, "{found:?}");
    assert_eq!(
        found.last(),
        loaded_session(&driver).index.last().as_ref(),
        "what was added was searched too"
    );
    let text = line(&driver, "feedf00e", "libatomic, a last time");
    driver.append(&text);
    assert_eq!(pane(&driver).matches.len(), found.len() + 1);
    driver.press(":reload");
    assert_eq!(pane(&driver).matches.len(), found.len() + 1, "reading again forgets no match");
}

#[test]
fn a_file_rewritten_in_place_shows_no_old_text() {
    let mut driver = Driver::demo(130, 36);
    let text = line(&driver, "feedf00d", "what was said");
    driver.append(&text);
    let entry = loaded_session(&driver).index.last().expect("an entry");
    assert_eq!(pane(&driver).excerpts[&entry].text, "what was said");
    let path = driver.path();
    let text = std::fs::read_to_string(&path).expect("the transcript");
    let text = text.replace("what was said", "what was rewritten") + &line(&driver, "feedf00e", "one more");
    let mut file = std::fs::File::create(&path).expect("the transcript");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("rewrites");
    driver.event(Event::FilesChanged(vec![path]));
    assert_eq!(pane(&driver).excerpts[&entry].text, "what was rewritten");
}

#[test]
fn switching_the_preview_or_the_gate_lights_no_setting() {
    let mut driver = tuned();
    assert_eq!(driver.app.flash.setting, None);
    driver.press("4 i 2");
    assert_eq!(driver.app.flash.setting, None, "the numbers moved, the setting did not");
    assert!(driver.app.flash.total);
    driver.press("4 i j j j H");
    assert_eq!(driver.app.flash.setting, Some(driver.app.tuning.cursor));
}

#[test]
fn an_entry_without_its_message_is_a_diagnostic_that_can_be_copied() {
    let mut driver = Driver::demo(130, 36);
    let before = pane(&driver).diagnostics.len();
    driver.append("{\"type\":\"message\",\"id\":\"feedf00d\",\"parentId\":null}\n");
    assert!(loaded_session(&driver).context_throws);
    assert_eq!(pane(&driver).diagnostics.len(), before + 1);
    driver.press("v ! g y");
    let copied = driver.copied.last().expect("copied");
    assert!(copied.contains("feedf00d") && copied.contains("has no message"), "{copied}");
}

#[test]
fn a_deleted_file_is_marked_missing_in_the_list() {
    let mut driver = Driver::demo(130, 36);
    let key = loaded_session(&driver).item.key.clone();
    std::fs::remove_file(driver.path()).expect("removes");
    driver.event(Event::RefreshFailed("gone".into()));
    let item = driver.app.sessions.items.iter().find(|item| item.key == key).expect("its row");
    assert!(item.has(Mark::Missing), "{:?}", item.marks);
    assert!(driver.app.transcript.is_some(), "what was read stays");
}

/// Lists the current files.
fn listed_anew(driver: &mut Driver) {
    let rows = driver.path().with_file_name("sessions.json");
    driver.event(Event::FilesChanged(vec![rows]));
}

#[test]
fn a_moved_transcript_is_reported_until_it_is_back() {
    let mut driver = Driver::demo(130, 36);
    let path = driver.path();
    assert_eq!(driver.app.source_status(), None);
    let aside = PathBuf::from(format!("{}.reset.2026-03-05T14-00-00.000Z", path.display()));
    std::fs::rename(&path, &aside).expect("puts aside");
    listed_anew(&mut driver);
    assert_eq!(driver.app.source_status(), Some(SourceStatus::Archived(Mark::Reset)));
    assert!(driver.app.transcript.is_some(), "what was read stays");
    std::fs::remove_file(&aside).expect("removes");
    listed_anew(&mut driver);
    assert_eq!(driver.app.source_status(), Some(SourceStatus::Missing));
    std::fs::File::create(&path).expect("comes back");
    listed_anew(&mut driver);
    assert_eq!(driver.app.source_status(), None);
}

#[test]
fn a_reset_session_shows_the_old_transcript_until_the_new_one_is_written() {
    let mut driver = Driver::demo(130, 36);
    let rows = driver.path().with_file_name("sessions.json");
    let key = loaded_session(&driver).item.key.0.clone();
    let text = std::fs::read_to_string(&rows).expect("rows");
    let mut changed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    changed[&key] = serde_json::json!({ "sessionId": "not-written-yet", "updatedAt": 1 });
    let mut file = std::fs::File::create(&rows).expect("the rows");
    std::io::Write::write_all(&mut file, changed.to_string().as_bytes()).expect("rewrites");
    let relist = driver.effects(Event::FilesChanged(vec![rows]));
    assert!(matches!(relist.as_slice(), [Effect::RefreshListing { .. }]), "{relist:?}");
    driver.perform(relist);
    assert_eq!(driver.app.source_status(), Some(SourceStatus::Replaced));
    assert!(!driver.app.opening.is_refreshing, "there is nothing to read yet");
}

#[test]
fn polled_folders_are_reported_once_and_shown_in_the_header() {
    let mut driver = Driver::demo(130, 36);
    driver.event(Event::PollingChanged(Some("/x: checked every second, because nfs.".into())));
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("nfs")));
    driver.app.toast = None;
    driver.event(Event::PollingChanged(Some("/x and /y: checked every second, because nfs.".into())));
    assert!(driver.app.toast.is_none() && driver.app.store.polling_reason.is_some());
    driver.event(Event::PollingChanged(None));
    assert_eq!(driver.app.store.polling_reason, None);
}

#[test]
fn a_dragged_slider_follows_the_mouse_outside_its_row() {
    use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut driver = tuned();
    driver.press("4");
    let layout = driver.app.layout();
    let (row, track) = (layout.tuning.y + layout.header_rows(Pane::Tuning), layout.slider_track());
    let first = driver.app.tuning.policy_rows().start;
    let mut mouse = |kind, column, row| {
        driver.event(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        (
            driver.app.tuning.cursor,
            (0..driver.app.tuning.rows.len())
                .filter(|at| driver.app.tuning.is_changed(*at))
                .collect::<Vec<_>>(),
        )
    };
    let drag = MouseEventKind::Drag(MouseButton::Left);
    assert_eq!(mouse(drag, track.start + 9, row + 3), (first, vec![]), "nothing was taken");
    assert_eq!(mouse(MouseEventKind::Down(MouseButton::Left), track.start + 9, row), (first, vec![first]));
    assert_eq!(mouse(drag, track.end + 20, row + 4), (first, vec![first]));
    assert_eq!(driver.app.tuning.share(first), Some(1.0), "the end of the track, not beyond");
}

/// Adds a question and its answer after the refused call, as if repeated with a smaller prompt.
fn went_on(driver: &Driver, ids: (&str, &str)) -> String {
    let answer = format!(
        "{{\"type\":\"message\",\"id\":\"{1}\",\"parentId\":\"{0}\",\"timestamp\":\"2026-03-05T14:06:51.000Z\",\"message\":{{\"role\":\"assistant\",\"provider\":\"anthropic\",\"model\":\"claude-opus-4-5\",\"content\":[{{\"type\":\"text\",\"text\":\"so it is\"}}],\"stopReason\":\"stop\",\"usage\":{{\"input\":150000,\"output\":9,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":150009}}}}}}\n",
        ids.0, ids.1
    );
    line(driver, ids.0, "and now?") + &answer
}

#[test]
fn the_switch_shows_the_session_at_the_failed_call() {
    let mut driver = tuned();
    let refused = driver.app.failed_overflow().expect("a refused call").clone();
    let text = went_on(&driver, ("aaaa0001", "aaaa0002"));
    driver.append(&text);
    let next = loaded_session(&driver).clone();
    assert_eq!(next.next_prompt.total.tokens, 150_009, "the next call follows the answer, and includes it");
    driver.press("2 a a");
    assert_eq!(driver.app.target, Target::FailedCall);
    let then = loaded_session(&driver);
    assert_eq!(then.context.path.last(), Some(&refused.entry), "what came later is not sent");
    assert_eq!(driver.app.selected_entry(), Some(refused.entry));
    assert_eq!(driver.app.call_time_ms(), refused.time_ms, "its moment decides the gate");
    assert_eq!(driver.app.preview.totals.current.total(), 203_412);
    driver.press("a");
    assert_eq!(driver.app.target, Target::NextCall);
    assert_eq!(loaded_session(&driver).context.path, next.context.path);
    assert_eq!(driver.app.preview.totals.current.total(), 150_009);
    driver.press("a");
    assert_eq!((driver.app.target, loaded_session(&driver).leaf.clone()), (Target::WholeSession, Leaf::Own));
}

#[test]
fn a_session_that_grows_keeps_showing_the_failed_call() {
    let mut driver = tuned();
    driver.press("2 a a");
    let before = loaded_session(&driver).clone();
    let text = went_on(&driver, ("aaaa0001", "aaaa0002"));
    driver.append(&text);
    let after = loaded_session(&driver);
    assert_eq!(driver.app.target, Target::FailedCall);
    assert_eq!(after.context.path, before.context.path);
    assert!(after.epoch > before.epoch && after.index.entries.len() == before.index.entries.len() + 2);
    assert_eq!(driver.app.preview.totals.current.total(), 203_412);
    let other = driver.app.sessions.items.iter().find(|item| item.key.0.contains("discord"));
    let other = other.expect("another session").key.0.clone();
    driver.go_to(&other);
    assert_eq!(driver.app.target, Target::NextCall, "another session is shown as it is");
    driver.press("2 a");
    assert_eq!(driver.app.target, Target::WholeSession, "no call of it failed");
}

#[test]
fn a_preview_starts_on_the_call_that_failed() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    assert_eq!(driver.app.target, Target::NextCall);
    driver.press("2 p");
    assert_eq!((driver.app.target, driver.app.tuning.preview), (Target::FailedCall, true));
    driver.press("p");
    assert_eq!((driver.app.target, driver.app.tuning.preview), (Target::NextCall, false));
    driver.press("p a p p");
    assert_eq!(driver.app.target, Target::FailedCall, "again");
    driver.go_to("discord:channel:118204471002");
    assert_eq!(driver.app.target, Target::NextCall, "no call of it failed");
    driver.go_to("telegram:direct:8812");
    assert_eq!(driver.app.target, Target::FailedCall, "the preview is on");
    let text = went_on(&driver, ("aaaa0001", "aaaa0002"));
    driver.append(&text);
    driver.press("2 G p p");
    assert_eq!(driver.app.target, Target::NextCall, "the newest call was answered");
}

#[test]
fn a_running_preview_keeps_its_tab_when_the_session_is_read_again() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("2 p");
    assert_eq!(driver.app.target, Target::FailedCall);
    driver.press("a");
    let chosen = driver.app.target;
    assert_ne!(chosen, Target::FailedCall);
    driver.press(": text:release space text:2026.9.6 enter");
    assert_eq!((driver.app.target, driver.app.tuning.preview), (chosen, true), "under other rules");
    driver.press(":reload");
    assert_eq!(driver.app.target, chosen);
    let path = driver.path();
    let text = std::fs::read_to_string(&path).expect("the transcript");
    std::fs::remove_file(&path).expect("removed");
    append_to_new(&path, &text);
    driver.press(":reload");
    assert_eq!(driver.app.target, chosen, "after the file was replaced");
}

#[test]
fn a_commit_selects_the_next_call() {
    let mut driver = tuned();
    driver.press("2 a a");
    assert_eq!(driver.app.target, Target::FailedCall);
    driver.press("c");
    assert_eq!(driver.app.target, Target::NextCall);
    assert!(matches!(driver.app.overlay(), Some(Overlay::Write(_))), "{:?}", driver.app.toast);
}

#[test]
fn texts_are_read_for_the_context_that_is_shown() {
    let mut driver = tuned();
    let text = went_on(&driver, ("aaaa0001", "aaaa0002"));
    driver.append(&text);
    driver.press("4 , , , , , x 2");
    assert!(driver.app.preview.waiting_policies.is_empty() && loaded_session(&driver).details.is_some());
    driver.press("a a");
    assert!(
        driver.app.preview.waiting_policies.is_empty() && loaded_session(&driver).details.is_some(),
        "those of the failed call"
    );
    driver.press("a");
    assert!(
        driver.app.preview.waiting_policies.is_empty()
            && driver.app.preview.plan.as_ref().is_some_and(|plan| plan.compaction.is_some())
    );
}

#[test]
fn a_disabled_policy_is_not_replayed() {
    let mut driver = tuned();
    driver.press("2 e enter");
    let with = driver.app.replay_outcome().and_then(|outcome| outcome.tuned).expect("a replay");
    driver.press("4 x 2");
    let without = driver.app.replay_outcome().and_then(|outcome| outcome.tuned).expect("a replay");
    assert_eq!((with.overflows, without.overflows), (0, 1), "{with:?} {without:?}");
}

#[test]
fn the_age_of_a_session_that_grows_follows_its_entries() {
    let mut driver = tuned();
    let updated = |driver: &Driver| {
        let item = driver.app.sessions.items.iter().find(|item| item.key.0.ends_with("8812"));
        item.expect("listed").updated_ms.expect("a time")
    };
    let before = updated(&driver);
    let text = went_on(&driver, ("aaaa0001", "aaaa0002"));
    driver.append(&text);
    assert_eq!((updated(&driver) - before).get(), 277_243.0, "from 14:02:13.757 to 14:06:51");
}
