use super::ErrorClass;
use crate::policy::overflow::{StopDetails, Verdict, classify_error, judge};

#[track_caller]
fn class(text: &str) -> ErrorClass {
    let details = StopDetails::from_text(text);
    let judged = judge(&details);
    assert_eq!(judged.verdict, Verdict::NoOverflow, "{text}");
    classify_error(&details, &judged).0
}

#[test]
fn every_table_compiles() {
    for table in [&*super::PARTICULAR_TABLE, &*super::ALLOWANCE_TABLE, &*super::GENERAL_TABLE] {
        assert_eq!(table.set.len(), table.classes.len());
    }
}
