//! `clawscope guide`: lists the topics of the guide, or prints one.

use super::failure::Failure;
use super::output::Output;
use super::rule::print_markdown;
use crate::cli::{TOPICS, Topic};
use crate::doc::Tone;

/// Prints a topic, or without one the list of topics.
pub(super) fn run(topic: Option<Topic>, output: &mut Output) -> Result<(), Failure> {
    let Some(topic) = topic else { return list_topics(output) };
    print_markdown(topic.text, output)
}

fn list_topics(output: &mut Output) -> Result<(), Failure> {
    let width = TOPICS.map(|topic| topic.name.len()).into_iter().max().unwrap_or_default();
    for topic in TOPICS {
        output.line(Tone::Plain, &format!("{:width$}  {}", topic.name, topic.title()))?;
    }
    output.line(Tone::Plain, "")?;
    output.line(Tone::Dim, "`clawscope guide TOPIC` prints a topic.")?;
    Ok(())
}
