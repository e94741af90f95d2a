//! The last test of a run, by its name: it shows skipped tests even if every test passes.

use std::collections::BTreeMap;

use crate::support::skipped;

#[test]
fn skipped_tests_are_named_on_the_terminal() {
    let tests = BTreeMap::from([
        ("a browser".to_owned(), (1, "none of chromium, chrome".to_owned())),
        ("the real pi 0.55.3".to_owned(), (7, "npm: cannot reach the registry\nmore".to_owned())),
    ]);
    assert_eq!(
        skipped::describe(&tests).as_deref(),
        Some(
            "skipped 8 tests: 1 without a browser (none of chromium, chrome), 7 without the real pi 0.55.3 (npm: \
             cannot reach the registry)"
        )
    );
    assert_eq!(skipped::describe(&BTreeMap::new()), None);
    skipped::tell_all();
}
