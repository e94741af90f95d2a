//! Formats numbers, sizes, times and money for people. JSON has the exact values.
//!
//! Every text uses these functions, so that the same number looks the same in every report and on every screen.

mod money;
pub mod number;
mod time;

pub use money::{
    format_amount, format_cents, format_estimated_usd, format_estimated_usd_difference, format_short_usd,
    format_usd, format_usd_change, format_usd_difference,
};
pub use number::{
    Number, format_count, format_counted, format_deviation, format_estimate, format_number, format_ordinal,
    format_percent, format_ratio, format_ratios, format_short, format_short_estimate, format_short_tokens,
    format_signed_percent, format_size, format_tokens, quantity, round_tokens, whole_percent,
};
pub use time::{
    age_group, display_zone_note, format_age, format_displayed_timestamp, format_duration, format_local_time,
    format_short_age, format_time, format_timestamp, minute, set_display_zone, time_of_day, utc_day,
    wall_clock, zone_name,
};
