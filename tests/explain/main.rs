//! Explanations of whole sessions, read from stores with rows and configurations as a gateway writes them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failing test stops there")]

mod classes;
mod fixtures;
mod healthy;
mod made;
mod on_store;
mod record;
mod reports;
mod stores;
mod whole;

use clawscope::explain::{Class, Confidence, Explanation};
use on_store::Read;

/// The verdict with groups parted by commas.
pub(crate) fn line(explanation: &Explanation) -> String {
    explanation.findings[0].line.replace(clawscope::inspect::words::GROUP, ",")
}

/// Asserts class, confidence and parts of the line.
#[track_caller]
pub(crate) fn told(read: &Read, expected: (Class, Confidence), parts: &[&str]) -> Explanation {
    let explanation = read.said();
    let line = line(&explanation);
    assert_eq!((explanation.findings[0].class, explanation.findings[0].confidence), expected, "{line}");
    for part in parts {
        assert!(line.contains(part), "{part:?} in {line:?}");
    }
    explanation
}

/// A number of the verdict.
#[track_caller]
pub(crate) fn number(explanation: &Explanation, name: &str) -> f64 {
    let numbers = &explanation.findings[0].numbers;
    numbers.iter().find(|(own, _)| *own == name).expect(name).1
}
