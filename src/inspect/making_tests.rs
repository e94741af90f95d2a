use super::*;
use crate::gateway::catalog;
use crate::inspect::testing::{call, inspection, result, transcript, user};
use crate::policy::prune::Gate;
use crate::policy::{Step, StepSet};
use crate::summarize::SummarizerKind;
use crate::summarize::extractive::Extractive;

fn opened(entries: &[String]) -> Inspection {
    inspection(&transcript(entries), 200_000.0).with_closer().expect("reads")
}

fn planned(inspection: &Inspection, keep: f64) -> Plan {
    let mut settings = StepSettings { steps: StepSet::of(&[Step::Compact]), ..inspection.configured.clone() };
    settings.compaction.keep_recent_tokens = keep;
    inspection.plan(&settings, Gate::Off).expect("plans")
}

fn history() -> Vec<String> {
    vec![
        user("why is the build slow?"),
        call("c1", "exec", r#"{"command":"make"}"#),
        result("c1", "exec", "12345678", ""),
        user("and now?"),
    ]
}

fn making(inspection: &Inspection, plan: &Plan) -> Result<Making, MakingError> {
    let settings = SummarySettings::of(inspection.ruleset.ruleset.rules(), &crate::js::Value::Null);
    Making::new(inspection, plan, settings, (Writer::default(), Box::new(Extractive)), 0.0)
}

fn made(inspection: &Inspection, plan: &Plan) -> Made {
    let making = making(inspection, plan).expect("something to summarise");
    making.make(&Cancel::new(), &mut |_| ()).expect("a summary")
}

#[test]
fn the_plan_counts_the_summary_that_was_made_and_nothing_else_differs() {
    let inspection = opened(&history());
    let assumed = planned(&inspection, 2.0);
    let made = made(&inspection, &assumed);
    let plan = made.plan(&inspection, &assumed).expect("plans");
    assert_eq!((plan.compaction, plan.fates()), (assumed.compaction, assumed.fates()));
    assert_eq!(plan.total_after(), assumed.with_summary(Some(&made.summary), assumed.total_after()));
    assert_eq!(plan.with_summary(Some(&made.summary), plan.total_after()), plan.total_after());
    assert_ne!(plan.total_after(), assumed.total_after());
}

#[test]
fn a_summary_holds_until_the_cut_changes() {
    let inspection = opened(&history());
    let plan = planned(&inspection, 2.0);
    let made = made(&inspection, &plan);
    assert!(made.is_for(&inspection, &plan));
    assert!(!made.is_for(&inspection, &planned(&inspection, 7.0)), "another cut");
    // The session went on, and the cut stands where it stood.
    let grown = opened(&[history(), vec![user("x")]].concat());
    assert!(made.is_for(&grown, &planned(&grown, 3.0)));
    assert!(!made.is_for(&grown, &planned(&grown, 1.0)));
    let rewritten = opened(&[vec![user("why is the build so slow?")], history()[1..].to_vec()].concat());
    assert!(!made.is_for(&rewritten, &planned(&rewritten, 2.0)), "other texts");
}

#[test]
fn what_there_is_nothing_of_to_summarise_is_told() {
    let inspection = opened(&history());
    let settings = StepSettings { steps: StepSet::of(&[Step::Prune]), ..inspection.configured.clone() };
    let plan = inspection.plan(&settings, Gate::Off).expect("plans");
    assert!(matches!(making(&inspection, &plan), Err(MakingError::NoCompaction)));
}

#[test]
fn offline_costs_nothing_and_a_program_costs_what_nobody_knows() {
    let tokens = [Tokens { input: 1_000_000, output: 0 }];
    let writer = |kind, name: &str| Writer { kind, name: Some(name.to_owned()) };
    assert_eq!(Writer::default().cost(tokens), Some(0.0));
    assert_eq!(writer(SummarizerKind::Command, "sum").cost(tokens), None);
    assert_eq!(writer(SummarizerKind::Http, "nobody-sells-this").cost(tokens), None);
    let price = catalog::find("", "gpt-5").expect("a price").price;
    assert_eq!(writer(SummarizerKind::Http, "gpt-5").cost(tokens), Some(price.input));
    assert_eq!(writer(SummarizerKind::Http, "gpt-5").words(), "http gpt-5");
    let inspection = opened(&history());
    let offer = making(&inspection, &planned(&inspection, 2.0)).expect("reads").offer().expect("calls");
    assert_eq!((offer.calls, offer.cost), (1, Some(0.0)));
    assert!(offer.input_tokens > 0);
}

#[test]
fn what_the_safeguard_makes_is_stored_as_an_extensions() {
    let inspection = opened(&history());
    let plan = planned(&inspection, 2.0);
    let mut making = making(&inspection, &plan).expect("something to summarise");
    for (mode, from_hook) in [(Mode::Default, false), (Mode::Safeguard, true)] {
        making.compactable.job.mode = mode;
        let made = making.make(&Cancel::new(), &mut |_| ()).expect("a summary");
        assert_eq!((made.summary.from_hook, made.summary.details.is_some()), (from_hook, true));
    }
}

#[test]
fn a_cancelled_summary_is_none() {
    let inspection = opened(&history());
    let cancel = Cancel::new();
    cancel.cancel();
    let making = making(&inspection, &planned(&inspection, 2.0)).expect("something to summarise");
    let error = making.make(&cancel, &mut |_| ()).expect_err("cancelled");
    assert_eq!(error.to_string(), "cancelled; nothing was changed");
}
