//! The argument of `clawscope guide`.

use clap::builder::{PossibleValuesParser, TypedValueParser};

pub use crate::guide::{TOPICS, Topic};

/// Parses the name of a topic; the error for an unknown name suggests the nearest.
pub(super) fn topic_parser() -> impl TypedValueParser<Value = Topic> {
    let names = PossibleValuesParser::new(TOPICS.map(|topic| topic.name));
    names.try_map(|name| TOPICS.into_iter().find(|topic| topic.name == name).ok_or("no such topic"))
}
