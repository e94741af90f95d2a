//! Explanations of whole sessions, read from stores with rows and configurations as a gateway writes them.

mod agreement;
mod classes;
mod counts;
mod fixtures;
mod healthy;
mod in_tuning;
mod made;
mod on_store;
mod own_refusals;
mod record;
mod reply_reserve;
mod reports;
mod stores;
mod unanswered;
mod whole;
mod window;

use clawscope::report::explain::{Explanation, Finding, FindingClass, GuardKind};
use on_store::Read;

/// The longest headline, in chars.
const HEADLINE: usize = 100;

/// Returns the headline of the verdict.
pub(crate) fn line(explanation: &Explanation) -> String {
    explanation.findings[0].headline()
}

/// Asserts the class of the verdict and parts of its line.
#[track_caller]
pub(crate) fn verdict(read: &Read, class: FindingClass, parts: &[&str]) -> Explanation {
    let explanation = read.said();
    let line = line(&explanation);
    let classes: Vec<&str> = explanation.findings.iter().map(|finding| finding.class.as_str()).collect();
    assert_eq!(explanation.findings[0].class, class, "{line} {classes:?}");
    assert!(line.chars().count() <= HEADLINE, "{line}");
    for part in parts {
        assert!(line.contains(part), "{part:?} in {line:?}");
    }
    in_tuning::agrees_in_tuning(read);
    agreement::agrees(read.folder().to_str().expect("text"), &read.item.key.0, 1);
    explanation
}

/// Returns the finding of a class at any rank.
#[track_caller]
pub(crate) fn finding(explanation: &Explanation, class: FindingClass) -> &Finding {
    let found = explanation.findings.iter().find(|finding| finding.class == class);
    found.unwrap_or_else(|| panic!("{} is not among {:#?}", class.as_str(), explanation.findings))
}

/// A number of a finding.
#[track_caller]
pub(crate) fn number(finding: &Finding, name: &str) -> f64 {
    finding.numbers().into_iter().find(|(own, _)| *own == name).expect(name).1
}

/// Returns the reason that a guard did not prevent the overflow.
#[track_caller]
pub(crate) fn why(explanation: &Explanation, kind: GuardKind) -> String {
    let guard = explanation.guards.iter().find(|guard| guard.kind == kind).expect("a row of each guard");
    format!("{}: {}", guard.state.as_str(), guard.reason.description())
}
