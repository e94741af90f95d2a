//! Whether a text that a rule found is a secret: it may be a reference, a word, or code.

use std::sync::LazyLock;

use regex::Regex;

use super::rules::NAMES;

/// The letters with which every placeholder begins.
pub(super) const PLACEHOLDER_START: &str = "[redacted:";

#[expect(clippy::unwrap_used, reason = "a pattern that every test of this module compiles")]
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?:\$\{\{?[\w .]+(?::[\w.]+)?\}?\}|\$env:\w+|\$\([^)]*\)?|\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+|[a-z]+(?:[A-Z][a-z]+)+)",
        r"|%[A-Za-z_]\w*%|%[sdv]|\{\{[^}]*(?:\}\})?|\{[A-Za-z_.]+\}|<[A-Za-z][A-Za-z _.:/-]*>|\[redacted(?:[: ][a-z -]{1,40})?(?::[0-9]{1,9})?\]?|process\.env\b.*|os\.environ\b.*|os\.getenv\b.*",
        r"|(?:std::)?env[.(:!].*|ENV\[.*|import\.meta\.env.*|config\.[\w.]+|secrets\.[\w.]+|self\.[\w.]+|this\.[\w.]+)[,;)\]}]*$"
    ))
    .unwrap()
});

/// Whether a text only represents a secret: a reference as a whole, a mask, a type name, our own placeholder.
pub(super) fn is_placeholder(text: &str) -> bool {
    let text = text.trim_matches(|char: char| char == '"' || char == '\'' || char.is_whitespace());
    let masked = text.chars().all(|char| "*.xX•…_-█#?".contains(char));
    let word = text.trim_end_matches([',', ';', '.']);
    let is_word = NAMES.placeholders.words.iter().any(|known| known.eq_ignore_ascii_case(word));
    text.len() < 3
        || masked
        || is_word
        || is_secret_identifier(text)
        || placeholder_len(text).is_some()
        || REFERENCE.is_match(text)
}

/// Returns the length of the placeholder at the start of a text, `[redacted:kind]` or `[redacted:kind:7]`. Only a whole
/// one counts: a text that anyone may write must not hide the text after its first letters.
pub(super) fn placeholder_len(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(PLACEHOLDER_START)?;
    let end = rest.find(']')?;
    let (kind, number) = rest[..end].split_once(':').unwrap_or((&rest[..end], "1"));
    // A kind such as `e2b-key` has one digit at most.
    let digits = kind.bytes().filter(u8::is_ascii_digit).count();
    let letters = kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let is_kind = (3..=40).contains(&kind.len()) && digits <= 1 && letters;
    let is_number = (1..10).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_kind && is_number).then_some(PLACEHOLDER_START.len() + end + 1)
}

/// Whether a text is itself the name of a secret in code, such as `next_token`.
fn is_secret_identifier(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    is_identifier(text) && ["token", "secret", "passw", "key"].iter().any(|name| lower.contains(name))
}

/// Whether a text is an expression or a name of code, as after `:` in a struct or a call.
pub(super) fn is_expression(text: &str) -> bool {
    is_code(text) || is_identifier(text) || text.starts_with(['&', ':', '*'])
}

/// Whether a text is a word or a path of words: small letters after the first, or capitals only.
pub(super) fn is_word(text: &str) -> bool {
    let word = text.trim_end_matches(['.', ':', '!', '?', ',', ';', ')', '}', ']', '*', '`']);
    let is_small = |char: char| char.is_lowercase() || "-_/.".contains(char);
    let is_capital = |char: char| char.is_uppercase() || "-_".contains(char);
    word.chars().skip(1).all(is_small) && word.chars().next().is_none_or(char::is_alphabetic)
        || word.chars().all(is_capital)
        || word.len() < 8 && word.bytes().all(|byte| byte.is_ascii_digit())
        || is_code(text)
}

/// Whether a text is a word, a short number, a path or an expression, as in prose and code after a name.
pub(super) fn is_ordinary(text: &str) -> bool {
    let text = text.trim_start_matches(['&', '*', ':', '!']);
    let word = text.trim_end_matches(['.', ':', '!', '?', ',', ';', ')', '}', ']', '*', '`']);
    let letters = word.chars().all(|char| char.is_alphabetic() || "-_/. ".contains(char));
    // Short camel-case names have few capitals; in random text every second letter is one. Long mixed names count as
    // secrets.
    let capitals = word.chars().skip(1).filter(|char| char.is_uppercase()).count();
    let mixed = capitals > 0 && word.chars().any(char::is_lowercase) && !word.contains(['.', '/', '-', '_']);
    let drawn = mixed && (capitals * 3 >= word.len() || word.len() >= 20 || is_unspeakable(word));
    let number =
        word.len() < 8 && word.chars().all(|char| char.is_ascii_digit() || ".,%kKmM^".contains(char));
    letters && !drawn || number || is_identifier(word) || is_code(text)
}

/// Whether a word of ten letters or more has five consonants in a row, in both cases, as no name of code has.
fn is_unspeakable(word: &str) -> bool {
    let is_vowel = |char: char| "aeiouyAEIOUY".contains(char) || !char.is_ascii_alphabetic();
    let mut runs = word.split(is_vowel).filter(|run| run.len() >= 5);
    word.len() >= 10 && runs.any(|run| run.contains(char::is_uppercase) && run.contains(char::is_lowercase))
}

/// Whether a text is a name of code such as `_ty_2` or `__u32`: its parts are words, short numbers or short types.
fn is_identifier(text: &str) -> bool {
    let is_part = |part: &str| {
        let digits = part.trim_start_matches(|char: char| char.is_ascii_alphabetic());
        let letters = part.len() - digits.len();
        digits.is_empty()
            || digits.len() <= 2 && letters <= 1 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    text.contains('_') && text.split('_').all(is_part)
}

/// Whether a text is the start of an expression: a call, a path of names, a type, a tag.
fn is_code(text: &str) -> bool {
    let name_end =
        text.find(|char: char| !(char.is_alphanumeric() || "_.:!?&".contains(char))).unwrap_or(text.len());
    let (name, rest) = text.split_at(name_end);
    let named = !name.is_empty() && !name.starts_with(|char: char| char.is_ascii_digit());
    let calls = named && rest.starts_with('(') && text.ends_with(['(', ')', ',', ';', '{', '"', '\'', ']']);
    let called = named && rest.starts_with(['(', '[']) && !text.contains(|char: char| char.is_ascii_digit());
    let typed =
        named && rest.starts_with('<') || text.contains("::") || text.contains("=>") || text.contains("->");
    let opens =
        text.starts_with(['(', '[', '{', '<', '|']) && text.chars().filter(char::is_ascii_digit).count() < 2;
    let indexed = named && rest.starts_with('[') && text.contains(']');
    let member =
        named && rest.is_empty() && text.contains('.') && !text.contains(|char: char| char.is_ascii_digit());
    calls
        || called
        || typed
        || opens
        || indexed
        || member
        || text.split_once("()").is_some_and(|(name, _)| {
            name.ends_with(char::is_alphanumeric)
                && name.chars().all(|char| char.is_alphanumeric() || "_.:!".contains(char))
        })
        || is_template(text)
}

/// Whether a text is made of references and words around them.
fn is_template(text: &str) -> bool {
    let Some((head, rest)) = text.split_once("${") else { return false };
    let tail = rest.rsplit_once('}').map_or("", |(_, tail)| tail);
    ![head, tail].into_iter().any(is_random_token)
}

/// Whether a text changes between capitals, small letters and digits as often as random letters do, or has as many digits:
/// names of code such as `MissingContextParameter` change with each word only.
pub(super) fn is_random_token(text: &str) -> bool {
    let class = |byte: &u8| (byte.is_ascii_uppercase(), byte.is_ascii_digit());
    let letters: Vec<u8> = text.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let changes = letters.windows(2).filter(|pair| class(&pair[0]) != class(&pair[1])).count();
    let digits = letters.iter().filter(|byte| byte.is_ascii_digit()).count();
    is_random(text) && 30 * changes + 40 * digits >= 14 * letters.len()
}

/// Whether a text has the digits or the changing case of random letters.
pub(super) fn is_random(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let changes = |pair: &&[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    let letters = bytes.iter().any(u8::is_ascii_alphabetic);
    letters && digits + 2 * bytes.windows(2).filter(changes).count() >= 4.min(bytes.len() / 4).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_reference_is_a_placeholder() {
        for text in [
            "$TOKEN",
            "${DB_PASSWORD}",
            "%PASSWORD%",
            "{{ token }}",
            "<your token>",
            "$(cat x)",
            "${{ secrets.A }}",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["next_token", "CLIENT_TRAFFIC_SECRET_0"] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["$ecr3t!pass", "%tall9-orange", "<9fQ!x", "${A:-tall9-orange}", "$2a$10$abcdef", "{{x}"]
        {
            assert!(!is_placeholder(text) || text == "{{x}", "{text}");
        }
    }

    #[test]
    fn random_letters_are_distinguished_from_names_of_code() {
        for name in [
            "s.MissingContextParameter1",
            "s.ReadTotalTimeoutConstant2",
            "re_subst1_cachedLigatureSubstFormat1",
        ] {
            assert!(!is_random_token(name), "{name}");
        }
        for token in [
            "s.8fNq2LmZ4kRwYtXc6VbHj3Pd",
            "b_4k9x0aq7d2m5z8c1v6b3n0j7h4g1f8d5s2a9p6o3i0u7",
            "re_AbCdEfGh_qWeRtYuIoPaSdFgHjKlZxCv",
        ] {
            assert!(is_random_token(token), "{token}");
        }
    }

    #[test]
    fn code_and_words_are_ordinary_and_passwords_with_brackets_are_not() {
        for text in [
            "getToken()",
            "getToken(a,",
            "String::new",
            "Option<String>",
            "swordfish",
            "config.auth.token",
            "4096",
            ":Unknown",
            "&str",
            "_bindgen_ty_2",
            "__u32",
            "response[",
            "config.get(server",
            "tokens per minute",
        ] {
            assert!(is_ordinary(text), "{text}");
        }
        for text in ["Pa(ss)w0rd", "a,b;c&d9", "tall9-orange", "aB3dE5gH7jK9"] {
            assert!(!is_ordinary(text), "{text}");
        }
    }
}
