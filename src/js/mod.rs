//! The JavaScript semantics that the gateway relies on (pruning 0): UTF-16 strings, JSON values and their text,
//! coercions and dates. Every rule that counts, cuts or compares uses this module, because Rust's own answers differ:
//! `"😀"` has length 2 here, and `[] + ""` is empty.

mod coerce;
mod date;
mod exception;
pub(crate) mod json;
mod length;
mod object;
mod outline;
mod parse;
mod raw;
mod scan;
mod serialize;
mod string;
mod stringify;
mod value;

pub use coerce::{is_text, is_truthy, length_of, plus, to_number, to_text};
pub(crate) use date::parse_date;
pub use date::{date_value, iso_text};
pub use exception::JsException;
pub use json::{Json, JsonKind};
pub use outline::{Outline, OutlinedValue};
pub use parse::parse;
pub use raw::{Field, compact, fields};
pub use scan::{CharacterSink, MAX_DEPTH, MAX_LINE_VALUES, SyntaxError};
pub use serialize::{Members, json_text, json_text_of, write_json};
pub use string::{JsString, SharedStrings, is_trimmed, utf8_lossy};
pub use stringify::{number_text, stringify, stringify_len, stringify_str};
pub use value::{Object, Value};

#[cfg(test)]
mod properties;
