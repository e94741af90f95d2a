//! A compaction committed on the screen, key by key: the summary is offered, made, shown, written; or refused, cancelled,
//! failed, and then nothing is written.

use std::path::Path;

use clawscope::app::effect::{Effect, PendingWrite};
use clawscope::app::screens::write::{SummaryStage, summary_lines};
use clawscope::app::state::{Overlay, WriteDialog, WriteStage};
use clawscope::app::target::Target;
use clawscope::config::{SummarizerConfig, SummarizerKind};
use clawscope::write::summary::job::SummaryResult;

use crate::support::driver::{Driver, append_to};

/// From pruning, where the tuning starts, to the compaction, switched on.
const COMPACT: &str = "4 , , , , , x";

/// The overflowed build session under a plan that compacts it; `first` are keys before that.
fn compacting(first: &str) -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press(first);
    driver.press(COMPACT);
    if driver.app.target == Target::FailedCall {
        driver.press("a");
    }
    driver.press("2");
    assert!(driver.app.preview.plan.as_ref().is_some_and(|plan| plan.compaction.is_some()), "it compacts");
    driver
}

/// Types another number of recent tokens to keep into the setting.
fn keep(driver: &mut Driver, tokens: &str) {
    let tuning = &driver.app.tuning;
    let at = tuning.rows.iter().position(|row| row.key() == "compaction.keepRecentTokens").expect("the row");
    let by = at as isize - tuning.focused_row().expect("a focused row") as isize;
    driver.press("4");
    driver.press(&(if by < 0 { "k " } else { "j " }).repeat(by.unsigned_abs()));
    driver.press(&format!("enter ctrl-u text:{tokens} enter 2"));
}

fn dialog(driver: &Driver) -> &WriteDialog {
    match driver.app.overlay() {
        Some(Overlay::Write(dialog)) => dialog,
        other => panic!("no dialog: {other:?}"),
    }
}

/// Returns the summary in the dialog.
fn dialog_summary(driver: &Driver) -> &SummaryResult {
    match &dialog(driver).write {
        PendingWrite::Commit { summary: Some(made), .. } => made,
        other => panic!("no summary: {other:?}"),
    }
}

fn bytes(driver: &Driver) -> Vec<u8> {
    std::fs::read(driver.path()).expect("the transcript")
}

/// Returns the tokens that the shown plan counts for the summary.
fn counted(driver: &Driver) -> u64 {
    driver.app.preview.plan.as_ref().expect("a plan").settings.summary_tokens
}

fn program(words: &[&str]) -> SummarizerConfig {
    SummarizerConfig {
        kind: SummarizerKind::Command,
        command: words.iter().map(|word| (*word).to_owned()).collect(),
        ..SummarizerConfig::default()
    }
}

#[test]
fn a_compaction_is_summarised_shown_appended_and_taken_back() {
    let mut driver = compacting("");
    let before = bytes(&driver);
    driver.press("c");
    let WriteStage::Confirming(preview) = &dialog(&driver).stage else {
        panic!("{:?}", dialog(&driver).stage)
    };
    assert!(!preview.is_branch, "it goes on from the leaf");
    let made = dialog_summary(&driver).clone();
    assert_eq!(made.writer.kind, SummarizerKind::Extractive);
    assert_eq!(counted(&driver), made.summary.tokens(), "the preview counts the real length");
    assert_eq!(bytes(&driver), before, "and nothing is written before a yes");
    driver.press("y");
    assert!(driver.app.overlay().is_none());
    let after = bytes(&driver);
    assert!(after.starts_with(&before));
    let text = String::from_utf8_lossy(&after[before.len()..]).into_owned();
    let last = text.lines().last().expect("a line");
    assert!(last.contains(r#""type":"compaction""#) && last.contains("## Goal"), "{last}");
    assert_eq!(driver.app.toast.as_ref().map(|toast| toast.text.starts_with("Summary written")), Some(true));
    driver.press("u y");
    assert!(bytes(&driver).starts_with(&after) && bytes(&driver).len() > after.len());
}

#[test]
fn a_compaction_after_pruned_results_is_written_as_a_branch() {
    let mut driver = compacting("p a 4 i j j j H H H");
    keep(&mut driver, "100000");
    driver.press("c");
    let plan = driver.app.preview.plan.as_ref().expect("a plan");
    assert!(plan.messages.iter().any(|item| !plan.message_edits(item).is_empty()), "what is kept is pruned");
    let WriteStage::Confirming(preview) = &dialog(&driver).stage else {
        panic!("{:?}", dialog(&driver).stage)
    };
    assert!(preview.is_branch);
    let before = bytes(&driver);
    driver.press("y");
    let after = bytes(&driver);
    assert!(after.starts_with(&before) && driver.app.overlay().is_none());
    let text = String::from_utf8_lossy(&after[before.len()..]).into_owned();
    let compactions: Vec<bool> = text.lines().map(|line| line.contains(r#""type":"compaction""#)).collect();
    assert!(compactions.len() > 2 && compactions.iter().rposition(|is| *is) == Some(compactions.len() - 1));
}

#[test]
fn a_summary_counts_in_the_preview_until_the_cut_changes() {
    let mut driver = compacting("");
    let assumed = counted(&driver);
    driver.press("c");
    let made = dialog_summary(&driver).summary.tokens();
    driver.press("n p p a");
    assert!(made != assumed && counted(&driver) == made, "{made} {assumed}");
    keep(&mut driver, "60000");
    assert_eq!(counted(&driver), assumed, "another cut");
    keep(&mut driver, "20000");
    assert_eq!(counted(&driver), made, "the same again");
    driver.press("c");
    assert!(matches!(dialog(&driver).stage, WriteStage::Confirming(_)), "it is not made twice");
}

#[test]
fn esc_cancels_a_summary_and_a_late_result_is_dropped() {
    let mut driver = compacting("");
    let before = bytes(&driver);
    let begun = driver.key_effects("c");
    assert!(
        begun.iter().any(|effect| matches!(effect, Effect::Summarise { consented: false, .. })),
        "{begun:?}"
    );
    assert!(matches!(dialog(&driver).stage, WriteStage::Summarising(SummaryStage::Reading)));
    let stopped = driver.key_effects("esc");
    assert!(stopped.iter().any(|effect| matches!(effect, Effect::StopSummary)), "{stopped:?}");
    driver.perform(begun);
    assert!(matches!(&dialog(&driver).stage, WriteStage::SummaryFailed(why) if why.contains("cancelled")));
    assert!(driver.app.preview.summary.is_none());
    driver.press("esc");
    assert!(driver.app.overlay().is_none() && bytes(&driver) == before);
}

#[test]
fn a_failing_program_leaves_the_file_unchanged() {
    let mut driver = compacting("");
    let before = bytes(&driver);
    driver.summarize_by(program(&["/nonexistent/summarizer"]));
    driver.press("c");
    let WriteStage::Summarising(SummaryStage::Offered(offer)) = &dialog(&driver).stage else {
        panic!("it is offered first: {:?}", dialog(&driver).stage)
    };
    assert!(offer.calls > 1 && offer.input_tokens > 10_000, "{offer:?}");
    driver.press("y");
    let WriteStage::SummaryFailed(why) = &dialog(&driver).stage else {
        panic!("{:?}", dialog(&driver).stage)
    };
    assert!(why.contains("cannot start"), "{why}");
    driver.press("y n");
    assert!(
        driver.app.overlay().is_none() && driver.app.preview.summary.is_none() && bytes(&driver) == before
    );
}

#[cfg(unix)]
#[test]
fn a_program_runs_only_after_consent_and_its_output_is_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("called");
    let script = format!("cat > /dev/null; echo x >> {}; printf 'so far \\033[2J%s' done", mark.display());
    let times = |mark: &Path| std::fs::read_to_string(mark).map_or(0, |text| text.lines().count());
    let mut driver = compacting("");
    driver.summarize_by(program(&["sh", "-c", &script]));
    driver.press("c n");
    assert!(driver.app.overlay().is_none() && times(&mark) == 0, "no program was called");
    driver.press("c y");
    let made = dialog_summary(&driver).clone();
    assert_eq!((times(&mark), made.writer.label().as_str()), (made.calls.len(), "sh (command)"));
    let lines = summary_lines(&made, 130);
    assert!(lines.iter().any(|line| line.contains("done")), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "{lines:?}");
    driver.press("y");
    assert!(String::from_utf8_lossy(&bytes(&driver)).contains(r"so far \u001b[2Jdone"));
}

#[test]
fn a_commit_that_would_be_refused_is_refused_before_the_summary() {
    let mut driver = compacting("");
    driver.summarize_by(program(&["/nonexistent/summarizer"]));
    append_to(&driver.path(), "{\"type\":\"custom\",\"id\":\"zz\"}\n");
    driver.press("c");
    let WriteStage::SummaryFailed(why) = &dialog(&driver).stage else {
        panic!("{:?}", dialog(&driver).stage)
    };
    assert!(why.contains("changed") || why.contains("grew"), "{why}");
}

#[test]
fn the_summary_is_read_line_by_line_in_the_dialog() {
    let mut driver = compacting("");
    driver.press("c");
    let lines = summary_lines(dialog_summary(&driver), 130).len();
    driver.press("j j k");
    assert_eq!(dialog(&driver).top, 1);
    for _ in 0..lines {
        driver.press("pgdn");
    }
    assert_eq!(dialog(&driver).top, lines - 1);
    driver.press("pgup");
    assert!(dialog(&driver).top < lines - 1);
}
