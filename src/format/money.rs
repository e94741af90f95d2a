//! Formats US dollars.

/// Smallest amount in US dollars that four decimals show.
const MIN_SHOWN_USD: f64 = 0.00005;

/// Formats US dollars: two decimals from a cent on, else four, rounded half up (compaction 10.5). An amount above 0
/// that rounds to 0 is `<$0.0001`.
pub fn format_usd(amount: f64) -> String {
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

/// Formats a difference in US dollars: `+$0.80`, `-$1.92`.
pub fn format_usd_difference(amount: f64) -> String {
    let sign = if amount < 0.0 { "-" } else { "+" };
    match format_usd(amount.abs()) {
        _ if amount.abs() < MIN_SHOWN_USD => "$0".to_owned(),
        words => format!("{sign}{words}"),
    }
}

/// Formats a difference in USD as the gateway does, with its sign: two decimals, four below a cent, rounded half up
/// (compaction 10.5).
pub fn format_gateway_usd(usd: f64) -> String {
    let sign = if usd < 0.0 { "\u{2212}" } else { "+" };
    format!("{sign}{}", format_usd(usd.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_rounded_half_up_and_signed() {
        let words = [0.625, -0.125, 0.0, 0.004, 12.0].map(format_gateway_usd);
        assert_eq!(words, ["+$0.63", "\u{2212}$0.13", "+$0.0000", "+$0.0040", "+$12.00"]);
    }

    #[test]
    fn an_amount_that_rounds_to_nothing_is_no_zero() {
        assert_eq!([0.000_014, 0.00005, 0.0].map(format_usd), ["<$0.0001", "$0.0001", "$0.0000"]);
        assert_eq!([0.000_014, 0.31].map(format_estimated_usd), ["<$0.0001", "~$0.31"]);
        assert_eq!([0.000_014, -0.000_014, 0.8].map(format_usd_difference), ["$0", "$0", "+$0.80"]);
    }
}
