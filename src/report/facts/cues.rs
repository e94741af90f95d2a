//! Words that mark a limit, a decision or an error, in the languages that the users of these gateways write most.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// The way to look for a cue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// As a whole word or phrase.
    Words,
    /// Anywhere: the language writes no blanks, or adds endings.
    Anywhere,
}

type Cues = &'static [(Match, &'static [&'static str])];

use Match::{Anywhere, Words};

/// A rule that a person set.
pub(super) const CONSTRAINTS: Cues = &[
    (
        Words,
        &[
            "must",
            "mustn't",
            "never",
            "always",
            "don't",
            "do not",
            "dont",
            "cannot be",
            "can't be",
            "may not",
            "should not",
            "shouldn't",
            "only",
            "at most",
            "at least",
            "no more than",
            "no less than",
            "not allowed",
            "forbidden",
            "required",
            "without",
            "avoid",
            "make sure",
            "ensure",
            "keep",
            "except",
            "before you",
        ],
    ),
    (
        Words,
        &[
            "muss",
            "müssen",
            "darf",
            "dürfen",
            "nie",
            "niemals",
            "immer",
            "nur",
            "ohne",
            "höchstens",
            "mindestens",
            "keinesfalls",
            "auf keinen fall",
            "verboten",
            "bitte nicht",
            "nicht mehr als",
        ],
    ),
    (
        Words,
        &[
            "doit",
            "doivent",
            "ne pas",
            "jamais",
            "toujours",
            "seulement",
            "uniquement",
            "sans",
            "au plus",
            "au moins",
            "interdit",
            "il faut",
            "obligatoire",
        ],
    ),
    (
        Words,
        &[
            "debe",
            "deben",
            "nunca",
            "siempre",
            "sólo",
            "solo",
            "solamente",
            "sin",
            "como máximo",
            "al menos",
            "prohibido",
            "obligatorio",
            "no uses",
            "no toques",
            "deve",
            "devem",
            "sempre",
            "apenas",
            "somente",
            "sem",
            "no máximo",
            "pelo menos",
            "proibido",
            "não use",
            "mai",
            "soltanto",
            "senza",
            "al massimo",
            "almeno",
            "vietato",
            "non usare",
        ],
    ),
    (
        Anywhere,
        &[
            "должен",
            "должн",
            "нельзя",
            "никогда",
            "всегда",
            "только",
            "не более",
            "не менее",
            "запрещ",
            "обязательно",
            "не трога",
            "musi",
            "nigdy",
            "zawsze",
            "tylko",
            "zabronion",
        ],
    ),
    (
        Anywhere,
        &[
            "必须",
            "必須",
            "不要",
            "不得",
            "禁止",
            "只能",
            "只用",
            "务必",
            "務必",
            "不能",
            "不许",
            "严禁",
            "永远",
            "始终",
            "至少",
            "至多",
            "最多",
            "一定要",
            "不可",
            "必ず",
            "しないで",
            "してはいけない",
            "してはならない",
            "ないでください",
            "だけ",
            "以内",
            "以上",
            "決して",
            "常に",
            "반드시",
            "하지 마",
            "금지",
            "절대",
            "항상",
            "만 사용",
            "이하",
            "이상",
            "안 된다",
            "안 됩니다",
        ],
    ),
];

/// A choice that was made.
pub(super) const DECISIONS: Cues = &[
    (
        Words,
        &[
            "decided",
            "we decide",
            "decision",
            "we'll use",
            "we will use",
            "let's use",
            "let us use",
            "let's go with",
            "going with",
            "go with",
            "chose",
            "chosen",
            "we choose",
            "agreed",
            "settled on",
            "instead of",
            "switch to",
            "switched to",
            "i'll use",
            "i will use",
            "we use",
            "use this",
        ],
    ),
    (
        Words,
        &[
            "entschieden",
            "entscheidung",
            "wir nehmen",
            "wir verwenden",
            "wir benutzen",
            "beschlossen",
            "stattdessen",
            "anstatt",
            "décidé",
            "décision",
            "on utilise",
            "nous utilisons",
            "choisi",
            "au lieu de",
            "decidimos",
            "decidido",
            "decisión",
            "usaremos",
            "vamos a usar",
            "elegimos",
            "en lugar de",
            "vamos usar",
            "decisão",
            "escolhemos",
            "em vez de",
            "deciso",
            "decisione",
            "useremo",
            "scelto",
            "invece di",
        ],
    ),
    (Anywhere, &["решил", "решен", "будем использовать", "выбрал", "вместо", "zdecydowa", "wybra"]),
    (
        Anywhere,
        &[
            "决定",
            "決定",
            "采用",
            "採用",
            "改用",
            "选择",
            "選擇",
            "选用",
            "确定使用",
            "就用",
            "にします",
            "ことにし",
            "使うことに",
            "を選",
            "代わりに",
            "결정",
            "사용하기로",
            "하기로 했",
            "선택",
            "대신",
        ],
    ),
];

/// Parts of words that report an error.
const ERRORS: &[&str] = &[
    "error",
    "exception",
    "failed",
    "failure",
    "panicked",
    "cannot",
    "fatal",
    "denied",
    "refused",
    "timed out",
    "not found",
    "no such file",
    "traceback",
    "segmentation fault",
    "fehler",
    "fehlgeschlagen",
    "erreur",
    "échec",
    "fallo",
    "excepción",
    "erro:",
    "falha",
    "errore",
    "ошибк",
    "исключени",
    "błąd",
    "错误",
    "錯誤",
    "失败",
    "失敗",
    "异常",
    "異常",
    "エラー",
    "例外",
    "오류",
    "실패",
];

/// Finds all of them in one pass; none is meant as a whole word.
static ERROR_SEARCH: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(ERRORS).ok());

/// Whether a text reports an error.
pub(super) fn reports_error(text: &str) -> bool {
    let lower = if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) };
    ERROR_SEARCH.as_ref().is_some_and(|search| search.is_match(&*lower))
}

/// Whether a text in lower case has one of these cues.
pub(super) fn has_cue(lower: &str, cues: Cues) -> bool {
    cues.iter().any(|(how, cues)| cues.iter().any(|cue| has_one(lower, cue, *how)))
}

fn has_one(lower: &str, cue: &str, how: Match) -> bool {
    let is_letter = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    lower.match_indices(cue).any(|(at, found)| {
        let whole = || {
            !is_letter(lower[..at].chars().next_back())
                && !is_letter(lower[at + found.len()..].chars().next())
        };
        match how {
            Match::Anywhere => !is_choice(&lower[..at], found),
            Match::Words => whole(),
        }
    })
}

/// Whether a Chinese cue is part of a question such as `能不能` or `要不要`, which forbids nothing.
fn is_choice(before: &str, cue: &str) -> bool {
    let mut signs = cue.chars();
    signs.next() == Some('不') && before.chars().next_back().is_some_and(|verb| signs.next() == Some(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_an_error_is_found_however_it_is_written() {
        for cue in ERRORS {
            for text in [(*cue).to_owned(), cue.to_uppercase(), format!("a line: {cue}s")] {
                assert!(reports_error(&text), "{text}");
            }
        }
        assert!(!reports_error("all 12 tests passed") && !reports_error("すべて成功しました"));
    }
}
