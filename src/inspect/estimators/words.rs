//! What the estimators say, in lines for people: the same on the screen and from the command.

use crate::context::tokens::script::Script;
use crate::inspect::Inspection;
use crate::inspect::estimators::{Estimates, Estimator};
use crate::inspect::words::grouped;

/// An error as a share, in percent with its sign: with a decimal below ten, and `+0%` for almost nothing.
pub fn signed(error: f64) -> String {
    let percent = error * 100.0;
    match percent.abs() {
        0.0..0.05 => "+0%".to_owned(),
        0.05..9.95 => format!("{percent:+.1}%"),
        _ => format!("{percent:+.0}%"),
    }
}

/// A size of errors, in percent: without a sign.
pub fn unsigned(error: f64) -> String {
    signed(error.abs()).split_off(1)
}

/// How far chars/4 is off at the last call, in one line: what a person came for.
pub fn headline(estimates: &Estimates) -> String {
    let last = estimates.last().and_then(|call| Some((call, call.numbers.of(Estimator::Pi)?)));
    let Some((call, pi)) = last else {
        return "No call on this path has a count by its provider.".to_owned();
    };
    let times = |measured: u64, pi: u64| format!("{:.1} times", measured as f64 / pi.max(1) as f64);
    let whole = times(call.measured, pi);
    let fitted = estimates.calibration.as_ref().map_or(0, |fit| fit.fixed.round() as u64);
    let rest = match estimates.fixed {
        Some(_) if fitted == 0 => String::new(),
        Some(fixed) => {
            let messages = times(call.measured.saturating_sub(fitted), pi.saturating_sub(fixed));
            format!(", {messages} for the messages alone")
        }
        None => ", with what precedes the messages".to_owned(),
    };
    let (pi, counted) = (grouped(pi), grouped(call.measured));
    format!("chars/4 says ~{pi}, the provider counted {counted}: {whole} as much{rest}")
}

/// What precedes the messages.
pub fn fixed(estimates: &Estimates) -> String {
    match estimates.fixed {
        Some(tokens) => format!("before the messages: ~{} by the last run's report", grouped(tokens)),
        None => "before the messages: no run left a report, so only usage and fit count it".to_owned(),
    }
}

/// Which tokenizer counts.
pub fn tokenizer(estimates: &Estimates, inspection: &Inspection) -> String {
    let name = estimates.bpe.vocabulary.name();
    let model = if inspection.model.is_empty() { "an unknown model" } else { &inspection.model };
    if estimates.bpe.exact {
        format!("bpe: {name}, the vocabulary of {model}")
    } else {
        format!("bpe: {name} stands in for {model}, only near")
    }
}

/// The factors of the fit, or why there is none.
pub fn factors(estimates: &Estimates) -> String {
    let fit = match &estimates.calibration {
        Ok(fit) => fit,
        Err(too_few) => return format!("fit: {too_few}"),
    };
    if fit.own == [false; 3] {
        let rate = fit.chars_per_token(Script::Ascii);
        return format!(
            "fit: {rate:.2} chars a token, {} before the messages",
            grouped(fit.fixed.round() as u64)
        );
    }
    let rate = |script: &Script| format!("{:.2}", fit.chars_per_token(*script));
    let (own, shared): (Vec<Script>, Vec<Script>) =
        Script::ALL.into_iter().partition(|script| fit.own[*script as usize]);
    let mut rates: Vec<String> =
        own.iter().map(|script| format!("{} {}", script.name(), rate(script))).collect();
    let names: Vec<&str> = shared.iter().map(|script| script.name()).collect();
    rates.extend(shared.first().map(|script| format!("{} {}", names.join(" and "), rate(script))));
    let fixed = grouped(fit.fixed.round() as u64);
    format!("fit: chars a token: {}; {fixed} before the messages", rates.join(", "))
}

/// How sure the fit is; none without one.
pub fn sureness(estimates: &Estimates) -> Option<String> {
    let fit = estimates.calibration.as_ref().ok()?;
    let off = format!("off by {}, at most {}", unsigned(fit.deviation.mean), unsigned(fit.deviation.max));
    let ahead = fit
        .ahead
        .map(|ahead| format!("; fitted to the first half, off by {} in the second", unsigned(ahead)));
    Some(format!("fit: {off}, over {} growths{}", fit.growths, ahead.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_a_sign_and_sizes_have_none() {
        assert_eq!(
            [-0.684, 0.0004, 0.0312, 1.5, -0.0995].map(signed),
            ["-68%", "+0%", "+3.1%", "+150%", "-10%"]
        );
        assert_eq!([-0.684, 0.0, 0.0312].map(unsigned), ["68%", "0%", "3.1%"]);
    }
}
