//! Formats numbers, sizes, times and money for people. JSON has the exact values.
//!
//! Every text uses these functions, so that the same number looks the same in every report and on every screen.

pub mod amount;
mod money;
mod number;
mod size;
mod time;

pub use money::{format_amount, format_estimated_usd, format_gateway_usd, format_usd, format_usd_difference};
pub use number::{
    DIGIT_SEPARATOR, Number, estimate, format_count, format_deviation, format_double, format_estimate,
    format_number, format_percent, format_ratios, format_share, format_short, format_short_estimate,
    format_signed_percent, format_tokens, group_digits, grouped, pluralised, quantity, quantity_with_commas,
    round_thousands, round_tokens, thousands, whole_percent, with_commas,
};
pub use size::{format_bytes, format_size};
pub use time::{
    elapsed, format_age, format_duration, format_local_time, format_measured_duration, format_span,
    format_time, format_timestamp, minute, time_of_day,
};
