//! Policies switched and tuned key by key, without a terminal.

use clawscope::app::effect::Effect;
use clawscope::app::effect_error::EffectError;
use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::state::ToastKind;
use clawscope::context::rows::RowKind;
use clawscope::ids::Epoch;
use clawscope::plan::Plan;
use clawscope::policy::{Fate, Policy, PolicySet, Reason};
use clawscope::session::{ContextDetails, LoadedSession};
use clawscope::store::body::BodyError;
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::support::driver::{self, Driver};

/// The overflowed build session; its config limits the person's turns and switches pruning on.
fn opened() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver
}

/// A session in which no step shortened anything, so that its texts are not read on opening.
fn opened_without_texts() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("discord:channel:118204471002");
    driver
}

fn loaded_session(driver: &Driver) -> &LoadedSession {
    driver.app.displayed_session().expect("a session")
}

fn plan(driver: &Driver) -> &Plan {
    driver.app.preview.plan.as_deref().expect("a plan")
}

fn on(driver: &Driver) -> Vec<Policy> {
    driver.app.tuning.policies.iter().filter(|step| driver.app.tuning.is_policy_on(*step)).collect()
}

fn cut(driver: &Driver) -> Option<usize> {
    let rows = &driver.app.transcript.as_ref().expect("a transcript").rows;
    rows.iter().position(|row| row.kind == RowKind::Cut)
}

/// Asserts that the last running total is the number of the bar, and that the bar shows the plan.
fn agree(driver: &Driver) {
    let (plan, session) = (plan(driver), loaded_session(driver));
    let totals = &driver.app.transcript.as_ref().expect("a transcript").running_totals;
    assert!(totals.is_sorted());
    let bar = session.next_budget_after(plan);
    assert_eq!(totals.last().copied(), Some(bar.total()));
    assert_eq!(driver.app.preview.totals.after, Some(bar));
}

#[test]
fn a_preview_shows_the_configured_policies_or_a_single_one() {
    let mut driver = opened();
    assert_eq!(on(&driver), []);
    driver.press("plan");
    assert_eq!(on(&driver), [Policy::History, Policy::Prune]);
    driver.press("4 plan , , x");
    assert_eq!(on(&driver), [Policy::History]);
    driver.press("x");
    assert!(driver.app.preview.plan.is_none() && on(&driver).is_empty());
    driver.press("plan");
    assert_eq!(on(&driver), [Policy::Prune]);
}

#[test]
fn each_policy_changes_the_totals_separately_and_together() {
    let mut driver = opened();
    driver.press("plan");
    let pruned = plan(&driver).total_after();
    agree(&driver);
    driver.press("4 , , enter ctrl-u text:5 enter");
    let both = plan(&driver).total_after();
    assert!(both < pruned, "{both} < {pruned}");
    assert!(plan(&driver).count(Fate::Dropped) > 10);
    agree(&driver);
    driver.press(". . x 2");
    assert_eq!(on(&driver), [Policy::History]);
    let limited = plan(&driver).total_after();
    assert!(both < limited && limited < plan(&driver).total_before());
    agree(&driver);
}

#[test]
fn moving_a_setting_switches_its_policy_on() {
    let mut driver = opened();
    driver.press("plan 4 , , , , ,");
    assert_eq!(driver.app.tuning.policy, Policy::Compact);
    driver.press("j j h");
    assert_eq!(on(&driver), [Policy::Compact, Policy::History, Policy::Prune]);
    assert!(plan(&driver).compaction.is_some());
    assert_eq!(driver.app.flash.setting, Some(driver.app.tuning.cursor));
}

#[test]
fn a_policy_without_settings_shows_a_message() {
    let mut driver = opened();
    driver.press("4 , ");
    assert_eq!(driver.app.tuning.policy, Policy::Images);
    driver.press("l");
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("no settings")));
    assert!(!driver.app.tuning.has_changes() && driver.app.preview.plan.is_none());
}

#[test]
fn a_compaction_draws_its_cut_between_summarised_and_kept_messages() {
    let mut driver = opened();
    driver.press("p a 2 k k k");
    let entry = driver.app.selected_entry();
    driver.press("4 , , , , , x");
    assert_eq!(driver.app.selected_entry(), entry, "the cursor stays on its entry");
    let at = cut(&driver).expect("a line");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    for (row, shown) in pane.rows.iter().enumerate() {
        let Some(message) = shown.message.filter(|_| shown.messages == 1) else { continue };
        let fate = plan(&driver).fates()[message];
        let leaves = matches!(fate.fate, Fate::Summarised | Fate::Dropped);
        assert_eq!(leaves, row < at, "row {row}: {fate:?}");
    }
    let line = pane.compaction_marker.expect("its numbers");
    let session = loaded_session(&driver);
    let fixed = session.next_prompt.fixed_tokens;
    let before = line.summarised_tokens + line.lost_tokens + line.kept_tokens;
    assert_eq!(fixed + before, session.next_prompt.total.tokens);
    assert_eq!(fixed + line.kept_tokens + line.summary_tokens, session.prompt_tokens_after(plan(&driver)));
    agree(&driver);
    driver.press("x");
    assert_eq!((cut(&driver), driver.app.selected_entry()), (None, entry));
}

#[test]
fn the_cut_follows_the_kept_tokens_and_survives_folds_and_filters() {
    let mut driver = opened();
    driver.press("4 , , , , , x a j j");
    let before = cut(&driver).expect("a line");
    driver.press("L L L L");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    let row = cut(&driver).expect("a line");
    assert!(row < before, "more is kept: {row} < {before}");
    assert_eq!(pane.rows.iter().filter(|row| row.kind == RowKind::Cut).count(), 1);
    driver.press("2 - v f v f v f v h");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!(pane.rows.iter().filter(|row| row.kind == RowKind::Cut).count(), 1);
}

#[test]
fn keys_on_the_cut_lead_to_the_steps() {
    let mut driver = opened();
    driver.press("4 , , , , , x a 2 g");
    let at = cut(&driver).expect("a line");
    driver.press(&"j ".repeat(at));
    driver.press("space enter");
    assert!(driver.app.shows_policies());
    assert_eq!(driver.app.tuning.policy, Policy::Compact);
}

#[test]
fn texts_are_requested_once_while_other_policies_are_shown() {
    let mut driver = opened_without_texts();
    driver.press("plan");
    let pruned = plan(&driver).total_after();
    driver.press("4 , , , , ,");
    let effects = driver.key_effects("x");
    let requested = |effects: &[Effect]| {
        effects.iter().filter(|effect| matches!(effect, Effect::LoadDetails { .. })).count()
    };
    assert_eq!(requested(&effects), 1);
    assert_eq!(driver.app.preview.waiting_policies, PolicySet::of(&[Policy::Compact]));
    assert_eq!(plan(&driver).total_after(), pruned, "the plan is that of the others");
    let again = driver.key_effects("j");
    assert_eq!(requested(&again), 0);
    driver.press("2 c");
    assert!(driver.app.overlay().is_none(), "a partly loaded plan is not written");
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("compact")));
    driver.perform(effects);
    assert!(driver.app.preview.waiting_policies.is_empty());
    assert!(plan(&driver).compaction.is_some());
}

#[test]
fn texts_of_an_older_reading_are_dropped() {
    let mut driver = opened_without_texts();
    driver.press("4 plan , , , , ,");
    driver.key_effects("x");
    let read = |driver: &Driver| {
        let LoadedSession { source, index, context, .. } = loaded_session(driver);
        let rules = loaded_session(driver).ruleset.id.rules();
        (
            loaded_session(driver).view_key(),
            ContextDetails::read(source, index, context, rules).expect("reads"),
        )
    };
    let (subject, context_details) = read(&driver);
    let mut other = LoadedSession::clone(loaded_session(&driver));
    other.epoch = Epoch(other.epoch.0 + 1);
    driver.effects(Event::Details { subject: other.view_key(), details: Ok(context_details.clone().into()) });
    assert!(loaded_session(&driver).details.is_none() && !driver.app.preview.waiting_policies.is_empty());
    driver.effects(Event::Details { subject, details: Ok(context_details.into()) });
    assert!(loaded_session(&driver).details.is_some() && driver.app.preview.waiting_policies.is_empty());
}

fn changed_line() -> EffectError {
    BodyError::Changed { path: "memory.jsonl".into(), line: 7 }.into()
}

#[test]
fn unreadable_texts_are_reported_and_not_requested_again() {
    let mut driver = opened();
    driver.press("4 plan , , , , ,");
    driver.key_effects("x");
    let subject = loaded_session(&driver).view_key();
    let effects = driver.effects(Event::Details { subject, details: Err(changed_line()) });
    assert!(
        driver.app.preview.details_failed
            && driver.app.toast.as_ref().is_some_and(|toast| toast.kind == ToastKind::Refused)
    );
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::LoadDetails { .. })));
    driver.press(":reload");
    assert!(
        !driver.app.preview.details_failed && driver.app.preview.waiting_policies.is_empty(),
        "a new reading asks anew"
    );
}

#[test]
fn a_growing_session_keeps_its_texts() {
    let mut driver = opened();
    driver.press("4 plan , , , , , x 2");
    let before = loaded_session(&driver).context.messages.len();
    let index = &loaded_session(&driver).index;
    let parent = index.display_id(index.last().expect("an entry"));
    let line = format!(
        "{{\"type\":\"message\",\"id\":\"feedf00d\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-03-05T14:06:41.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"one more thing\"}}}}\n"
    );
    let path = driver.path();
    driver::append_to(&path, &line);
    let read = driver.effects(Event::FilesChanged(vec![path]));
    driver.perform(read);
    let session = loaded_session(&driver);
    assert_eq!(session.context.messages.len(), before + 1);
    let fresh =
        ContextDetails::read(&session.source, &session.index, &session.context, session.ruleset.id.rules())
            .expect("reads");
    assert_eq!(session.details.as_deref(), Some(&fresh));
    agree(&driver);
}

#[test]
fn the_full_height_shows_the_effect_of_every_policy() {
    let mut driver = opened();
    driver.press(":policies");
    let alone = |driver: &Driver, step| driver.app.policy_effects.alone(step).cloned();
    let prune = alone(&driver, Policy::Prune).expect("known");
    assert!(prune.effect.tokens_after < prune.effect.tokens_before);
    assert!(alone(&driver, Policy::Compact).is_some(), "the texts were read for it");
    driver.press("x a i");
    assert_eq!(on(&driver), [Policy::Prune]);
    assert_eq!(plan(&driver).total_after(), prune.effect.tokens_after);
    driver.press(", , x");
    assert_eq!(on(&driver), [Policy::History, Policy::Prune]);
    driver.press(". . j L");
    assert_ne!(
        alone(&driver, Policy::Prune).expect("known").effect.tokens_after,
        prune.effect.tokens_after,
        "the effects follow the settings"
    );
}

#[test]
fn the_predicted_calls_of_a_summary_follow_the_shown_settings() {
    let mut driver = opened();
    driver.press("p a :policies , , , , ,");
    let calls = |driver: &Driver| driver.app.policy_effects.summary_calls.clone();
    let effects = driver.key_effects("x");
    let requested = calls(&driver).expect("requested").0;
    assert_eq!(requested.compaction, plan(&driver).settings.compaction);
    let old = clawscope::write::summary::job::SummaryCallsRequest { summary_tokens: 1, ..requested };
    driver.effects(Event::SummaryCalls { request: old, calls: Err(changed_line()) });
    let waiting = calls(&driver).is_some_and(|(waiting, answer)| waiting == requested && answer.is_none());
    assert!(waiting, "another answer is not taken");
    driver.perform(effects);
    let reported = calls(&driver).expect("requested").1.expect("known").expect("calls");
    assert!(reported.calls > 1 && reported.largest_input < reported.input_tokens, "{reported:?}");
    let summarised = driver
        .app
        .transcript
        .as_ref()
        .and_then(|pane| pane.compaction_marker)
        .expect("a cut")
        .summarised_tokens;
    assert!(reported.input_tokens > summarised / 2, "{reported:?}");
    assert!(reported.cost.is_some_and(|cost| cost > 0.0));
}

#[test]
fn the_mouse_switches_steps_in_the_title_and_in_the_list() {
    let mut driver = opened();
    let click = |driver: &mut Driver, column, row| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        driver.event(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
    };
    let area = driver.app.layout().tuning;
    let spots = driver.app.layout().policy_spots(&driver.app.tuning.visible_policies, Policy::Prune);
    let history = spots.iter().find(|(step, _)| *step == Policy::History).expect("its word").1.start;
    click(&mut driver, history, area.y);
    assert_eq!((driver.app.tuning.policy, on(&driver)), (Policy::History, vec![]));
    let area = driver.app.layout().tuning;
    click(&mut driver, history, area.y);
    assert_eq!(on(&driver), [Policy::History]);
    driver.press(":policies");
    let list = driver.app.layout().policy_list;
    // The first line names the phase, the second is the first policy.
    click(&mut driver, 2, list.y + 1);
    assert_eq!(on(&driver), [Policy::Compact, Policy::History]);
    click(&mut driver, 30, list.y);
    assert_eq!(on(&driver), [Policy::Compact, Policy::History]);
    click(&mut driver, 30, list.y + 2);
    assert_eq!((driver.app.tuning.policy, on(&driver).len()), (Policy::Truncate, 2), "a name only focuses");
    let first = driver.app.layout().header_rows(Pane::Tuning) + driver.app.layout().tuning.y;
    driver.press(". . . . . . .");
    let wide = driver.app.tuning.policy_rows();
    click(&mut driver, 5, first + 2);
    assert!(wide.contains(&driver.app.tuning.cursor), "settings are below the list");
}

#[test]
fn among_tabs_the_line_under_them_names_the_step() {
    let mut driver = Driver::demo(60, 20);
    driver.go_to("telegram:direct:8812");
    driver.press("4 , ,");
    let line = driver.app.layout().policies_line();
    let kind = MouseEventKind::Down(MouseButton::Left);
    driver.event(Event::Mouse(MouseEvent { kind, column: 2, row: line.y, modifiers: KeyModifiers::NONE }));
    assert_eq!(on(&driver), [Policy::History]);
}

#[test]
fn the_patch_puts_every_key_at_its_readers_path() {
    let mut driver = opened();
    driver.press("4 , , enter ctrl-u text:20 enter");
    driver.press(", , , enter ctrl-u text:34000 enter");
    driver.press(", , enter ctrl-u text:0.6 enter :copy-patch");
    let patch = driver.copied.last().expect("copied");
    assert_eq!(
        patch,
        "// guard.budgetShare 0.6: built into the gateway; no key sets it\n{\n  \"agents\": {\n    \"defaults\": {\n      \"compaction\": {\n        \"reserveTokens\": 34000\n      }\n    }\n  },\n  \"channels\": {\n    \"telegram\": {\n      \"dms\": {\n        \"8812\": {\n          \"historyLimit\": 20\n        }\n      }\n    }\n  }\n}"
    );
}

#[test]
fn a_kept_message_says_that_the_compaction_keeps_it() {
    let mut driver = opened();
    driver.press("4 , , , , , x a 2");
    let last = plan(&driver).fates().last().expect("a message");
    assert_eq!((last.fate, last.reason), (Fate::Kept, Reason::KeptRecent));
}

#[test]
fn no_sequence_of_keys_panics_with_any_step() {
    let keys = "x . x . x s j x space j x k x enter l L h H 0 c C e esc y P , , x s G x g x esc 2 g j j space enter esc p p i - f ctrl-n";
    for (width, height) in [(1, 1), (60, 20), (80, 24), (130, 36), (200, 60)] {
        let mut driver = Driver::demo(width, height);
        driver.go_to("telegram:direct:8812");
        driver.press(keys);
        driver.go_to("llvm-notes");
        driver.press(keys);
    }
}
