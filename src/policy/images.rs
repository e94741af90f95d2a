//! Removes images that the model has already seen. The reference removes those of user messages before the last answer
//! (pruning 1.6), 2026.3.11 those of results too. Since 2026.4.5 the last answered turns keep theirs, and 2026.4.25
//! removes media references too (pruning 8, row "Legacy images"). Up to 2026.2.22 all images stay.

use crate::gateway::ruleset::{KeptTurns, LegacyImages, Rules};
use crate::policy::edit::{Edit, has_legacy_images, size_without_images};
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::features::ContentFeatures;
use crate::policy::media_2026_9::first_of_last_turns;
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::reason::Reason;
use crate::policy::trimming::{PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy};
use crate::store::entry::Role;

/// The policy of images that the model has seen (pruning 1.6).
#[derive(Debug)]
pub struct ImagesPolicy;

impl TrimmingPolicy for ImagesPolicy {
    fn word(&self) -> &'static str {
        "images"
    }

    fn rule(&self) -> &'static str {
        "pruning 1.6"
    }

    fn phase(&self) -> Phase {
        Phase::Run
    }

    fn is_supported_by(&self, rules: &Rules) -> bool {
        rules.legacy_images != LegacyImages::Stay
    }

    fn needs_features(&self, rules: &Rules) -> bool {
        matches!(rules.legacy_images, LegacyImages::BeforeLastTurns { .. })
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        Ok(PolicyOutcome::new(remove_seen_images(list, input.rules())))
    }
}

/// Replaces the images that a version counts as seen, and returns the fate of every message.
pub fn remove_seen_images(list: &mut MessageList, rules: &Rules) -> Vec<MessageFate> {
    match rules.legacy_images {
        LegacyImages::Stay => list.sizes().map(|size| MessageFate::kept(&size, Reason::Untouched)).collect(),
        LegacyImages::BeforeLastAnswer { results } => remove_before_last_answer(list, results),
        LegacyImages::BeforeLastTurns { turns, references } => {
            remove_before_last_turns(list, turns, references)
        }
    }
}

fn remove_before_last_turns(list: &mut MessageList, turns: KeptTurns, references: bool) -> Vec<MessageFate> {
    let roles = list.sizes().map(|size| size.role);
    let end = first_of_last_turns(roles, turns).unwrap_or(0);
    let mut fates: Vec<MessageFate> =
        list.sizes().map(|size| MessageFate::kept(&size, Reason::Untouched)).collect();
    let (edit, reason) = if references {
        (Edit::RemoveMedia, Reason::SeenMedia)
    } else {
        (Edit::RemoveImages, Reason::SeenImages)
    };
    for (at, fate) in fates.iter_mut().enumerate().take(end) {
        let text_features = list.features_at(at).and_then(ContentFeatures::text_features);
        if text_features.is_some_and(|text_features| text_features.has_media) {
            list.apply_edit(at, &edit);
            let after = list.size(at).prune_chars;
            *fate = MessageFate { fate: Fate::Cleared, reason, after, ..*fate };
        }
    }
    fates
}

fn remove_before_last_answer(list: &mut MessageList, results: bool) -> Vec<MessageFate> {
    let last_answer = list.sizes().rposition(|size| size.role == Role::Assistant).unwrap_or(0);
    let mut fates: Vec<MessageFate> =
        list.sizes().map(|size| MessageFate::kept(&size, Reason::Untouched)).collect();
    for (at, fate) in fates.iter_mut().enumerate().take(last_answer) {
        let size = list.size(at);
        if has_legacy_images(&size, results) {
            let predicted = list.features_at(at).map(|features| Edit::RemoveImages.predict(&size, features));
            let (after, features) = predicted.map_or_else(
                || (size_without_images(&size), None),
                |(size, features)| (size, Some(features)),
            );
            list.push_edit(at, Edit::RemoveImages, after, features);
            *fate = MessageFate {
                fate: Fate::Cleared,
                reason: Reason::SeenImages,
                after: after.prune_chars,
                ..*fate
            };
        }
    }
    fates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::build_context;
    use crate::gateway::ruleset::Ruleset;
    use crate::ids::LineIds;
    use crate::js;
    use crate::policy::edit::apply_all;
    use crate::policy::testing::ListFixture as Messages;
    use crate::store::load::load_bytes;
    use crate::store::scan::measure_message;
    use crate::transcript::{Leaf, Tree};

    const PICTURE: &str =
        r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","data":"x"},null]}"#;
    const ANSWER: &str = r#"{"role":"assistant","content":[]}"#;

    fn fates(messages: &[&str]) -> Vec<Fate> {
        let entry = |(at, message): (usize, &&str)| {
            let parent = at.checked_sub(1).map_or(String::new(), |at| format!("e{at}"));
            format!(r#"{{"type":"message","id":"e{at}","parentId":"{parent}","message":{message}}}"#)
        };
        let lines: Vec<String> = messages.iter().enumerate().map(entry).collect();
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", lines.join("\n"));
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
        let mut list = MessageList::from_context(&context, None);
        let fates = remove_seen_images(&mut list, Ruleset::V2026_3_2.rules());
        for ((at, item), message) in list.messages().iter().enumerate().zip(messages) {
            let message = js::parse(message).expect("test JSON");
            let made = apply_all(list.edits(at), &message);
            let predicted = list.size(item.position().expect("of the context"));
            assert_eq!(measure_message(&made).size, predicted);
        }
        fates.iter().map(|fate| fate.fate).collect()
    }

    #[test]
    fn only_pictures_before_the_last_answer_are_cleared() {
        assert_eq!(fates(&[PICTURE, ANSWER, PICTURE]), [Fate::Cleared, Fate::Kept, Fate::Kept]);
        assert_eq!(fates(&[PICTURE]), [Fate::Kept]);
    }

    /// Returns the fates under a version.
    fn fates_under(ruleset: Ruleset, messages: &[&str]) -> Vec<Fate> {
        let messages = Messages::under(ruleset, messages);
        let mut list = messages.list();
        let fates = remove_seen_images(&mut list, ruleset.rules());
        messages.check(&list);
        fates.iter().map(|fate| fate.fate).collect()
    }

    #[test]
    fn the_newest_version_keeps_three_answered_turns_and_takes_references_away_too() {
        const SAID: &str = r#"{"role":"user","content":"see media://inbound/a.png"}"#;
        const SHOT: &str = r#"{"role":"toolResult","toolCallId":"c","toolName":"browser","content":[{"type":"image","data":"x"}]}"#;
        let turns = [SAID, ANSWER, SHOT, ANSWER, PICTURE, ANSWER, SAID, ANSWER, PICTURE, ANSWER, SAID];
        let gone: Vec<usize> = fates_under(Ruleset::V2026_9_6, &turns)
            .iter()
            .enumerate()
            .filter(|(_, fate)| fate.is_change())
            .map(|(at, _)| at)
            .collect();
        assert_eq!(gone, [0, 2]);
        assert!(fates_under(Ruleset::V2026_2_17, &turns).iter().all(|fate| *fate == Fate::Kept));
    }
}
