//! Tokens, chars, bytes, durations and moments as types, so that they cannot be mixed with each other or with money.
//!
//! The rules of the gateways convert between units all the time, chars / 4 to tokens and tokens * 4 to chars, and 46,200
//! of either looks the same as a bare number. A unit crosses the borders of modules; a rule takes the number out with
//! `get` where units really mix.
//!
//! The number inside is a double where a rule reproduces JavaScript, where it may be fractional, NaN or infinite. Every
//! operator does to it what the same operator does to a bare number, so that results stay equal to the bit; JSON,
//! schemas and `Debug` have the bare number.
//!
//! ```compile_fail,E0308
//! use clawscope::units::Tokens;
//!
//! fn fits(prompt: Tokens, window: Tokens) -> bool {
//!     prompt <= window
//! }
//! let prompt_chars = 46_200.0;
//! fits(prompt_chars, Tokens(200_000.0)); // expected `Tokens`, found a number
//! ```
//!
//! Chars and bytes cannot pass for tokens, nor for each other:
//!
//! ```compile_fail,E0308
//! use clawscope::units::{Chars, Tokens};
//! fn keep(_: Tokens) {}
//! keep(Chars(46_200.0)); // expected `Tokens`, found `Chars`
//! ```
//!
//! ```compile_fail,E0308
//! use clawscope::units::{Bytes, Tokens};
//! fn keep(_: Tokens) {}
//! keep(Bytes(46_200)); // expected `Tokens`, found `Bytes`
//! ```
//!
//! ```compile_fail,E0308
//! use clawscope::units::{Bytes, Chars};
//! fn keep(_: Chars) {}
//! keep(Bytes(46_200)); // expected `Chars`, found `Bytes`
//! ```
//!
//! ```compile_fail,E0308
//! use clawscope::units::{Bytes, Chars};
//! fn keep(_: Bytes) {}
//! keep(Chars(46_200.0)); // expected `Bytes`, found `Chars`
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Sub};
use std::time::SystemTime;

use derive_more::{Add, AddAssign, Div, DivAssign, Into, Mul, MulAssign, Sub, SubAssign};
use serde::{Deserialize, Serialize};

/// Gives a type the schema of another, of the bare number or text in JSON; a derived one would name the type.
macro_rules! schema_of {
    ($name:ty, $other:ty) => {
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                <$other>::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$other>::json_schema(generator)
            }
        }
    };
}
pub(crate) use schema_of;

/// A double with a meaning: everything but arithmetic.
macro_rules! number {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize, Into)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl $name {
            pub const ZERO: Self = Self(0.0);

            /// Returns the bare number.
            pub const fn get(self) -> f64 {
                self.0
            }

            /// Returns the place of the bare number, for a table that sets numbers of several units.
            pub const fn get_mut(&mut self) -> &mut f64 {
                &mut self.0
            }

            /// Returns the larger number; the other one if one is NaN.
            #[must_use]
            pub fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }

            /// Returns the smaller number; the other one if one is NaN.
            #[must_use]
            pub fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }

            #[must_use]
            pub fn clamp(self, min: Self, max: Self) -> Self {
                Self(self.0.clamp(min.0, max.0))
            }

            #[must_use]
            pub fn floor(self) -> Self {
                Self(self.0.floor())
            }

            #[must_use]
            pub fn round(self) -> Self {
                Self(self.0.round())
            }

            #[must_use]
            pub fn ceil(self) -> Self {
                Self(self.0.ceil())
            }

            #[must_use]
            pub fn abs(self) -> Self {
                Self(self.0.abs())
            }

            pub fn is_finite(self) -> bool {
                self.0.is_finite()
            }

            pub fn is_nan(self) -> bool {
                self.0.is_nan()
            }

            pub fn total_cmp(&self, other: &Self) -> Ordering {
                self.0.total_cmp(&other.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        schema_of!($name, f64);
    };
}

/// A number of equal things, which can be added, scaled and compared as a ratio.
macro_rules! unit {
    ($(#[$doc:meta])* $name:ident) => {
        number! {
            $(#[$doc])*
            #[derive(Add, AddAssign, Sub, SubAssign, Mul, MulAssign, Div, DivAssign)]
            $name
        }

        impl $name {
            /// Rounds down to a whole number; negative ones and NaN are 0.
            pub const fn whole(self) -> u64 {
                self.0 as u64
            }
        }

        /// A ratio has no unit.
        impl Div for $name {
            type Output = f64;

            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
                Self(numbers.map(Self::get).sum())
            }
        }

        impl<'a> Sum<&'a Self> for $name {
            fn sum<I: Iterator<Item = &'a Self>>(numbers: I) -> Self {
                numbers.copied().sum()
            }
        }
    };
}

unit! {
    /// Tokens of a prompt, a reply, a window or a part of one.
    Tokens
}

unit! {
    /// Milliseconds between two moments; negative if the second is earlier.
    Millis
}

number! {
    /// A point in time, in milliseconds since 1970-01-01T00:00Z; NaN for JavaScript's invalid date.
    ///
    /// Two moments are a duration apart, and have no sum:
    ///
    /// ```
    /// use clawscope::units::{Millis, Moment};
    ///
    /// assert_eq!(Moment(5_000.0) - Moment(2_000.0), Millis(3_000.0));
    /// assert_eq!(Moment(5_000.0) + Millis(3_000.0), Moment(8_000.0));
    /// ```
    ///
    /// ```compile_fail,E0308
    /// use clawscope::units::{Millis, Moment};
    ///
    /// fn is_cold(idle: Millis, ttl: Millis) -> bool {
    ///     idle >= ttl
    /// }
    /// is_cold(Moment(1_772_719_601_000.0), Millis(300_000.0)); // expected `Millis`, found `Moment`
    /// ```
    ///
    /// ```compile_fail,E0308
    /// use clawscope::units::Moment;
    ///
    /// let middle = Moment(1.0) + Moment(3.0); // expected `Millis`, found `Moment`
    /// ```
    Moment
}

impl Moment {
    /// After every other moment.
    pub const NEVER: Self = Self(f64::INFINITY);

    /// Returns the moment of whole milliseconds.
    pub const fn from_whole(ms: i64) -> Self {
        Self(ms as f64)
    }

    /// Returns the moment of a file or of the system; `None` before 1970.
    pub fn from_system_time(time: SystemTime) -> Option<Self> {
        time.duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| Self(since.as_millis() as f64))
    }

    /// Returns whole milliseconds, without the fraction; 0 for NaN, and the nearest `i64` beyond its range.
    pub const fn whole(self) -> i64 {
        self.0 as i64
    }

    /// Returns the moment of [`Self::whole`] milliseconds, as clocks and files count.
    #[must_use]
    pub const fn to_whole(self) -> Self {
        Self::from_whole(self.whole())
    }

    /// Returns the days since 1970-01-01, in UTC.
    pub const fn day(self) -> i64 {
        self.whole().div_euclid(86_400_000)
    }
}

impl Add<Millis> for Moment {
    type Output = Self;

    fn add(self, duration: Millis) -> Self {
        Self(self.0 + duration.0)
    }
}

impl AddAssign<Millis> for Moment {
    fn add_assign(&mut self, duration: Millis) {
        *self = *self + duration;
    }
}

impl Sub<Millis> for Moment {
    type Output = Self;

    fn sub(self, duration: Millis) -> Self {
        Self(self.0 - duration.0)
    }
}

impl Sub for Moment {
    type Output = Millis;

    fn sub(self, earlier: Self) -> Millis {
        Millis(self.0 - earlier.0)
    }
}

unit! {
    /// Length of a text in UTF-16 code units, as `length` counts them in JavaScript: the chars of the gateway's rules. An
    /// image, details as JSON and a weighted character (pruning 8.5) count in chars too. Not chars of Rust, which are code
    /// points, and not bytes.
    Chars
}

impl Chars {
    pub const NAN: Self = Self(f64::NAN);
    pub const INFINITY: Self = Self(f64::INFINITY);

    /// Returns the length of a text from its number of code units, such as [`JsString::len`](crate::js::JsString::len).
    pub const fn from_len(units: usize) -> Self {
        Self(units as f64)
    }

    /// Converts to tokens, at the chars per token of a rule; rounds nothing.
    pub fn to_tokens(self, chars_per_token: f64) -> Tokens {
        Tokens(self.0 / chars_per_token)
    }
}

impl Tokens {
    /// Converts to chars, at the chars per token of a rule; rounds nothing.
    pub fn to_chars(self, chars_per_token: f64) -> Chars {
        Chars(self.0 * chars_per_token)
    }
}

impl From<u32> for Chars {
    fn from(units: u32) -> Self {
        Self(units.into())
    }
}

/// Writes chars that are known to be whole without a decimal point: 5, where the double is 5.0.
pub fn serialize_whole<S: serde::Serializer>(chars: &Chars, serializer: S) -> Result<S::Ok, S::Error> {
    chars.whole().serialize(serializer)
}

/// Writes tokens to JSON as a whole number, and as null if they are unknown: `#[serde(with = "Rounded")]`.
#[derive(Debug)]
pub enum Rounded {}

impl Rounded {
    pub fn serialize<S: serde::Serializer>(tokens: &Tokens, serializer: S) -> Result<S::Ok, S::Error> {
        tokens.round().serialize(serializer)
    }
}

schema_of!(Rounded, Option<f64>);

/// Size of a file, a line or a buffer in bytes; a position in a file stays a bare number.
#[derive(
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Into,
    Add,
    AddAssign,
    Sub,
    SubAssign,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    pub const ZERO: Self = Self(0);

    /// Returns the size of a text or a buffer of this length.
    pub const fn from_len(len: usize) -> Self {
        Self(len as u64)
    }

    /// Returns the bare number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the length of a buffer of this size.
    pub const fn to_len(self) -> usize {
        self.0 as usize
    }
}

impl From<u32> for Bytes {
    fn from(bytes: u32) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The bare number, for errors that name exact sizes.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

schema_of!(Bytes, u64);

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        Self(sizes.map(Self::get).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_bare_number() {
        let text = serde_json::to_string(&[Tokens(203_412.0), Tokens(0.5)]).unwrap();
        assert_eq!(text, "[203412.0,0.5]");
        let schema = |schema: schemars::Schema| serde_json::to_string(&schema).unwrap();
        assert_eq!(schema(schemars::schema_for!(Vec<Tokens>)), schema(schemars::schema_for!(Vec<f64>)));
    }

    #[test]
    fn moments_are_durations_apart_and_unknown_ones_stay_unknown() {
        let (start, end) = (Moment::from_whole(1_772_719_601_000), Moment(1_772_719_601_250.5));
        assert_eq!(end - start, Millis(250.5));
        assert_eq!((start + (end - start), end - (end - start)), (end, start));
        assert!((Moment(f64::NAN) - start).is_nan() && (Moment(f64::NAN) + Millis(1.0)).is_nan());
        assert_eq!(end.whole(), 1_772_719_601_250, "without the fraction");
        assert_eq!([f64::NAN, 1e300, -1e300].map(|ms| Moment(ms).whole()), [0, i64::MAX, i64::MIN]);
    }

    #[test]
    fn sums_and_limits_equal_those_of_bare_numbers_to_the_bit() {
        let numbers = [0.1, 0.2, 0.3, 1e16, -0.0];
        let tokens = numbers.map(Tokens);
        let bits = |sum: f64| sum.to_bits();
        assert_eq!(bits(tokens.iter().sum::<Tokens>().get()), bits(numbers.iter().sum()));
        assert_eq!(bits([].iter().sum::<Tokens>().get()), bits([].iter().sum::<f64>()));
        assert_eq!(Tokens(f64::NAN).max(Tokens::ZERO), Tokens::ZERO, "as f64::max");
        assert_eq!(Tokens(f64::NAN).partial_cmp(&Tokens::ZERO), None, "an unknown number");
    }
}
