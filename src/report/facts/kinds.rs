//! The kind of a word, and the one form of the many ways to write it.

use std::borrow::Cow;

use super::sentences::FactKind;
use super::words::{has_drive, is_date_of_characters, is_group_sign, offset};

/// Endings of files that are named without their folder.
const FILE_ENDINGS: [&str; 78] = [
    "rs", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp",
    "cs", "rb", "php", "swift", "scala", "sh", "bash", "zsh", "ps1", "bat", "sql", "html", "htm", "css",
    "scss", "vue", "svelte", "json", "jsonl", "json5", "yaml", "yml", "toml", "ini", "cfg", "conf", "env",
    "xml", "csv", "tsv", "md", "mdx", "txt", "rst", "log", "lock", "pdf", "doc", "docx", "xls", "xlsx",
    "ppt", "pptx", "png", "jpg", "jpeg", "gif", "svg", "webp", "mp3", "mp4", "wav", "zip", "gz", "tar",
    "zst", "db", "sqlite", "parquet", "proto", "tf", "ipynb",
];
const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '₩', '₹'];
/// Digits of a number that does not occur by chance; money, shares and decimals need fewer.
const MIN_DIGITS: usize = 3;
/// Bytes of an id of letters and digits.
const MIN_ID_BYTES: usize = 6;
/// Bytes of an address without a blank.
const MAX_WORD_BYTES: usize = 200;

/// A word that is a fact.
pub(super) struct Word<'a> {
    pub(super) kind: FactKind,
    pub(super) text: &'a str,
    pub(super) key: Cow<'a, str>,
}

/// Whether a word may be a fact: every kind has a digit, or a sign of a path or of an address.
pub(super) fn is_telling(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'/' | b'\\' | b'.'))
}

/// Returns the kind of a word of a text; `None` for ordinary words.
pub(super) fn classify<'a>(word: &'a str, text: &'a str) -> Option<Word<'a>> {
    if word.len() > MAX_WORD_BYTES || word.len() < 2 {
        return None;
    }
    let found = |kind, key| Some(Word { kind, text: word, key });
    let letters = word.chars().filter(|char| char.is_alphabetic()).count();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits >= 3 && is_date(word) {
        return found(FactKind::Date, Cow::Borrowed(word));
    }
    if letters > 0 && is_path(word) {
        return found(FactKind::Path, path_key(word));
    }
    if digits >= 2 && is_address(word) || letters > 0 && is_mail(word) {
        return found(FactKind::Id, Cow::Borrowed(word));
    }
    if let Some(key) = number(word, text) {
        return found(FactKind::Number, key);
    }
    let is_id = letters >= 1 && word.len() >= MIN_ID_BYTES && has_no_folders(word) && is_mixed(word, digits);
    if is_version(word) || is_ticket(word) || is_id && !is_measure(word) {
        return found(FactKind::Id, Cow::Borrowed(word));
    }
    None
}

/// Whether letters and digits alternate, or the digits are many: `4fa91c2d` and `build4711`, unlike `sha256` and `utf-16`.
fn is_mixed(word: &str, digits: usize) -> bool {
    let kinds: Vec<bool> =
        word.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.is_ascii_digit()).collect();
    digits >= 2 && (digits >= 4 || kinds.windows(2).filter(|pair| pair[0] != pair[1]).count() >= 2)
}

fn has_no_folders(word: &str) -> bool {
    !word.contains(['/', '\\'])
}

/// Days in the order of any country, and times with a day.
fn is_date(word: &str) -> bool {
    if !word.is_ascii() && is_date_of_characters(word) {
        return true;
    }
    let day = word.split(['T', 't']).next().unwrap_or_default();
    ['-', '/', '.'].iter().any(|sign| {
        let mut parts = day.split(*sign);
        let (Some(first), Some(second), Some(third), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let number =
            |part: &str| part.parse::<u32>().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
        let (Some(one), Some(two), Some(three)) = (number(first), number(second), number(third)) else {
            return false;
        };
        let is_year = |text: &str, year: u32| text.len() == 4 && (1900..2200).contains(&year);
        let is_day = |number: u32| (1..=31).contains(&number);
        let year_first =
            is_year(first, one) && is_day(two) && is_day(three) && first.len() + second.len() > 4;
        // `2026.9.6` is a release, `2026.09.06` and `2026-9-6` are days.
        let is_release = *sign == '.' && (second.len() == 1 || third.len() == 1);
        year_first && !is_release || is_year(third, three) && is_day(one) && is_day(two)
    })
}

fn is_path(word: &str) -> bool {
    if !word.contains(['/', '\\', '.']) {
        return false;
    }
    if let Some((scheme, rest)) = word.split_once("://") {
        return !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && rest.len() >= 3;
    }
    if has_drive(word) || word.starts_with("\\\\") {
        return true;
    }
    let bare = without_position(word);
    let segments: Vec<&str> = bare.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let ending = |part: &str| {
        let (name, ending) = part.rsplit_once('.')?;
        Some(
            !name.is_empty()
                && (1..=8).contains(&ending.len())
                && ending.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        )
    };
    match segments.len() {
        0 => false,
        1 => {
            let ending = bare.rsplit_once('.').map(|(name, ending)| {
                (!name.is_empty() && !name.ends_with('.'), ending.to_ascii_lowercase())
            });
            let known =
                ending.is_some_and(|(named, ending)| named && FILE_ENDINGS.contains(&ending.as_str()));
            known && !word.contains('@')
        }
        count => {
            let rooted = bare.starts_with(['/', '~']) || bare.starts_with("./") || bare.starts_with("../");
            let named = segments
                .iter()
                .any(|part| part.contains(['.', '_', '-']) || part.bytes().any(|byte| byte.is_ascii_digit()));
            let foreign = !bare.is_ascii() && segments.iter().any(|part| part.is_ascii());
            let lengths = segments.iter().filter(|part| part.len() >= 2).count();
            let last_is_file = segments.last().and_then(|last| ending(last)).unwrap_or(false);
            lengths >= 2 && (rooted || named || last_is_file || foreign || count >= 3)
        }
    }
}

/// Removes the line and the column after a file: `src/main.rs:48:12`.
fn without_position(word: &str) -> &str {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut word = word;
    for _ in 0..2 {
        match word.rsplit_once(':') {
            Some((file, place)) if is_digits(place) && file.len() > 1 => word = file,
            _ => break,
        }
    }
    word
}

/// Writes a path with `/`, without `./` and position. The case is kept: most file systems distinguish it.
fn path_key(word: &str) -> Cow<'_, str> {
    if word.contains("://") {
        return Cow::Borrowed(word.trim_end_matches('/'));
    }
    let bare = without_position(word);
    let bare = bare.strip_prefix("./").or_else(|| bare.strip_prefix(".\\")).unwrap_or(bare);
    let bare = bare.trim_end_matches(['/', '\\']);
    if !bare.contains('\\') && !bare.contains("//") {
        return Cow::Borrowed(bare.trim_start_matches('/'));
    }
    let segments: Vec<&str> = bare.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    Cow::Owned(segments.join("/"))
}

/// Addresses of machines, with or without a port or a mask.
fn is_address(word: &str) -> bool {
    let (host, rest) = match word.find([':', '/']).filter(|_| word.matches(':').count() < 2) {
        Some(at) => (&word[..at], &word[at + 1..]),
        None => (word, ""),
    };
    let rest_is_number = rest.bytes().all(|byte| byte.is_ascii_digit());
    rest_is_number && host.parse::<core::net::Ipv4Addr>().is_ok()
        || word.matches(':').count() >= 2 && word.parse::<core::net::Ipv6Addr>().is_ok() && word.len() >= 6
}

fn is_mail(word: &str) -> bool {
    word.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !host.contains(['@', '/', ':']) && host.len() >= 4
    })
}

/// `v1.2`, `1.2.3`, `2026.9.6-beta.1`: parts of digits, and an addition.
fn is_version(word: &str) -> bool {
    let bare = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let core = bare.split(['-', '+']).next().unwrap_or_default();
    let count = core.split('.').count();
    let is_number =
        |part: &&str| !part.is_empty() && part.len() <= 5 && part.bytes().all(|byte| byte.is_ascii_digit());
    let enough = if bare.len() < word.len() { 2 } else { 3 };
    (enough..=4).contains(&count) && core.split('.').all(|part| is_number(&part))
}

/// `ABC-123`.
fn is_ticket(word: &str) -> bool {
    word.split_once('-').is_some_and(|(project, number)| {
        project.len() >= 2
            && project.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            && project.as_bytes()[0].is_ascii_uppercase()
            && (2..=8).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a word is a number with its unit, such as `120px` or `1500ms`: the number is the fact.
fn is_measure(word: &str) -> bool {
    let digits = word.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    word.len() - digits.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Returns the digits of a number without their groups; `None` for words and for numbers that occur by chance.
fn number<'a>(word: &'a str, text: &str) -> Option<Cow<'a, str>> {
    let is_money_sign = |char: char| CURRENCIES.contains(&char);
    let bare = word.trim_matches(is_money_sign).trim_end_matches('%');
    let unit = bare.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let bare = if bare.len() - unit.len() <= 3 { unit } else { bare };
    if bare.is_empty() || !bare.starts_with(|char: char| char.is_ascii_digit()) {
        return None;
    }
    let digits = bare.chars().filter(char::is_ascii_digit).count();
    let is_number = bare.chars().all(|char| char.is_ascii_digit() || char == '.' || is_group_sign(char));
    if !is_number {
        // A phone number, or a number of an account.
        let is_dialled = bare.chars().all(|char| char.is_ascii_digit() || char == '-') && digits >= 7;
        return is_dialled.then_some(Cow::Borrowed(word));
    }
    if bare.matches('.').count() > 1 && !is_grouped(bare, '.') {
        return None;
    }
    let amount = word.len() > bare.len() && !word.ends_with(|char: char| char.is_ascii_alphabetic());
    let has_fraction = bare.contains(['.', ',']);
    let enough = if amount || has_fraction || has_currency_beside(word, text) { 2 } else { MIN_DIGITS };
    (digits >= enough).then(|| number_key(bare))
}

fn is_grouped(number: &str, sign: char) -> bool {
    let mut parts = number.split(sign);
    let first = parts.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && parts.all(|part| part.len() == 3)
}

/// Removes the signs that group digits. A single comma or point before other than three digits is the decimal sign.
fn number_key(number: &str) -> Cow<'_, str> {
    if number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Cow::Borrowed(number);
    }
    let last_sign = number.rfind([',', '.']);
    let decimals = last_sign.map(|at| &number[at + 1..]);
    let sign_count = |sign: char| number.matches(sign).count();
    let is_decimal = last_sign.is_some_and(|at| {
        let sign = if number[at..].starts_with(',') { ',' } else { '.' };
        let other = if sign == ',' { '.' } else { ',' };
        sign_count(sign) == 1 && (decimals.is_some_and(|part| part.len() != 3) || sign_count(other) > 0)
    });
    let whole = if is_decimal { &number[..last_sign.unwrap_or(number.len())] } else { number };
    let mut key: String = whole.chars().filter(char::is_ascii_digit).collect();
    if let Some(decimals) = decimals.filter(|_| is_decimal) {
        key.push('.');
        key.push_str(decimals);
    }
    Cow::Owned(key)
}

/// Whether a currency is next to a number, with one blank or none: `USD 50`, `50 €`, `12元`.
fn has_currency_beside(word: &str, text: &str) -> bool {
    const CODES: [&str; 10] = ["USD", "EUR", "GBP", "JPY", "CNY", "CHF", "INR", "KRW", "BRL", "RUB"];
    const SIGNS: [char; 4] = ['元', '円', '원', '₽'];
    let at = offset(text, word);
    let before = text[..at].trim_end_matches([' ', '\u{a0}']);
    let after = text[at + word.len()..].trim_start_matches([' ', '\u{a0}']);
    let is_sign = |char: char| CURRENCIES.contains(&char) || SIGNS.contains(&char);
    CODES.iter().any(|code| before.ends_with(code) || after.starts_with(code))
        || before.ends_with(is_sign)
        || after.starts_with(is_sign)
}
