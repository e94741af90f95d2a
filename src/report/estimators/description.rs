//! The estimators' results in sentences. The screen and the command share them.

use crate::context::tokens::script::Script;
use crate::format::{format_deviation, format_estimate, format_number};
use crate::report::estimators::{Estimates, Estimator};

/// Returns chars/4 at the last reliable call: the estimate, the count, and the factor by which it is too low, for the
/// whole prompt and, if a fit separates the tokens before the messages, for only the messages.
fn chars4_error(estimates: &Estimates) -> Option<(u64, u64, f64, Option<f64>)> {
    let call = estimates.last_reliable_call()?;
    let pi = call.estimates.get(Estimator::Pi)?;
    let times = |measured: u64, pi: u64| measured as f64 / pi.max(1) as f64;
    let fitted = estimates.calibration.as_ref().ok().map(|fit| fit.fixed_tokens.round() as u64);
    let before = estimates.fixed_tokens.unwrap_or(0);
    let messages =
        fitted.map(|fitted| times(call.measured.saturating_sub(fitted), pi.saturating_sub(before)));
    Some((pi, call.measured, times(call.measured, pi), messages))
}

/// Shown when no answer has a usage.
const NO_MEASURED_CALL: &str = "The provider counted no call on this path.";

/// Says in one line by how much chars/4 is off at the last call.
pub(super) fn headline(estimates: &Estimates) -> String {
    let Some((pi, counted, whole, messages)) = chars4_error(estimates) else {
        return NO_MEASURED_CALL.to_owned();
    };
    let (pi, counted) = (format_number(pi), format_number(counted));
    let rest = match messages {
        Some(times) => format!("; messages alone {times:.1}x"),
        None if estimates.fixed_tokens.is_none() => ", with system prompt, tools and files".to_owned(),
        None => String::new(),
    };
    format!("chars/4 estimates ~{pi}; the provider counted {counted} ({whole:.1}x{rest})")
}

/// Describes the tokens before the messages.
pub(super) fn describe_fixed(estimates: &Estimates) -> String {
    match estimates.fixed_tokens {
        Some(tokens) => format!("system prompt, tools and files: ~{}, from the last run's report", format_number(tokens)),
        None => "system prompt, tools and files: no run stored a report, so only usage and calibrated include them".to_owned(),
    }
}

/// Describes the fitted factors, or why there is no fit.
pub(super) fn describe_factors(estimates: &Estimates) -> String {
    let fit = match &estimates.calibration {
        Ok(fit) => fit,
        Err(too_few) => return format!("calibrated: {too_few}"),
    };
    if fit.fitted_alone == [false; 3] {
        let rate = fit.chars_per_token(Script::Ascii);
        return format!(
            "calibrated: {rate:.2} chars per token over all counted calls, plus {} for system prompt, tools and files",
            format_estimate(fit.fixed_tokens.round() as u64)
        );
    }
    let rate = |script: &Script| format!("{:.2}", fit.chars_per_token(*script));
    let (own, shared): (Vec<Script>, Vec<Script>) =
        Script::ALL.into_iter().partition(|script| fit.fitted_alone[*script as usize]);
    let mut rates: Vec<String> =
        own.iter().map(|script| format!("{} {}", script.name(), rate(script))).collect();
    let names: Vec<&str> = shared.iter().map(|script| script.name()).collect();
    rates.extend(shared.first().map(|script| format!("{} {}", names.join(" and "), rate(script))));
    let fixed = format_estimate(fit.fixed_tokens.round() as u64);
    format!(
        "calibrated: {} chars per token; plus {fixed} for system prompt, tools and files",
        rates.join(", ")
    )
}

/// Describes the confidence of the fit; `None` without a fit.
pub(super) fn describe_confidence(estimates: &Estimates) -> Option<String> {
    let fit = estimates.calibration.as_ref().ok()?;
    let off = format!(
        "mean error {}, at most {}",
        format_deviation(fit.deviation.mean),
        format_deviation(fit.deviation.max)
    );
    let ahead = fit
        .holdout_error
        .map(|ahead| format!("; fitted to the first half: {} in the second", format_deviation(ahead)));
    Some(format!("calibrated: {off}, over {} steps between calls{}", fit.growths, ahead.unwrap_or_default()))
}
