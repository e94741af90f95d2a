//! `clawscope guide`: lists the topics of the guide, or prints one.

use super::failure::Failure;
use super::output::{Output, Tone};
use crate::cli::guide::{TOPICS, Topic};

/// Prints the named topic, or without a name the list of topics.
pub(super) fn run(name: Option<&str>, output: &mut Output) -> Result<(), Failure> {
    let Some(name) = name else { return list_topics(output) };
    let topic = find_topic(name)?;
    for line in topic.text.lines() {
        output.line(if line.starts_with('#') { Tone::Strong } else { Tone::Plain }, line)?;
    }
    Ok(())
}

/// Finds a topic. The parser has already rejected unknown names and suggested the nearest.
fn find_topic(name: &str) -> Result<Topic, Failure> {
    TOPICS.into_iter().find(|topic| topic.name == name).ok_or_else(|| {
        let names = TOPICS.map(|topic| topic.name).join(", ");
        Failure::usage(format!("No topic is called {name:?}. The topics are {names}."))
    })
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
