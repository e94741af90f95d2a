use super::*;
use crate::policy::prune::Gate;
use crate::policy::{Policy, PolicySet};
use crate::session::testing::{call, loaded_session, result, transcript, user};
use crate::summarize::SummarizerKind;
use crate::summarize::extractive::ExtractiveSummarizer;
use crate::units::{Moment, Tokens};

fn opened(entries: &[String]) -> LoadedSession {
    loaded_session(&transcript(entries), 200_000.0).load_details().expect("reads")
}

fn planned(session: &LoadedSession, keep: f64) -> Plan {
    let mut settings =
        PolicySettings { enabled: PolicySet::of(&[Policy::Compact]), ..session.configured_settings.clone() };
    settings.compaction.keep_recent_tokens = Tokens(keep);
    session.plan(&settings, Gate::Off).expect("plans")
}

fn history() -> Vec<String> {
    vec![
        user("why is the build slow?"),
        call("c1", "exec", r#"{"command":"make"}"#),
        result("c1", "exec", "12345678", ""),
        user("and now?"),
    ]
}

fn making(session: &LoadedSession, plan: &Plan) -> Result<SummaryJob, SummaryJobError> {
    let settings = SummarySettings::from_config(session.ruleset.id.rules(), &crate::js::Value::Null);
    SummaryJob::new(
        session,
        plan,
        settings,
        (SummaryWriter::default(), Box::new(ExtractiveSummarizer)),
        Moment::ZERO,
    )
}

fn made(session: &LoadedSession, plan: &Plan) -> SummaryResult {
    let making = making(session, plan).expect("something to summarise");
    making.run(&CancelToken::new(), &mut |_| ()).expect("a summary")
}

#[test]
fn a_written_summary_changes_only_the_total_of_the_plan() {
    let session = opened(&history());
    let assumed = planned(&session, 2.0);
    let made = made(&session, &assumed);
    let plan = made.apply_to(&session, &assumed).expect("plans");
    assert_eq!((plan.compaction, plan.fates()), (assumed.compaction, assumed.fates()));
    assert_eq!(plan.total_after(), assumed.tokens_with_summary(Some(&made.summary), assumed.total_after()));
    assert_eq!(plan.tokens_with_summary(Some(&made.summary), plan.total_after()), plan.total_after());
    assert_ne!(plan.total_after(), assumed.total_after());
}

#[test]
fn a_summary_holds_until_the_cut_changes() {
    let session = opened(&history());
    let plan = planned(&session, 2.0);
    let made = made(&session, &plan);
    assert!(made.matches_plan(&session, &plan));
    assert!(!made.matches_plan(&session, &planned(&session, 7.0)), "another cut");
    // The session grew, and the cut is unchanged.
    let grown = opened(&[history(), vec![user("x")]].concat());
    assert!(made.matches_plan(&grown, &planned(&grown, 3.0)));
    assert!(!made.matches_plan(&grown, &planned(&grown, 1.0)));
    let rewritten = opened(&[vec![user("why is the build so slow?")], history()[1..].to_vec()].concat());
    assert!(!made.matches_plan(&rewritten, &planned(&rewritten, 2.0)), "other texts");
}

#[test]
fn a_plan_without_a_compaction_cannot_be_summarised() {
    let session = opened(&history());
    let settings =
        PolicySettings { enabled: PolicySet::of(&[Policy::Prune]), ..session.configured_settings.clone() };
    let plan = session.plan(&settings, Gate::Off).expect("plans");
    assert!(matches!(making(&session, &plan), Err(SummaryJobError::NoCompaction)));
}

#[test]
fn an_offer_counts_the_calls_before_any_is_made() {
    let session = opened(&history());
    let offer = making(&session, &planned(&session, 2.0)).expect("reads").estimate().expect("calls");
    assert!(offer.calls == 1 && offer.input_tokens > 0, "{offer:?}");
    let writer = |kind| SummaryWriter { kind, name: Some("sum".to_owned()) };
    assert_eq!(writer(SummarizerKind::Command).label(), "sum (command)");
    assert!(writer(SummarizerKind::Command).is_external() && !SummaryWriter::default().is_external());
}

#[test]
fn a_safeguard_summary_is_stored_as_made_by_an_extension() {
    let session = opened(&history());
    let plan = planned(&session, 2.0);
    let mut making = making(&session, &plan).expect("something to summarise");
    for (mode, from_hook) in [(SummaryMode::Default, false), (SummaryMode::Safeguard, true)] {
        making.compactable.job.mode = mode;
        let made = making.run(&CancelToken::new(), &mut |_| ()).expect("a summary");
        assert_eq!((made.summary.from_hook, made.summary.details.is_some()), (from_hook, true));
    }
}

#[test]
fn a_cancelled_summary_is_an_error() {
    let session = opened(&history());
    let cancel = CancelToken::new();
    cancel.cancel();
    let making = making(&session, &planned(&session, 2.0)).expect("something to summarise");
    let error = making.run(&cancel, &mut |_| ()).expect_err("cancelled");
    assert_eq!(error.to_string(), "cancelled; nothing changed");
}
