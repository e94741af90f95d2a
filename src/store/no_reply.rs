//! Silent replies: `NO_REPLY`, which an agent sends when the person should see nothing (compaction 9.10).

use crate::js::{Json, is_trimmed};

pub const NO_REPLY_TOKEN: &str = "NO_REPLY";
/// Limit in chars for a message to be checked at all: the token with some white space around it.
const MAX_CHARS: usize = 64;

/// Whether a text is exactly the token, apart from white space around it.
pub fn is_no_reply(text: &str) -> bool {
    text.trim_matches(is_trimmed) == NO_REPLY_TOKEN
}

/// Returns a delivered text without a trailing token; `None` when nothing remains, so that the reply is silent.
pub fn strip_token(text: &str) -> Option<&str> {
    let trimmed = text.trim_matches(is_trimmed);
    let before = text.trim_end_matches(is_trimmed).strip_suffix(NO_REPLY_TOKEN);
    let stands_apart =
        |before: &&str| before.is_empty() || before.ends_with('*') || before.ends_with(is_trimmed);
    let Some(before) = before.filter(stands_apart) else { return Some(trimmed) };
    // Stars and white space before the token are removed with it.
    let rest = before.trim_end_matches(|char| char == '*' || is_trimmed(char)).trim_matches(is_trimmed);
    (!rest.is_empty()).then_some(rest)
}

/// Whether the text blocks of an assistant message make a silent reply.
pub fn is_no_reply_message<'a>(message: impl Json<'a>) -> bool {
    let blocks = || message.get("content").and_then(Json::items).into_iter().flatten();
    let texts = || blocks().filter(|block| block.get("type").is_some_and(|kind| kind.str_is("text")));
    let chars: usize = texts().filter_map(|block| block.get("text")?.unit_len()).sum();
    if chars < NO_REPLY_TOKEN.len() || chars > MAX_CHARS {
        return false;
    }
    let text = texts().filter_map(|block| block.get("text")?.text()).collect::<Vec<_>>().join("\n");
    is_no_reply(&text) || strip_token(&text).is_none()
}

/// Whether a text block of an assistant message shows the token to the person: inside the text, where the gateway does
/// not remove it.
pub fn leaks_no_reply<'a>(message: impl Json<'a>) -> bool {
    let blocks = message.get("content").and_then(Json::items).into_iter().flatten();
    let texts = blocks.filter(|block| block.get("type").is_some_and(|kind| kind.str_is("text")));
    texts.filter_map(|block| block.get("text")?.text()).any(|text| shows_token(&text))
}

/// Whether a text still has the token as a separate word after delivery removed a trailing one.
fn shows_token(text: &str) -> bool {
    if !text.contains(NO_REPLY_TOKEN) {
        return false;
    }
    let Some(shown) = strip_token(text) else { return false };
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    shown
        .match_indices(NO_REPLY_TOKEN)
        .any(|(at, token)| !shown[..at].ends_with(is_word) && !shown[at + token.len()..].starts_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_inside_a_delivered_text_leaks() {
        for (text, leaks) in [
            ("NO_REPLY", false),
            ("Written down. NO_REPLY", false),
            ("**NO_REPLY", false),
            ("NO_REPLY.", true),
            ("NO_REPLY done", true),
            ("Done.\nNO_REPLY\nAnything else?", true),
            ("the constant MY_NO_REPLY_X", false),
            ("no reply", false),
        ] {
            assert_eq!(shows_token(text), leaks, "{text}");
        }
    }
    use crate::js;

    #[test]
    fn only_the_exact_token_means_no_reply() {
        for (text, silent) in [
            ("NO_REPLY", true),
            (" \nNO_REPLY\u{feff}", true),
            ("NO_REPLY.", false),
            ("no_reply", false),
            ("NO_REPLY done", false),
            ("", false),
        ] {
            assert_eq!(is_no_reply(text), silent, "{text:?}");
        }
    }

    #[test]
    fn a_trailing_token_is_removed_and_the_rest_is_delivered() {
        assert_eq!(strip_token("**NO_REPLY"), None);
        assert_eq!(strip_token("Written down. NO_REPLY \n"), Some("Written down."));
        assert_eq!(strip_token("xNO_REPLY"), Some("xNO_REPLY"));
        assert_eq!(strip_token(" hello "), Some("hello"));
    }

    #[test]
    fn only_the_text_blocks_of_a_message_decide_about_a_reply() {
        let silent = |content: &str| {
            is_no_reply_message(
                &js::parse(&format!(r#"{{"role":"assistant","content":{content}}}"#)).unwrap(),
            )
        };
        assert!(silent(r#"[{"type":"thinking","thinking":"hm"},{"type":"text","text":"NO_REPLY"}]"#));
        assert!(!silent(r#"[{"type":"text","text":"All is well."}]"#));
        assert!(!silent("[]") && !silent(r#""NO_REPLY""#));
        let long = format!(r#"[{{"type":"text","text":"{}NO_REPLY"}}]"#, " ".repeat(100));
        assert!(!silent(&long));
    }
}
