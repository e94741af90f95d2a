//! What the estimators say, in lines for people: the same on the screen and from the command.

use crate::context::tokens::script::Script;
use crate::format::group_digits;
use crate::report::estimators::{Estimates, Estimator};
use crate::session::LoadedSession;

/// An error as a share, in percent with its sign: with a decimal below ten, and `+0%` for almost nothing.
pub fn format_signed_error(error: f64) -> String {
    let percent = error * 100.0;
    match percent.abs() {
        0.0..0.05 => "+0%".to_owned(),
        0.05..9.95 => format!("{percent:+.1}%"),
        _ => format!("{percent:+.0}%"),
    }
}

/// A size of errors, in percent: without a sign.
pub fn format_error(error: f64) -> String {
    format_signed_error(error.abs()).split_off(1)
}

/// chars/4 at the last call: its number, the count, and how many times it is too low, for the whole prompt and, where
/// a fit tells what precedes the messages, for them alone.
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

/// Said where no answer has a usage.
const NO_MEASURED_CALL: &str = "No call on this path has a count by its provider.";

/// How far chars/4 is off at the last call, in one line: what a person came for.
pub fn headline(estimates: &Estimates) -> String {
    let Some((pi, counted, whole, messages)) = chars4_error(estimates) else {
        return NO_MEASURED_CALL.to_owned();
    };
    let (pi, counted) = (group_digits(pi), group_digits(counted));
    let rest = match messages {
        Some(times) => format!(", {times:.1} times for the messages alone"),
        None if estimates.fixed_tokens.is_none() => ", with what precedes the messages".to_owned(),
        None => String::new(),
    };
    format!("chars/4 says ~{pi}, the provider counted {counted}: {whole:.1} times as much{rest}")
}

/// The same where there is little room.
pub fn short_headline(estimates: &Estimates) -> String {
    let Some((pi, counted, whole, messages)) = chars4_error(estimates) else {
        return NO_MEASURED_CALL.to_owned();
    };
    let messages = match messages {
        Some(times) => format!(", messages ×{times:.1}"),
        None if estimates.fixed_tokens.is_none() => " with system prompt".to_owned(),
        None => String::new(),
    };
    format!("chars/4 ~{}, counted {}: ×{whole:.1}{messages}", group_digits(pi), group_digits(counted))
}

/// What precedes the messages.
pub fn describe_fixed(estimates: &Estimates) -> String {
    match estimates.fixed_tokens {
        Some(tokens) => format!("before the messages: ~{} by the last run's report", group_digits(tokens)),
        None => "before the messages: no run left a report, so only usage and fit count it".to_owned(),
    }
}

/// Which tokenizer counts.
pub fn describe_tokenizer(estimates: &Estimates, session: &LoadedSession) -> String {
    let name = estimates.bpe.vocabulary.name();
    let model = if session.model.is_empty() { "an unknown model" } else { &session.model };
    if estimates.bpe.is_exact {
        format!("bpe: {name}, the vocabulary of {model}")
    } else {
        format!("bpe: {name} stands in for {model}, only near")
    }
}

/// The factors of the fit, or why there is none.
pub fn describe_factors(estimates: &Estimates) -> String {
    let fit = match &estimates.calibration {
        Ok(fit) => fit,
        Err(too_few) => return format!("fit: {too_few}"),
    };
    if fit.fitted_alone == [false; 3] {
        let rate = fit.chars_per_token(Script::Ascii);
        return format!(
            "fit: {rate:.2} chars a token, {} before the messages",
            group_digits(fit.fixed_tokens.round() as u64)
        );
    }
    let rate = |script: &Script| format!("{:.2}", fit.chars_per_token(*script));
    let (own, shared): (Vec<Script>, Vec<Script>) =
        Script::ALL.into_iter().partition(|script| fit.fitted_alone[*script as usize]);
    let mut rates: Vec<String> =
        own.iter().map(|script| format!("{} {}", script.name(), rate(script))).collect();
    let names: Vec<&str> = shared.iter().map(|script| script.name()).collect();
    rates.extend(shared.first().map(|script| format!("{} {}", names.join(" and "), rate(script))));
    let fixed = group_digits(fit.fixed_tokens.round() as u64);
    format!("fit: {} chars a token; {fixed} before the messages", rates.join(", "))
}

/// How sure the fit is; none without one.
pub fn describe_confidence(estimates: &Estimates) -> Option<String> {
    let fit = estimates.calibration.as_ref().ok()?;
    let off =
        format!("off by {}, at most {}", format_error(fit.deviation.mean), format_error(fit.deviation.max));
    let ahead = fit
        .holdout_error
        .map(|ahead| format!("; fitted to the first half, off by {} in the second", format_error(ahead)));
    Some(format!("fit: {off}, over {} growths{}", fit.growths, ahead.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_a_sign_and_sizes_have_none() {
        assert_eq!(
            [-0.684, 0.0004, 0.0312, 1.5, -0.0995].map(format_signed_error),
            ["-68%", "+0%", "+3.1%", "+150%", "-10%"]
        );
        assert_eq!([-0.684, 0.0, 0.0312].map(format_error), ["68%", "0%", "3.1%"]);
    }
}
