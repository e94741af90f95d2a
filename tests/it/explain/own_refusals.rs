//! What the gateway itself refused or did: its estimate before a call, and compactions far below their trigger.

use clawscope::report::explain::FindingClass;
use serde_json::{Value, json};

use super::line;
use super::made::{Made, words};

const PRECHECK: &str = "Context overflow: prompt too large for the model (precheck).";

fn version(release: &str) -> Value {
    json!({ "meta": { "lastTouchedVersion": release } })
}

#[test]
fn a_refusal_of_the_gateways_own_check_says_nothing_about_the_provider() {
    for (window, release) in [(16_384, "2026.5.20"), (32_768, "2026.6.11"), (65_536, "2026.7.1")] {
        let mut made = Made::new();
        made.fixed = window as f64 * 0.3;
        made.grow_to(window / 2, window as usize / 8);
        made.user(&words(window as usize * 3));
        made.failed(PRECHECK);
        let read = made.on(window).config(version(release)).read();
        let explanation = read.said();
        assert!(explanation.has_overflowed(), "{}", line(&explanation));
        assert_eq!(read.window.model_tokens.whole(), window);
        let failure = explanation.failure.as_ref().expect("a call");
        assert!(failure.is_by_gateway());
        assert_eq!(explanation.course.served_limit, None, "the provider was never asked");
    }
}

#[test]
fn a_compaction_after_an_error_that_is_no_overflow_is_premature() {
    for (window, tokens) in [(200_000, 19_000), (131_072, 24_000), (1_000_000, 60_000)] {
        let mut made = Made::new();
        made.grow_to(tokens, 4_000);
        for _ in 0..3 {
            let asked = made.user("and now?");
            made.failed("400 status code (no body)");
            made.compaction("## Decisions\nNo prior history.", asked);
        }
        let explanation = made.on(window).config(version("2026.4.25")).read().said();
        assert!(!explanation.has_overflowed(), "{}", line(&explanation));
        let classes: Vec<_> = explanation.findings.iter().map(|finding| finding.class).collect();
        assert!(classes.contains(&FindingClass::PrematureCompaction), "{classes:?}");
        assert!(!classes.contains(&FindingClass::CompactionTreadmill), "{classes:?}");
        assert_ne!(classes[0], FindingClass::Healthy);
    }
}
