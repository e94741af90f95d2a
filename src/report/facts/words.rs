//! Splits a text into words that may be names or numbers. Scripts without blanks end a word, except inside a path.

/// Signs that belong to names and numbers.
const NAME_SIGNS: &str = "_./:@#-\\%+~$€£¥₩₹";
/// Signs that end a sentence or open one, and never begin or end a name.
const EDGES: [char; 5] = ['.', ':', ',', '-', '+'];
/// The most bytes of a path with blanks.
const MAX_PATH_BYTES: usize = 200;
/// The most characters of the name of a value.
const MAX_NAME_CHARS: usize = 40;
/// Names of folders at the root of a file system. A path in a text without blanks begins there.
const ROOTS: [&str; 14] = [
    "home",
    "usr",
    "etc",
    "var",
    "tmp",
    "opt",
    "Users",
    "mnt",
    "srv",
    "root",
    "work",
    "data",
    "dev",
    "workspace",
];

/// Whether a character belongs to a script that writes words without blanks, or adds endings to foreign names.
pub(super) fn is_unspaced(char: char) -> bool {
    matches!(char,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{2fff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Whether a character groups the digits of a number: `1,234`, `1'234`, `1 234` with a no-break blank.
pub(super) fn is_group_sign(char: char) -> bool {
    matches!(char, ',' | '\'' | '’' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// Returns the words of a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(is_part)?;
        rest = &rest[start..];
        let (word, after) = rest.split_at(word_end(rest));
        rest = after;
        Some(word)
    })
    .flat_map(split_scripts)
    .flat_map(split_escapes)
    .map(trimmed)
    .filter(|word| !word.is_empty())
}

fn is_part(char: char) -> bool {
    match u8::try_from(char) {
        Ok(byte) if byte.is_ascii() => ASCII_PARTS[usize::from(byte)],
        _ => char.is_alphanumeric() || NAME_SIGNS.contains(char),
    }
}

/// The ASCII characters of names and numbers.
const ASCII_PARTS: [bool; 128] = {
    let mut parts = [false; 128];
    let signs = NAME_SIGNS.as_bytes();
    let mut at = 0;
    while at < signs.len() {
        if signs[at].is_ascii() {
            parts[signs[at] as usize] = true;
        }
        at += 1;
    }
    let mut byte = 0_u8;
    while byte < 128 {
        parts[byte as usize] = parts[byte as usize] || byte.is_ascii_alphanumeric();
        byte += 1;
    }
    parts
};

fn word_end(text: &str) -> usize {
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        let next_is_digit = || text[at + char.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
        let groups = is_group_sign(char) && before.is_ascii_digit() && next_is_digit();
        if !is_part(char) && !groups {
            return at;
        }
        before = char;
    }
    text.len()
}

/// Removes signs at both ends that belong to the sentence.
fn trimmed(word: &str) -> &str {
    let word = word.trim_end_matches(EDGES).trim_end_matches(['/', '#', '~', '@', '$']);
    let from = word.trim_start_matches([':', ',', '#', '@', '+', '-', '%']);
    // `./a` and `../a` are paths; a word after a single `.` is not.
    if from.starts_with("./") || from.starts_with("../") || from.starts_with(".\\") {
        return from;
    }
    let name = from.trim_start_matches('.');
    // `.env`, `.github/workflows`
    let hidden = from.len() == name.len() + 1 && name.starts_with(|char: char| char.is_ascii_alphabetic());
    if hidden { from } else { name }
}

/// Splits a word where a script without blanks begins or ends.
fn split_scripts(word: &str) -> impl Iterator<Item = &str> {
    let whole = whole_word(word);
    let runs = if whole.is_some() { "" } else { word };
    whole.into_iter().chain(runs.split(is_unspaced).filter(|run| !run.is_empty()))
}

/// Splits a word at the escapes of a JSON string, `\\n` and `\\t`. A path of Windows stays whole: it begins with a drive or
/// a server, or one of its folders begins with a letter that no escape has.
fn split_escapes(word: &str) -> impl Iterator<Item = &str> {
    let is_escaped = word.contains('\\') && !has_drive(word) && only_has_escapes(word);
    let mut rest = Some(word);
    std::iter::from_fn(move || {
        let text = rest?;
        let at = text.find('\\').filter(|_| is_escaped);
        let Some(at) = at else { return rest.take() };
        let behind = text[at..].trim_start_matches('\\');
        rest = Some(behind.get(1..).unwrap_or_default());
        Some(&text[..at])
    })
    .filter(|part| !part.is_empty())
}

/// Whether every run of backslashes stands before a letter that begins an escape of a blank.
fn only_has_escapes(word: &str) -> bool {
    let mut behind = word.split('\\').skip(1).filter(|part| !part.is_empty());
    !word.starts_with("\\\\") && behind.all(|part| part.starts_with(['n', 'r', 't']))
}

/// Returns a word that is not split, without the words of the sentence around it.
fn whole_word(word: &str) -> Option<&str> {
    if word.is_ascii() || !word.contains(is_unspaced) {
        return Some(word);
    }
    let has_folders = word.contains(['/', '\\']);
    if has_folders && !word.contains("://") {
        return Some(path_in_sentence(word));
    }
    date_in(word)
}

/// Returns the date in a word of characters: `于2026年11月25日完成`.
fn date_in(word: &str) -> Option<&str> {
    let from = word.find(|char: char| char.is_ascii_digit())?;
    let to = word[from..].char_indices().find(|(_, char)| matches!(char, '日' | '일'))?;
    let date = &word[from..from + to.0 + to.1.len_utf8()];
    is_date_of_characters(date).then_some(date)
}

/// Whether a word is a date such as `2026年11月25日`.
pub(super) fn is_date_of_characters(word: &str) -> bool {
    let mut signs = word.chars().filter(|char| !char.is_ascii_digit());
    let parts: Vec<&str> =
        word.split(['年', '月', '日', '년', '월', '일']).filter(|part| !part.is_empty()).collect();
    let is_digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    signs.next().is_some() && parts.len() == 3 && parts.iter().all(is_digits) && parts[0].len() == 4
}

/// Cuts the words of the sentence off both ends of a path: `请读取docs/设计/计划.md文件` is about `docs/设计/计划.md`.
fn path_in_sentence(word: &str) -> &str {
    let is_separator = |char: char| char == '/' || char == '\\';
    let first_end = word.find(is_separator).unwrap_or(word.len());
    let first = &word[..first_end];
    let ascii_tail = first.len()
        - first.rfind(is_unspaced).map_or(0, |at| at + first[at..].chars().next().map_or(0, char::len_utf8));
    let second = word[first_end..].trim_start_matches(is_separator);
    let second = &second[..second.find(is_separator).unwrap_or(second.len())];
    let from = match first.contains(is_unspaced) {
        true if ascii_tail > 0 => first.len() - ascii_tail,
        true if ROOTS.contains(&second) => first_end,
        _ => 0,
    };
    let last_at = word.rfind(is_separator).map_or(0, |at| at + 1);
    let last = &word[last_at..];
    // An ending of ASCII letters, and then the sentence continues.
    let name_at = last.rfind('.').map_or(0, |at| at + 1);
    let ending = &last[name_at..];
    let is_mixed = ending.starts_with(|char: char| char.is_ascii_alphanumeric());
    let to = ending.find(is_unspaced).filter(|_| is_mixed).map_or(word.len(), |at| last_at + name_at + at);
    word.get(from..to).unwrap_or(word)
}

/// Joins the words of a name with blanks: a path of Windows, and a path in quotes. Returns how many words it takes.
pub(super) fn join<'a>(text: &'a str, words: &[&'a str]) -> (usize, &'a str) {
    let first = words[0];
    let start = offset(text, first);
    let mut taken = (1, first);
    let is_windows = has_drive(first) || first.starts_with("\\\\");
    let quote = text[..start].chars().next_back().filter(|char| matches!(char, '"' | '\'' | '`' | '“' | '«'));
    let is_quoted_path = quote.is_some() && first.contains('/');
    if !is_windows && !is_quoted_path {
        return taken;
    }
    let quoted_end = quote.and_then(|quote| closing(text, start, quote));
    for (at, next) in words.iter().enumerate().skip(1) {
        let next_at = offset(text, next);
        let end = next_at + next.len();
        let before_end = offset(text, taken.1) + taken.1.len();
        let is_blank = text.get(before_end..next_at).is_some_and(|gap| gap == " ");
        if !is_blank || end - start > MAX_PATH_BYTES || has_drive(next) {
            break;
        }
        let whole = &text[start..end];
        let goes_on = match quoted_end {
            // Only a path that fills the quotes may have blanks.
            Some(close) if is_file_end(&text[start..close]) => end <= close,
            _ => is_windows && next.contains('\\'),
        };
        if !goes_on {
            break;
        }
        taken = (at + 1, whole);
    }
    taken
}

fn closing(text: &str, start: usize, quote: char) -> Option<usize> {
    let close = match quote {
        '“' => '”',
        '«' => '»',
        other => other,
    };
    let near = text[start..].char_indices().take_while(|(at, char)| *at <= MAX_PATH_BYTES && *char != '\n');
    near.into_iter().find(|(_, char)| *char == close).map(|(at, _)| start + at)
}

/// Whether a quoted text ends as a path does: with a folder, or with a file extension, after its last blank.
fn is_file_end(quoted: &str) -> bool {
    let last = quoted.rsplit(' ').next().unwrap_or_default();
    last.contains(['/', '\\'])
        || last
            .rsplit_once('.')
            .is_some_and(|(name, ending)| !name.is_empty() && (1..=5).contains(&ending.len()))
}

pub(super) fn has_drive(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() > 3
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/')
        && bytes[3] != b'/'
}

/// Returns the name before a value: `port: 8080`, `"port": 8080`, `PORT=8080`.
pub(super) fn name_before<'a>(text: &'a str, value: &str) -> Option<&'a str> {
    let before = text[..offset(text, value)].trim_end_matches([' ', '"', '\'', '`', '“', '*']);
    let before = before.strip_suffix([':', '=', '：'])?.trim_end_matches([' ', '"', '\'', '`', '*', ':']);
    let is_name = |char: char| char.is_alphanumeric() || char == '_' || char == '-' || char == '.';
    let start = before
        .char_indices()
        .rev()
        .take(MAX_NAME_CHARS)
        .take_while(|(_, char)| is_name(*char))
        .last()
        .map(|(at, _)| at)?;
    let name = before[start..].trim_matches(['.', '-']);
    let has_letters = name.chars().filter(|char| char.is_alphabetic()).count() >= 2;
    has_letters.then_some(name)
}

/// Returns the place of a part of a text in it.
pub(super) fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn escapes_of_a_json_string_end_a_word_and_folders_of_windows_do_not() {
        let of = |text: &'static str| words(text).collect::<Vec<_>>();
        assert_eq!(of(r"done\nnext\tlast"), ["done", "next", "last"]);
        assert_eq!(of(r"a\\nb"), ["a", "b"], "a string in a string");
        assert_eq!(of(r"C:\notes\todo.txt"), [r"C:\notes\todo.txt"]);
        assert_eq!(of(r"src\tests\main.rs"), [r"src\tests\main.rs"], "no escape begins with m");
    }
}
