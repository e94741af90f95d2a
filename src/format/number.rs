//! Formats counts, tokens and shares.

use crate::js;

/// The no-break space between groups of three digits.
pub const DIGIT_SEPARATOR: char = '\u{a0}';

/// A number that counts something.
pub trait Number: Copy {
    /// Formats the number with a separator between groups of three digits.
    fn grouped_with(self, separator: char) -> String;

    /// Whether its noun is singular.
    fn is_one(self) -> bool;
}

impl Number for u64 {
    fn grouped_with(self, separator: char) -> String {
        let digits = self.to_string();
        let mut text = String::with_capacity(digits.len() + digits.len() / 3);
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push(separator);
            }
            text.push(digit);
        }
        text
    }

    fn is_one(self) -> bool {
        self == 1
    }
}

impl Number for usize {
    fn grouped_with(self, separator: char) -> String {
        (self as u64).grouped_with(separator)
    }

    fn is_one(self) -> bool {
        self == 1
    }
}

/// A count held as a double: grouped if it is whole and not negative, else as JavaScript writes it.
impl Number for f64 {
    fn grouped_with(self, separator: char) -> String {
        let whole = (0.0..=9e15).contains(&self) && self.fract() == 0.0;
        if whole { (self as u64).grouped_with(separator) } else { js::number_text(self) }
    }

    fn is_one(self) -> bool {
        self == 1.0
    }
}

/// Formats a whole number exactly: `203,412`.
pub fn format_number(number: impl Number) -> String {
    number.grouped_with(',')
}

/// Formats a whole number exactly, with no-break spaces: `203 412`.
pub fn group_digits(number: u64) -> String {
    number.grouped_with(DIGIT_SEPARATOR)
}

/// Formats a whole number exactly, with no-break spaces and the minus sign `−`.
pub fn grouped(number: i64) -> String {
    let digits = group_digits(number.unsigned_abs());
    if number < 0 { format!("−{digits}") } else { digits }
}

/// Formats a count held as a double, with no-break spaces.
pub fn format_double(number: f64) -> String {
    number.grouped_with(DIGIT_SEPARATOR)
}

/// Replaces digit separators inside numbers by commas; spaces between words stay.
pub fn with_commas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        let inside = out.ends_with(|last: char| last.is_ascii_digit())
            && rest.peek().is_some_and(char::is_ascii_digit);
        out.push(if char == DIGIT_SEPARATOR && inside { ',' } else { char });
    }
    out
}

/// Formats an estimate: `~12,345`.
pub fn format_estimate(number: u64) -> String {
    format!("~{}", format_number(number))
}

/// Formats a counted number exactly, an estimate in thousands with `~`.
pub fn format_tokens(number: u64, counted: bool) -> String {
    if counted { format_number(number) } else { format_short_estimate(number) }
}

/// Formats tokens in thousands: `183k`, `9.4k`, `940`.
pub fn format_short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..100_000 => format!("{:.1}k", number as f64 / 1_000.0),
        _ => format!("{:.0}k", number as f64 / 1_000.0),
    }
}

/// Formats estimated tokens in thousands: `~183k`, `~9.4k`, `~940`.
pub fn format_short_estimate(number: u64) -> String {
    format!("~{}", format_short(number))
}

/// Formats tokens in thousands with one decimal: `33.1k`, and `<0.1k` below 50. The decimal goes from a million on, and
/// ten million is `10.0M`, to fit the columns.
pub fn thousands(tokens: u64) -> String {
    match tokens {
        0 => "0".to_owned(),
        1..50 => "<0.1k".to_owned(),
        10_000_000.. => format!("{:.1}M", tokens as f64 / 1e6),
        999_950.. => format!("{:.0}k", tokens as f64 / 1000.0),
        _ => format!("{:.1}k", tokens as f64 / 1000.0),
    }
}

/// Formats an estimate as [`thousands`] does: `~33.1k`. `<0.1k` already implies an approximation.
pub fn estimate(tokens: u64) -> String {
    let words = thousands(tokens);
    if words.starts_with('<') { words } else { format!("~{words}") }
}

/// Formats round thousands without a decimal, `200k`; others as [`thousands`].
pub fn round_thousands(tokens: u64) -> String {
    if tokens > 0 && tokens.is_multiple_of(1000) { format!("{}k", tokens / 1000) } else { thousands(tokens) }
}

/// Rounds computed tokens to a whole number; negative ones are 0.
pub fn round_tokens(tokens: f64) -> u64 {
    tokens.max(0.0).round() as u64
}

/// Formats a count with its noun: `1 entry`, `2 entries`.
pub fn format_count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", format_number(number), if number == 1 { one } else { many })
}

/// Formats a count with its noun: `1 result`, `3,000 results`.
pub fn quantity_with_commas(number: impl Number, noun: &str) -> String {
    format!("{} {noun}{}", format_number(number), if number.is_one() { "" } else { "s" })
}

/// Formats a count with its noun and no-break spaces: `1 image`, `4 000 chars`.
pub fn quantity(number: impl Number, noun: &str) -> String {
    format!("{} {noun}{}", number.grouped_with(DIGIT_SEPARATOR), if number.is_one() { "" } else { "s" })
}

/// Formats a count with its noun, all of it unbroken: `1 session`, `14 sessions`, `2 entries`.
pub fn pluralised(count: u64, noun: &str) -> String {
    let many = match noun.strip_suffix('y') {
        _ if count == 1 => noun.to_owned(),
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    format!("{}\u{a0}{many}", group_digits(count))
}

/// Returns a share in whole percent, rounded half up; `None` if `whole` is 0.
pub fn whole_percent(part: u64, whole: u64) -> Option<u64> {
    let (part, whole) = (u128::from(part), u128::from(whole));
    (whole > 0).then(|| ((part * 100 + whole / 2) / whole) as u64)
}

/// Formats a share in whole percent, rounded half up: `41%`; `-` if `whole` is 0.
pub fn format_percent(part: u64, whole: u64) -> String {
    whole_percent(part, whole).map_or_else(|| "-".to_owned(), |percent| format!("{percent}%"))
}

/// Formats a share of doubles in whole percent; `-` unless `whole` is positive.
pub fn format_share(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0}%", part * 100.0 / whole) } else { "-".to_owned() }
}

/// Formats a relative difference in percent with its sign: one decimal below ten, and `+0%` for almost nothing.
pub fn format_signed_percent(difference: f64) -> String {
    let percent = difference * 100.0;
    match percent.abs() {
        0.0..0.05 => "+0%".to_owned(),
        0.05..9.95 => format!("{percent:+.1}%"),
        _ => format!("{percent:+.0}%"),
    }
}

/// Formats the size of a relative difference in percent, without a sign.
pub fn format_deviation(difference: f64) -> String {
    format_signed_percent(difference.abs()).split_off(1)
}

/// Formats two ratios with as many digits as distinguish them: at least two, at most six.
pub fn format_ratios(one: f64, other: f64) -> (String, String) {
    let texts = |digits: usize| (format!("{one:.digits$}"), format!("{other:.digits$}"));
    (2..6)
        .map(texts)
        .find(|(one, other)| one != other)
        .unwrap_or_else(|| texts(if one == other { 2 } else { 6 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_are_grouped_from_the_right() {
        let texts = [0, 999, 1_000, 203_412, u64::MAX].map(format_number);
        assert_eq!(texts, ["0", "999", "1,000", "203,412", "18,446,744,073,709,551,615"]);
        assert_eq!([1.5, f64::NAN, -2.0, 4e3].map(format_number), ["1.5", "NaN", "-2", "4,000"]);
        assert_eq!([203_412, -1_500, 999].map(grouped), ["203\u{a0}412", "−1\u{a0}500", "999"]);
    }

    #[test]
    fn only_groups_of_digits_get_commas() {
        assert_eq!(with_commas("31\u{a0}240 chars,\u{a0}so"), "31,240 chars,\u{a0}so");
    }

    #[test]
    fn tokens_have_one_decimal_all_down_a_column() {
        let texts = [0, 9, 49, 50, 949, 33_149, 125_600, 1_048_576, 16_290_100].map(thousands);
        assert_eq!(texts, ["0", "<0.1k", "<0.1k", "0.1k", "0.9k", "33.1k", "125.6k", "1049k", "16.3M"]);
        assert_eq!([0, 9, 33_149].map(estimate), ["~0", "<0.1k", "~33.1k"]);
        assert_eq!([200_000, 198_700].map(round_thousands), ["200k", "198.7k"]);
        assert_eq!([940, 9_400, 183_412].map(format_short_estimate), ["~940", "~9.4k", "~183k"]);
    }

    #[test]
    fn counts_have_their_noun() {
        assert_eq!([1, 4_000].map(|count: u64| quantity(count, "image")), ["1 image", "4\u{a0}000 images"]);
        assert_eq!([1.0, 2.0].map(|count| quantity_with_commas(count, "call")), ["1 call", "2 calls"]);
        assert_eq!([1, 7].map(|count| pluralised(count, "entry")), ["1\u{a0}entry", "7\u{a0}entries"]);
        assert_eq!([1, 7].map(|count| format_count(count, "fits", "fit")), ["1 fits", "7 fit"]);
    }

    #[test]
    fn shares_round_half_up_and_nothing_has_no_share() {
        assert_eq!([(1, 8), (5, 0), (955, 100)].map(|(a, b)| format_percent(a, b)), ["13%", "-", "955%"]);
        assert_eq!([(1.0, 4.0), (5.0, 0.0)].map(|(a, b)| format_share(a, b)), ["25%", "-"]);
    }

    #[test]
    fn differences_have_a_sign_and_a_decimal_below_ten() {
        let texts = [-0.684, 0.0004, 0.0312, 1.5, -0.0995].map(format_signed_percent);
        assert_eq!(texts, ["-68%", "+0%", "+3.1%", "+150%", "-10%"]);
        assert_eq!([-0.684, 0.0, 0.0312].map(format_deviation), ["68%", "0%", "3.1%"]);
    }

    #[test]
    fn ratios_that_differ_late_are_written_until_they_differ() {
        assert_eq!(format_ratios(0.28, 0.3), ("0.28".into(), "0.30".into()));
        assert_eq!(format_ratios(0.2999, 0.3), ("0.2999".into(), "0.3000".into()));
        assert_eq!(format_ratios(0.3, 0.3), ("0.30".into(), "0.30".into()));
    }
}
