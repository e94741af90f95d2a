//! Images that the model has seen: those of user messages before its last answer become a text (pruning 1.6).

use crate::policy::edit::{Edit, has_legacy_images, images_removed};
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::list::List;
use crate::policy::reason::Reason;
use crate::store::entry::Role;

/// Replaces the images of every user message before the last answer, and tells the fate of every message.
pub fn remove_seen_images(list: &mut List) -> Vec<MessageFate> {
    let last_answer = list.sizes().rposition(|size| size.role == Role::Assistant).unwrap_or(0);
    let mut fates: Vec<MessageFate> =
        list.sizes().map(|size| MessageFate::kept(size, Reason::Untouched)).collect();
    for (at, fate) in fates.iter_mut().enumerate().take(last_answer) {
        let size = *list.size(at);
        if has_legacy_images(&size) {
            let after = images_removed(&size);
            let texture = list.texture(at).map(|texture| Edit::RemoveImages.foretell(&size, texture).1);
            list.edit(at, Edit::RemoveImages, after, texture);
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
    use crate::context::build;
    use crate::ids::LineIds;
    use crate::js;
    use crate::policy::edit::apply_all;
    use crate::store::load::load_bytes;
    use crate::store::scan::size_message;
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
        let context = build(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
        let mut list = List::of(&context, None);
        let fates = remove_seen_images(&mut list);
        for (item, message) in list.items.iter().zip(messages) {
            let message = js::parse(message).expect("test JSON");
            let made = apply_all(item.edits(), &message);
            let predicted = list.size(item.position().expect("of the context"));
            assert_eq!(size_message(&made).size, *predicted);
        }
        fates.iter().map(|fate| fate.fate).collect()
    }

    #[test]
    fn only_pictures_before_the_last_answer_go() {
        assert_eq!(fates(&[PICTURE, ANSWER, PICTURE]), [Fate::Cleared, Fate::Kept, Fate::Kept]);
        assert_eq!(fates(&[PICTURE]), [Fate::Kept]);
    }
}
