//! Test lists for policies that need message features.

use crate::context::{Context, build_context};
use crate::gateway::ruleset::Ruleset;
use crate::ids::LineIds;
use crate::js::{self, Value};
use crate::policy::edit::apply_all;
use crate::policy::features::ContentFeatures;
use crate::policy::message_list;
use crate::store::entry::MessageSize;
use crate::store::index::Index;
use crate::store::load::load_bytes;
use crate::store::scan::measure_message;
use crate::transcript::{Leaf, Tree};
use crate::units::Moment;

/// Messages with the features that a plan reads.
pub(crate) struct ListFixture {
    pub(crate) bodies: Vec<Value>,
    pub(crate) index: Index,
    pub(crate) context: Context,
    pub(crate) features: Vec<ContentFeatures>,
    ruleset: Ruleset,
}

impl ListFixture {
    /// Builds a context of messages, each given as JSON.
    pub(crate) fn of<T: AsRef<str>>(messages: &[T]) -> Self {
        Self::under(Ruleset::default(), messages)
    }

    /// [`Self::of`] with the features of a version.
    pub(crate) fn under<T: AsRef<str>>(ruleset: Ruleset, messages: &[T]) -> Self {
        let entry = |(at, message): (usize, &T)| {
            let parent = at.checked_sub(1).map_or(String::new(), |at| format!("e{at}"));
            let message = message.as_ref();
            format!(r#"{{"type":"message","id":"e{at}","parentId":"{parent}","message":{message}}}"#)
        };
        let lines: Vec<String> = messages.iter().enumerate().map(entry).collect();
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", lines.join("\n"));
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
        let bodies: Vec<Value> =
            messages.iter().map(|message| js::parse(message.as_ref()).expect("test JSON")).collect();
        let features = bodies.iter().map(|body| ContentFeatures::of_under(ruleset.rules(), body)).collect();
        Self { bodies, index, context, features, ruleset }
    }

    pub(crate) fn list(&self) -> message_list::MessageList<'_> {
        message_list::MessageList::from_context(&self.context, Some(&self.features))
    }

    /// Applies the list's edits, asserts that the predicted sizes and features are right, and returns the messages.
    #[track_caller]
    pub(crate) fn check(&self, list: &message_list::MessageList) -> Vec<Value> {
        let made = list.messages().iter().enumerate().map(|(at, item)| {
            let body = match &item.origin {
                message_list::MessageOrigin::Context(position) => self.bodies[*position as usize].clone(),
                message_list::MessageOrigin::Missing(missing) => missing.message(Moment::ZERO),
                message_list::MessageOrigin::Checkpoint | message_list::MessageOrigin::Summary => {
                    panic!("no step of these makes summaries")
                }
            };
            let made = apply_all(list.edits(at), &body);
            let size = measure_message(&made).size;
            let reported = list.size(at);
            assert_eq!(
                size,
                MessageSize { tool_name: size.tool_name, call_id: size.call_id, ..reported },
                "{:?}",
                list.edits(at)
            );
            let features = ContentFeatures::of_under(self.ruleset.rules(), &made);
            assert_eq!(list.features_at(at), Some(&features), "{:?}", list.edits(at));
            made
        });
        made.collect()
    }
}

/// Builds a tool result with one text and details.
pub(crate) fn result(id: &str, text: &str) -> String {
    let text = js::stringify_str(&text.into());
    format!(
        r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"exec","content":[{{"type":"text","text":{text}}}],"details":{{"a":1}}}}"#
    )
}

/// Builds an answer that calls `exec` with these ids.
pub(crate) fn calls(ids: &[&str]) -> String {
    let call = |id: &&str| {
        format!(r#"{{"type":"toolCall","id":"{id}","name":"exec","arguments":{{"command":"ls"}}}}"#)
    };
    format!(r#"{{"role":"assistant","content":[{}]}}"#, ids.iter().map(call).collect::<Vec<_>>().join(","))
}
