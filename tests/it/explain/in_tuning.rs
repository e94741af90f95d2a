//! A change that explain advises shows the same numbers in tuning.

use clawscope::app::screens::explain::ExplainRow;
use clawscope::app::state::Overlay;
use clawscope::app::target::Target;
use clawscope::report::explain::{Advice, Question};

use super::on_store::Read;
use crate::support::driver::Driver;

/// Asserts that every change of an explanation has the same totals in tuning.
#[track_caller]
pub(crate) fn agrees_in_tuning(read: &Read) {
    let mut driver = Driver::at_path(read.folder(), 130, 36);
    driver.go_to(&read.item.key.0);
    gives_the_same(&mut driver);
}

/// Asserts the same for the open session.
#[track_caller]
pub(crate) fn gives_the_same(driver: &mut Driver) {
    let advice = advice(driver);
    let failed = driver.app.failed_overflow().is_some();
    for (at, advice) in advice.iter().enumerate() {
        driver.press("2 e");
        select(driver, at);
        driver.press("enter");
        let words = advice.description();
        let target = if failed { Target::FailedCall } else { Target::NextCall };
        assert_eq!(driver.app.target, target, "{words}");
        if !failed {
            continue;
        }
        let tuned = driver.app.replay_outcome().and_then(|outcome| outcome.tuned).expect("a replay");
        assert_eq!(tuned, advice.whole, "{words}");
        let (_, _, shown) = driver.app.target_tokens().expect("a replay");
        assert_eq!(shown, advice.whole.failing_call_tokens, "{words}");
        let bar = driver.app.preview.totals.after.expect("a plan").total();
        assert_eq!(Some(bar), advice.whole.failing_call_tokens, "{words}: the bar");
        driver.press("a");
        assert_eq!(driver.app.target, Target::NextCall);
        driver.press("a");
        assert_eq!(driver.app.target, Target::WholeSession);
        let shown = driver.app.target_tokens().and_then(|(_, _, tuned)| tuned);
        assert_eq!(shown, Some(advice.whole.peak_tokens), "{words}");
    }
}

fn advice(driver: &mut Driver) -> Vec<Advice> {
    driver.press("2 e");
    let Some(Overlay::Explain(screen)) = driver.app.overlay() else { panic!("explain is open") };
    let advice = screen.explanation().expect("it is explained").advice.clone();
    driver.press("esc");
    advice
}

fn select(driver: &mut Driver, advice: usize) {
    driver.press("g");
    for _ in 0..200 {
        let Some(Overlay::Explain(screen)) = driver.app.overlay() else { panic!("explain is open") };
        if screen.selected() == Some(ExplainRow::of(Question::Advice, advice)) {
            return;
        }
        driver.press("j");
    }
    panic!("no row of change {advice}");
}

#[test]
fn advice_for_the_demo_has_the_same_effect_in_tuning() {
    let mut driver = Driver::demo(130, 36);
    for key in ["telegram:direct:8812", "slack:channel:c07infra"] {
        driver.go_to(key);
        gives_the_same(&mut driver);
    }
}
