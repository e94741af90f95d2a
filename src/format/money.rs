//! Formats US dollars.

/// Smallest amount in US dollars that four decimals show.
const MIN_SHOWN_USD: f64 = 0.00005;

/// Formats US dollars: two decimals from a cent on, else four, rounded half up (compaction 10.5). An amount above 0
/// that rounds to 0 is `<$0.0001`; nothing is `$0`.
pub fn format_usd(amount: f64) -> String {
    if amount == 0.0 {
        return "$0".to_owned();
    }
    if amount > 0.0 && amount < MIN_SHOWN_USD {
        return "<$0.0001".to_owned();
    }
    let decimals = if amount >= 0.01 { 2 } else { 4 };
    let scale = 10_f64.powi(decimals);
    format!("${:.*}", decimals as usize, (amount * scale).round() / scale)
}

/// Formats an estimate: `~$0.31`.
pub fn format_estimated_usd(amount: f64) -> String {
    let words = format_usd(amount);
    if words.starts_with('<') { words } else { format!("~{words}") }
}

/// Formats US dollars, with `~` for an amount from a price list.
pub fn format_amount(usd: f64, estimated: bool) -> String {
    if estimated { format_estimated_usd(usd) } else { format_usd(usd) }
}

/// Formats US dollars for a column of amounts: in cents, below a cent with one digit that counts: `$24.04`, `~$0.31`,
/// `$0.004`.
pub fn format_cents(usd: f64, estimated: bool) -> String {
    let cents = (usd * 100.0).round() / 100.0;
    if cents < 0.01 { small_usd(usd, estimated) } else { format_amount(cents, estimated) }
}

/// Formats US dollars for narrow columns, with one decimal from ten cents on: `$24.4`, `~$0.05`, `$0.004`.
pub fn format_short_usd(usd: f64, estimated: bool) -> String {
    if usd < 0.095 { format_cents(usd, estimated) } else { format!("{}${usd:.1}", tilde(estimated)) }
}

/// Formats less than a cent with one digit other than 0: `$0.004`, `~$0.0003`.
fn small_usd(usd: f64, estimated: bool) -> String {
    match format_usd(usd) {
        words if usd < MIN_SHOWN_USD => words,
        _ => format!("{}${usd:.*}", tilde(estimated), if usd < 0.000_95 { 4 } else { 3 }),
    }
}

fn tilde(estimated: bool) -> &'static str {
    if estimated { "~" } else { "" }
}

/// Formats the difference of an estimated amount from another one, `+~$0.80`, as [`format_usd`] shows both, so that a
/// reader who subtracts gets the same.
pub fn format_usd_change(before: f64, after: f64) -> String {
    let scale = if before.min(after) >= 0.01 { 100.0 } else { 10_000.0 };
    format_estimated_usd_difference(((after * scale).round() - (before * scale).round()) / scale)
}

/// Formats a difference in US dollars: `+$0.80`, `-$1.92`.
pub fn format_usd_difference(amount: f64) -> String {
    signed_usd(amount, "")
}

/// Formats an estimated difference, the sign before the tilde: `+~$0.80`, `-~$1.92`.
pub fn format_estimated_usd_difference(amount: f64) -> String {
    signed_usd(amount, "~")
}

fn signed_usd(amount: f64, mark: &str) -> String {
    if amount.abs() < MIN_SHOWN_USD {
        return "$0".to_owned();
    }
    let sign = if amount < 0.0 { "-" } else { "+" };
    format!("{sign}{mark}{}", format_usd(amount.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_rounded_half_up_and_signed() {
        let words = [0.625, -0.125, 0.0, 0.004, 12.0].map(format_usd_difference);
        assert_eq!(words, ["+$0.63", "-$0.13", "$0", "+$0.0040", "+$12.00"]);
    }

    #[test]
    fn an_amount_that_rounds_to_zero_is_not_shown_as_zero() {
        assert_eq!([0.000_014, 0.00005, 0.0].map(format_usd), ["<$0.0001", "$0.0001", "$0"]);
        assert_eq!([0.000_014, 0.31].map(format_estimated_usd), ["<$0.0001", "~$0.31"]);
        assert_eq!([true, false].map(|estimated| format_short_usd(24.39, estimated)), ["~$24.4", "$24.4"]);
        let column = [
            (24.041, false),
            (0.0066, true),
            (0.004, true),
            (0.000_31, false),
            (0.00001, true),
            (0.0, false),
        ];
        let cents = column.map(|(usd, is_estimated)| format_cents(usd, is_estimated));
        assert_eq!(cents, ["$24.04", "~$0.01", "~$0.004", "$0.0003", "<$0.0001", "$0"]);
        let short = column.map(|(usd, is_estimated)| format_short_usd(usd, is_estimated));
        assert_eq!(short, ["$24.0", "~$0.01", "~$0.004", "$0.0003", "<$0.0001", "$0"]);
        assert_eq!([0.31, 0.094, 0.096].map(|usd| format_short_usd(usd, false)), ["$0.3", "$0.09", "$0.1"]);
        assert_eq!([-1.92, 0.0].map(format_estimated_usd_difference), ["-~$1.92", "$0"]);
        assert_eq!([0.000_014, -0.000_014, 0.8].map(format_usd_difference), ["$0", "$0", "+$0.80"]);
    }

    #[test]
    fn a_change_is_the_difference_of_the_amounts_shown() {
        assert_eq!([24.385, 25.014].map(format_usd), ["$24.39", "$25.01"]);
        assert_eq!(format_usd_change(24.385, 25.014), "+~$0.62");
        assert_eq!([(1.0, 1.004), (0.002, 0.005)].map(|(a, b)| format_usd_change(a, b)), ["$0", "+~$0.0030"]);
    }
}
