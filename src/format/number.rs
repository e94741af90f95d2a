//! Formats counts, tokens and shares.

use crate::js;
use crate::units::{Bytes, Chars, Tokens};

/// A number that counts something.
pub trait Number: Copy {
    /// Formats the number exactly, with commas between groups of three digits.
    fn exact(self) -> String;

    /// Whether its noun is singular.
    fn is_one(self) -> bool;
}

impl Number for u64 {
    fn exact(self) -> String {
        let digits = self.to_string();
        let mut text = String::with_capacity(digits.len() + digits.len() / 3);
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        text
    }

    fn is_one(self) -> bool {
        self == 1
    }
}

impl Number for u32 {
    fn exact(self) -> String {
        u64::from(self).exact()
    }

    fn is_one(self) -> bool {
        self == 1
    }
}

impl Number for usize {
    fn exact(self) -> String {
        (self as u64).exact()
    }

    fn is_one(self) -> bool {
        self == 1
    }
}

impl Number for i64 {
    fn exact(self) -> String {
        let sign = if self < 0 { "-" } else { "" };
        format!("{sign}{}", self.unsigned_abs().exact())
    }

    fn is_one(self) -> bool {
        self == 1
    }
}

/// A count as a double. One that is not whole is written as JavaScript does.
impl Number for f64 {
    fn exact(self) -> String {
        let whole = self.abs() <= 9e15 && self.fract() == 0.0;
        if whole { (self as i64).exact() } else { js::number_text(self) }
    }

    fn is_one(self) -> bool {
        self == 1.0
    }
}

macro_rules! number_of_unit {
    ($($unit:ident),*) => {
        $(impl Number for $unit {
            fn exact(self) -> String {
                self.get().exact()
            }

            fn is_one(self) -> bool {
                self.get().is_one()
            }
        })*
    };
}

number_of_unit!(Tokens, Chars, Bytes);

/// Formats a number exactly: `203,412`.
pub fn format_number(number: impl Number) -> String {
    number.exact()
}

/// Formats an estimate in full: `~203,412`.
pub fn format_estimate(number: impl Number) -> String {
    format!("~{}", format_number(number))
}

/// Formats tokens in full, with `~` unless the provider counted them.
pub fn format_counted(number: u64, is_measured: bool) -> String {
    if is_measured { format_number(number) } else { format_estimate(number) }
}

/// Formats the number of a call or of a message, counted from 1: `#135` for index 134.
pub fn format_ordinal(index: usize) -> String {
    format!("#{}", index + 1)
}

/// Formats a number in thousands or millions: `940`, `33.1k`, `203k`, `1.0M`. One decimal below a hundred; a whole
/// thousand or million has none, such as the window `64k`.
pub fn format_short(number: u64) -> String {
    let (unit, name) = match number {
        0..1_000 => return number.to_string(),
        1_000..999_500 => (1_000, 'k'),
        _ => (1_000_000, 'M'),
    };
    let value = number as f64 / unit as f64;
    let decimals = usize::from(value < 99.95 && !number.is_multiple_of(unit));
    format!("{value:.decimals$}{name}")
}

/// Formats an estimate in thousands or millions: `~33.1k`.
pub fn format_short_estimate(number: u64) -> String {
    format!("~{}", format_short(number))
}

/// Formats tokens in thousands or millions, with `~` unless the provider counted them.
pub fn format_short_tokens(number: u64, is_measured: bool) -> String {
    if is_measured { format_short(number) } else { format_short_estimate(number) }
}

/// Formats measured tokens exactly and estimated ones in thousands: `203,412`, `~203k`.
pub fn format_tokens(number: u64, is_measured: bool) -> String {
    if is_measured { format_number(number) } else { format_short_estimate(number) }
}

/// Rounds computed tokens to a whole number; negative ones are 0.
pub fn round_tokens(tokens: Tokens) -> u64 {
    tokens.get().max(0.0).round() as u64
}

/// Formats a count with its noun: `1 entry`, `2 entries`, `3,000 results`.
pub fn quantity(count: impl Number, noun: &str) -> String {
    let number = format_number(count);
    match noun.strip_suffix('y') {
        _ if count.is_one() => format!("{number} {noun}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        _ => format!("{number} {noun}s"),
    }
}

/// Formats a count with words for one and for many: `1 call fits`, `2 calls fit`.
pub fn format_count(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", format_number(count), if count == 1 { one } else { many })
}

/// Returns a share in whole percent, rounded half up; `None` if `whole` is 0.
pub fn whole_percent(part: u64, whole: u64) -> Option<u64> {
    let (part, whole) = (u128::from(part), u128::from(whole));
    (whole > 0).then(|| ((part * 100 + whole / 2) / whole) as u64)
}

/// Formats a share in whole percent, rounded half up: `41%`; `<1%` if it rounds to 0, `-` if `whole` is 0.
pub fn format_percent(part: u64, whole: u64) -> String {
    match whole_percent(part, whole) {
        None => "-".to_owned(),
        Some(0) if part > 0 => "<1%".to_owned(),
        Some(percent) => format!("{percent}%"),
    }
}

/// Formats a ratio in whole percent: `41%` for 0.41.
pub fn format_ratio(ratio: f64) -> String {
    format!("{:.0}%", ratio * 100.0)
}

/// Formats a relative difference in percent with its sign: one decimal below ten, and `0%` for almost nothing.
pub fn format_signed_percent(difference: f64) -> String {
    let percent = difference * 100.0;
    match percent.abs() {
        0.0..0.05 => "0%".to_owned(),
        0.05..9.95 => format!("{percent:+.1}%"),
        _ => format!("{percent:+.0}%"),
    }
}

/// Formats the size of a relative difference in percent, without a sign.
pub fn format_deviation(difference: f64) -> String {
    format_signed_percent(difference.abs()).trim_start_matches('+').to_owned()
}

/// Formats two ratios with as many digits as distinguish them: at least two, at most six.
pub fn format_ratios(one: f64, other: f64) -> (String, String) {
    let texts = |digits: usize| (format!("{one:.digits$}"), format!("{other:.digits$}"));
    (2..6)
        .map(texts)
        .find(|(one, other)| one != other)
        .unwrap_or_else(|| texts(if one == other { 2 } else { 6 }))
}

/// Formats bytes in decimal units: `3.1 MB`, `231 bytes`.
pub fn format_size(bytes: Bytes) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("KB", 1e3)];
    match units.iter().find(|(_, size)| bytes.get() as f64 >= *size) {
        Some((name, size)) => format!("{:.1} {name}", bytes.get() as f64 / size),
        None => quantity(bytes, "byte"),
    }
}

/// Parses a number with `k` or `M` after it, and commas or underscores between its digits: `150000`, `150,000`,
/// `150_000`, `150k`, `1.5M`.
pub fn parse_count(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, scale) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1e3),
        (at, 'm' | 'M') => (&text[..at], 1e6),
        _ => (text, 1.0),
    };
    let whole = digits.split('.').next().unwrap_or_default();
    let mut groups = whole.split(',').skip(1);
    // A comma before other than three digits may be a decimal point.
    if !groups.all(|group| group.len() == 3) || digits.starts_with([',', '_']) {
        return None;
    }
    let number: f64 = digits.replace([',', '_'], "").trim().parse().ok()?;
    Some(number * scale).filter(|number| number.is_finite())
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    Tokens(Tokens),
    /// A share of the window, from 0 to 1.
    Share(f64),
}

impl Amount {
    /// The expected forms, for an error message.
    pub const EXPECTED: &str = "tokens such as 150000 or 150k, or a share of the window such as 90%";

    /// Returns `None` if the text is not a positive number or share.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (number, is_share) = text.strip_suffix('%').map_or((text, false), |share| (share, true));
        let number = if is_share { number.trim().parse().ok() } else { parse_count(number) };
        let positive = number.filter(|number| number.is_finite() && *number > 0.0)?;
        Some(if is_share { Self::Share(positive / 100.0) } else { Self::Tokens(Tokens(positive)) })
    }

    /// Returns the tokens; `None` for a share of an unknown window.
    pub fn tokens(self, window: Tokens) -> Option<Tokens> {
        match self {
            Self::Tokens(tokens) => Some(tokens),
            Self::Share(share) => (window > Tokens::ZERO).then(|| (window * share).floor()),
        }
    }

    /// Formats the amount as a person would write it.
    pub fn text(self) -> String {
        match self {
            Self::Tokens(tokens) => crate::js::number_text(tokens.get()),
            Self::Share(share) => format!("{}%", crate::js::number_text((share * 1e6).round() / 1e4)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_are_grouped_from_the_right() {
        let texts = [0, 999, 1_000, 203_412, u64::MAX].map(format_number);
        assert_eq!(texts, ["0", "999", "1,000", "203,412", "18,446,744,073,709,551,615"]);
        assert_eq!([1.5, f64::NAN, -2.0, 4e3].map(format_number), ["1.5", "NaN", "-2", "4,000"]);
        assert_eq!([203_412_i64, -1_500, 999].map(format_number), ["203,412", "-1,500", "999"]);
        assert_eq!([true, false].map(|measured| format_counted(203_412, measured)), ["203,412", "~203,412"]);
        assert_eq!([0, 134].map(format_ordinal), ["#1", "#135"]);
    }

    #[test]
    fn short_numbers_have_one_decimal_below_a_hundred() {
        let texts = [0, 49, 999, 1_049, 33_149, 99_949, 99_950, 125_600, 999_499].map(format_short);
        assert_eq!(texts, ["0", "49", "999", "1.0k", "33.1k", "99.9k", "100k", "126k", "999k"]);
        let texts = [999_500, 1_048_576, 16_290_100, 163_412_000].map(format_short);
        assert_eq!(texts, ["1.0M", "1.0M", "16.3M", "163M"]);
        let whole = [1_000, 20_000, 200_000, 1_000_000].map(format_short);
        assert_eq!(whole, ["1k", "20k", "200k", "1M"]);
    }

    #[test]
    fn only_estimates_are_marked() {
        assert_eq!([0, 940, 33_149].map(format_short_estimate), ["~0", "~940", "~33.1k"]);
        assert_eq!([true, false].map(|measured| format_short_tokens(203_412, measured)), ["203k", "~203k"]);
        assert_eq!([true, false].map(|measured| format_tokens(203_412, measured)), ["203,412", "~203k"]);
    }

    #[test]
    fn counts_have_their_noun() {
        assert_eq!([1, 4_000].map(|count: u64| quantity(count, "image")), ["1 image", "4,000 images"]);
        assert_eq!([1.0, 2.0].map(|count| quantity(count, "summary")), ["1 summary", "2 summaries"]);
        assert_eq!([1, 7].map(|count: usize| quantity(count, "key")), ["1 key", "7 keys"]);
        assert_eq!([1, 7].map(|count| format_count(count, "fits", "fit")), ["1 fits", "7 fit"]);
    }

    #[test]
    fn shares_round_half_up_and_a_share_of_zero_is_a_dash() {
        let texts = [(1, 8), (5, 0), (955, 100), (1, 900)].map(|(part, whole)| format_percent(part, whole));
        assert_eq!(texts, ["13%", "-", "955%", "<1%"]);
        assert_eq!(format_ratio(0.414), "41%");
    }

    #[test]
    fn differences_have_a_sign_and_a_decimal_below_ten() {
        let texts = [-0.684, 0.0004, 0.0312, 1.5, -0.0995].map(format_signed_percent);
        assert_eq!(texts, ["-68%", "0%", "+3.1%", "+150%", "-10%"]);
        assert_eq!([-0.684, 0.0, 0.0312].map(format_deviation), ["68%", "0%", "3.1%"]);
    }

    #[test]
    fn ratios_that_differ_late_are_written_until_they_differ() {
        assert_eq!(format_ratios(0.28, 0.3), ("0.28".into(), "0.30".into()));
        assert_eq!(format_ratios(0.2999, 0.3), ("0.2999".into(), "0.3000".into()));
        assert_eq!(format_ratios(0.3, 0.3), ("0.30".into(), "0.30".into()));
    }
}

#[cfg(test)]
mod size_tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_units() {
        let sizes = [1, 231, 999, 1_000, 3_149_999, 2_000_000_000].map(Bytes).map(format_size);
        assert_eq!(sizes, ["1 byte", "231 bytes", "999 bytes", "1.0 KB", "3.1 MB", "2.0 GB"]);
    }
}

#[cfg(test)]
mod amount_tests {
    use super::*;

    #[test]
    fn an_amount_is_tokens_or_a_share_of_the_window() {
        let tokens = |text: &str, window: f64| {
            Amount::parse(text).and_then(|amount| amount.tokens(Tokens(window))).map(Tokens::get)
        };
        assert_eq!(tokens(" 150000 ", f64::NAN), Some(150_000.0));
        assert_eq!(tokens("150k", f64::NAN), Some(150_000.0));
        for (text, count) in
            [("150,000", 150e3), ("150_000", 150e3), ("1.5M", 1.5e6), ("1,500k", 1.5e6), ("2m", 2e6)]
        {
            assert_eq!(tokens(text, f64::NAN), Some(count), "{text}");
        }
        assert_eq!(tokens("12.5%", 200_001.0), Some(25_000.0));
        assert_eq!(tokens("90%", f64::NAN), None);
        for odd in ["", "%", "k", "-1", "0", "NaN", "inf", "90 percent", "1,5", ",100", "infk"] {
            assert_eq!(Amount::parse(odd), None, "{odd}");
        }
        for text in ["150000", "12.5%", "7%"] {
            assert_eq!(Amount::parse(text).map(Amount::text).as_deref(), Some(text));
        }
    }
}
