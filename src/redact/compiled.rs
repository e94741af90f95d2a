//! Finds the matches of the rules: one search for the letters that rules need finds all candidates. A token is matched only
//! where its letters are.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use rayon::prelude::*;
use regex::Regex;

use super::proof::{
    PLACEHOLDER_START, is_expression, is_ordinary, is_placeholder, is_random_token, is_word, placeholder_len,
};
use super::rules::{NAME_MARK, NAMES, Proof, SECRET_NAME, rules};
use super::tokens::tokens;
use super::view::{Lines, Reach, add_window};

/// Letters before a token that make it a part of a word, or of a file in base64.
const WORD: usize = 3;
const LONG_RUN: usize = 64;

/// Every rule, each compiled for the first text that needs it.
pub(super) struct CompiledRules {
    rules: Vec<CompiledRule>,
    /// The letters of all rules in any case; `None` if they cannot be searched for, and then every rule is tried.
    anchors: Option<AhoCorasick>,
    /// The rule that finds names of secrets, and the rules whose matches begin with one.
    names: usize,
    named: Vec<usize>,
    /// Matches where one of the latter does. It has the names once, so it compiles and warms up as fast as one of them.
    any_named: OnceLock<Regex>,
    /// For each of the letters, the rules whose matches begin with them in this very case.
    tokens: Vec<Vec<(usize, String)>>,
    /// For each of the letters, the groups of rules that need them.
    groups_by_anchor: Vec<Vec<usize>>,
    /// The rules that need one of the same letters, so that their lines are collected once.
    groups: Vec<Vec<usize>>,
}

struct CompiledRule {
    kind: &'static str,
    proof: Proof,
    pattern: String,
    /// The pattern with a mark in place of the name of a secret; empty if it has none.
    outline: String,
    /// Whether matches begin with the letters that the rule needs.
    is_anchored: bool,
    regex: OnceLock<Regex>,
    reach: OnceLock<Reach>,
    /// Without it the rule cannot match: as the rule says, else the part before the name, unless a group is open there.
    needs: String,
    needs_regex: OnceLock<Option<Regex>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    pub from: usize,
    pub to: usize,
    pub kind: &'static str,
    /// Whether its first letters reveal it, without a name before it.
    pub is_shape: bool,
}

/// Every rule.
///
/// A pattern that does not compile would match nothing; a test checks that all compile.
pub(super) static COMPILED: LazyLock<CompiledRules> = LazyLock::new(CompiledRules::new);

impl CompiledRules {
    fn new() -> Self {
        let mut made = Self {
            rules: Vec::new(),
            anchors: None,
            names: 0,
            named: Vec::new(),
            any_named: OnceLock::new(),
            tokens: Vec::new(),
            groups_by_anchor: Vec::new(),
            groups: Vec::new(),
        };
        let mut letters = Letters::default();
        let mut groups: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut tokens_by_letters: Vec<(usize, usize, String)> = Vec::new();
        for token in tokens() {
            let proof = if token.needs_random { Proof::Random } else { Proof::Shape };
            if token.letters.is_empty() {
                let prefix = prefix_letters(token.pattern);
                tokens_by_letters.push((letters.add(&prefix), made.rules.len(), prefix));
                made.push(token.kind, proof, format!("^(?:{})", ascii_pattern(token.pattern)), true);
            } else {
                made.group(&mut groups, token.letters.split('|').map(|one| letters.add(one)).collect());
                made.push(token.kind, proof, ascii_pattern(&NAMES.expand(token.pattern)), false);
            }
        }
        for rule in rules() {
            let pattern = ascii_pattern(&rule.pattern);
            if rule.is_named {
                made.named.push(made.rules.len());
            } else {
                made.group(&mut groups, rule.letters.iter().map(|one| letters.add(one)).collect());
            }
            let pattern = if rule.is_named { format!(r"\A(?:{pattern})") } else { pattern };
            // The rules live as long as the program.
            made.push(rule.kind.leak(), rule.proof, pattern, false);
            if let Some(made) = made.rules.last_mut() {
                (made.outline, made.needs) = (ascii_pattern(&rule.outline), ascii_pattern(&rule.needs));
            }
        }
        made.names = made.rules.len();
        made.group(&mut groups, NAMES.letters("{names}").iter().map(|one| letters.add(one)).collect());
        let name = ascii_pattern(&NAMES.expand(&["(?i)", SECRET_NAME].concat()));
        made.push("value", Proof::Named, name, false);
        made.tokens.resize(letters.all.len(), Vec::new());
        for (at, rule, prefix) in tokens_by_letters {
            made.tokens[at].push((rule, prefix));
        }
        made.groups_by_anchor.resize(letters.all.len(), Vec::new());
        for (needed, group) in groups {
            for at in needed {
                made.groups_by_anchor[at].push(group);
            }
        }
        let mut builder = AhoCorasick::builder();
        let builder = builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::ContiguousNFA));
        made.anchors = builder.build(&letters.all).ok();
        made
    }

    fn push(&mut self, kind: &'static str, proof: Proof, pattern: String, is_anchored: bool) {
        self.rules.push(CompiledRule {
            kind,
            proof,
            pattern,
            outline: String::new(),
            is_anchored,
            regex: OnceLock::new(),
            reach: OnceLock::new(),
            needs: String::new(),
            needs_regex: OnceLock::new(),
        });
    }

    /// Puts the rule that is added next into the group of those that need the same letters.
    fn group(&mut self, groups: &mut HashMap<Vec<usize>, usize>, mut needed: Vec<usize>) {
        needed.sort_unstable();
        needed.dedup();
        let at = *groups.entry(needed).or_insert_with(|| {
            self.groups.push(Vec::new());
            self.groups.len() - 1
        });
        self.groups[at].push(self.rules.len());
    }

    /// Compiles side by side the rules of names, which a long text needs and any of which takes milliseconds.
    pub(super) fn compile_names(&self) {
        let group = self.groups.iter().find(|group| group.contains(&self.names));
        rayon::join(
            || self.any_named(),
            || group.into_iter().flatten().par_bridge().for_each(|rule| self.rules[*rule].compile_first()),
        );
    }

    fn any_named(&self) -> &Regex {
        self.any_named.get_or_init(|| {
            let behind = |rule: &usize| {
                let (flags, behind) = self.rules[*rule].outline.split_once(NAME_MARK)?;
                Some(format!("{}:{behind})", flags.strip_suffix(')')?))
            };
            let behind: Vec<String> = self.named.iter().filter_map(behind).collect();
            compile(&format!(r"\A(?:{})(?:{})", self.rules[self.names].pattern, behind.join("|")))
        })
    }

    /// Finds all matches in a text, in order and without overlap; the first rule of the table names a match.
    #[cfg(test)]
    pub(super) fn find_hits(&self, text: &str) -> Vec<Hit> {
        self.find_hits_near(text, &[(0, text.len())], false)
    }

    /// Finds all matches that touch some lines of a text, and some around them; in some texts, lines are joined.
    pub(super) fn find_hits_near(&self, text: &str, near: &[(usize, usize)], is_joined: bool) -> Vec<Hit> {
        let mut lines = Lines::new(text);
        let searched = searched_lines(&mut lines, near);
        // Most texts are short and have no such letters.
        let has_letters = |(from, to): &(usize, usize)| {
            self.anchors.as_ref().is_none_or(|letters| letters.is_match(&text[*from..*to]))
        };
        let Some(first) = searched.iter().position(has_letters) else { return Vec::new() };
        let mut found: Vec<(usize, Hit)> = Vec::new();
        let mut ends = vec![0; self.rules.len()];
        let grouped =
            self.anchored_lines((text, is_joined), &mut lines, &searched[first..], &mut ends, &mut found);
        for (group, at) in self.groups.iter().zip(grouped).filter(|(_, at)| !at.is_empty()) {
            let mut by_reach: [Option<Vec<(usize, usize)>>; 3] = [None, None, None];
            for rule in group {
                let reach = self.rules[*rule].reach();
                let windows = by_reach[reach as usize].get_or_insert_with(|| {
                    let mut windows = Vec::new();
                    for line in &at {
                        add_window(&mut windows, lines.around(line.0, reach));
                    }
                    windows
                });
                if *rule == self.names {
                    // The value may be on a line below the name.
                    let is_near = |window: &&(usize, usize)| {
                        touches(near, (window.0, lines.around(window.1, Reach::Lines).1))
                    };
                    let windows = windows.iter().filter(is_near).copied().collect::<Vec<_>>();
                    self.find_named(text, &windows, &mut ends, &mut found);
                    continue;
                }
                for window in windows.iter().filter(|window| touches(near, **window)) {
                    found.extend(self.rules[*rule].hits(text, *window).map(|hit| (*rule, hit)));
                }
            }
        }
        merge(found)
    }

    /// Adds the tokens that begin with their letters, and returns the lines with the letters of each group, in order.
    fn anchored_lines(
        &self,
        (text, is_joined): (&str, bool),
        lines: &mut Lines<'_>,
        searched: &[(usize, usize)],
        ends: &mut [usize],
        found: &mut Vec<(usize, Hit)>,
    ) -> Vec<Vec<(usize, usize)>> {
        let Some(anchors) = &self.anchors else { return vec![searched.to_vec(); self.groups.len()] };
        let mut grouped: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.groups.len()];
        for (from, to) in searched.iter().copied() {
            for at in anchors.find_overlapping_iter(&text[from..to]) {
                let (start, end) = (from + at.start(), from + at.end());
                for (rule, exact) in &self.tokens[at.pattern().as_usize()] {
                    if start >= ends[*rule]
                        && text.as_bytes()[start..end] == *exact.as_bytes()
                        && begins_token(text.as_bytes(), start, exact.len(), is_joined)
                        && let Some(hit) = self.rules[*rule].hit_at(text, start)
                    {
                        ends[*rule] = hit.to;
                        found.push((*rule, hit));
                    }
                }
                let groups = &self.groups_by_anchor[at.pattern().as_usize()];
                if groups.is_empty() {
                    continue;
                }
                let line = lines.around(start, Reach::OneLine);
                for group in groups {
                    if grouped[*group].last() != Some(&line) {
                        grouped[*group].push(line);
                    }
                }
            }
        }
        grouped
    }

    /// Every position in a window at which a name of a secret begins, also within another: `_pass` and `password`.
    fn name_starts(&self, text: &str, (from, to): (usize, usize)) -> impl Iterator<Item = usize> {
        let (regex, window) = (self.rules[self.names].regex(), &text[..to]);
        let next = move |at: usize| regex.find_at(window, at).map(|name| name.start());
        std::iter::successors(next(from), move |at| next(window.ceil_char_boundary(at + 1)))
    }

    /// Tries the rules that begin with a name of a secret at every such name.
    fn find_named(
        &self,
        text: &str,
        windows: &[(usize, usize)],
        ends: &mut [usize],
        found: &mut Vec<(usize, Hit)>,
    ) {
        let any = self.any_named();
        let names = windows.iter().flat_map(|window| self.name_starts(text, *window));
        for at in names.filter(|at| any.is_match(&text[*at..])) {
            for rule in &self.named {
                if at >= ends[*rule]
                    && let Some(hit) = self.rules[*rule].hit_at(text, at)
                {
                    ends[*rule] = hit.to;
                    found.push((*rule, hit));
                }
            }
        }
    }
}

/// Whether the first letters of a token begin one: up to four also occur by chance within a file in base64, and two at the
/// end of a word, as in `this.`, unless a line was joined there.
fn begins_token(text: &[u8], start: usize, letters: usize, is_joined: bool) -> bool {
    let before = text[..start].iter().rev().take(LONG_RUN);
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric();
    let ends_word = !is_joined && letters <= 2 && before.clone().take_while(is_letter).count() >= WORD;
    let run = before.take_while(|byte| is_letter(byte) || b"+/-_".contains(byte)).count();
    letters > 4 || !ends_word && run < LONG_RUN
}

/// The lines in which the letters of rules are searched: some, and those around them that a match may reach.
fn searched_lines(lines: &mut Lines<'_>, near: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut searched = Vec::new();
    for (from, to) in near {
        let first = lines.around(*from, Reach::Lines).0;
        add_window(&mut searched, (first, lines.around(*to, Reach::Lines).1));
    }
    searched
}

/// The letters of rules, in small letters and without repetition.
#[derive(Default)]
struct Letters {
    all: Vec<String>,
    places: HashMap<String, usize>,
}

impl Letters {
    fn add(&mut self, letters: &str) -> usize {
        let folded = letters.to_ascii_lowercase();
        *self.places.entry(folded).or_insert_with_key(|folded| {
            self.all.push(folded.clone());
            self.all.len() - 1
        })
    }
}

/// Whether a range shares a byte or an end with one of some ranges, which are in order.
fn touches(ranges: &[(usize, usize)], (from, to): (usize, usize)) -> bool {
    let first = ranges.partition_point(|range| range.1 < from);
    ranges.get(first).is_some_and(|range| range.0 <= to)
}

/// Merges matches that overlap; the first rule names them.
fn merge(mut found: Vec<(usize, Hit)>) -> Vec<Hit> {
    found.sort_unstable_by_key(|(rule, hit)| (hit.from, *rule, std::cmp::Reverse(hit.to)));
    let mut merged: Vec<(usize, Hit)> = Vec::with_capacity(found.len());
    for (rule, hit) in found {
        match merged.last_mut() {
            Some((first, last)) if hit.from < last.to => {
                if rule < *first {
                    (*first, last.kind) = (rule, hit.kind);
                }
                last.to = last.to.max(hit.to);
            }
            _ => merged.push((rule, hit)),
        }
    }
    merged.into_iter().map(|(_, hit)| hit).collect()
}

impl CompiledRule {
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| compile(&self.pattern))
    }

    fn reach(&self) -> Reach {
        let pattern = if self.outline.is_empty() { &self.pattern } else { &self.outline };
        *self.reach.get_or_init(|| Reach::of_pattern(pattern))
    }

    /// Compiles the pattern that the rule tries first.
    fn compile_first(&self) {
        self.reach();
        if self.needs().is_none() {
            self.regex();
        }
    }

    /// Whether the rule may match in a window: the pattern with names need not compile for most texts.
    fn may_match(&self, window: &str) -> bool {
        self.needs().is_none_or(|needs| needs.is_match(window))
    }

    fn needs(&self) -> Option<&Regex> {
        let needs = self.needs_regex.get_or_init(|| {
            let before_name = self.outline.split_once(NAME_MARK).map(|(before, _)| before);
            let needs = if self.needs.is_empty() { before_name? } else { &self.needs };
            Regex::new(needs).ok()
        });
        needs.as_ref()
    }

    fn hit_at(&self, text: &str, at: usize) -> Option<Hit> {
        let at = text.is_char_boundary(at).then_some(at)?;
        let regex = self.regex();
        if !regex.is_match(&text[at..]) {
            return None;
        }
        self.hit(text, at, &regex.captures(&text[at..])?)
    }

    fn hits(&self, text: &str, (from, to): (usize, usize)) -> impl Iterator<Item = Hit> {
        let window = Some(&text[from..to]).filter(|window| self.may_match(window));
        let found = window.into_iter().flat_map(|window| self.regex().captures_iter(window));
        found.filter_map(move |found| self.hit(text, from, &found))
    }

    fn hit(&self, text: &str, base: usize, found: &regex::Captures<'_>) -> Option<Hit> {
        let secret = found.iter().skip(1).flatten().last().or_else(|| found.get(0))?;
        let (from, to) = (base + secret.start(), base + secret.end());
        let (from, to) =
            if matches!(self.proof, Proof::Named | Proof::Unquoted | Proof::Option | Proof::Loose) {
                trimmed(text, from, to)
            } else {
                (from, to)
            };
        let is_shape = self.is_anchored;
        let hit = Hit { from, to, kind: self.kind, is_shape };
        (from < to && is_proven(&text[from..to], self.proof, self.kind) && !is_in_placeholder(text, from))
            .then_some(hit)
    }
}

/// Excludes punctuation after a value, unless the value has its other half.
fn trimmed(text: &str, from: usize, to: usize) -> (usize, usize) {
    let mut end = to;
    while let Some(last) = text[from..end].chars().next_back() {
        let opener = match last {
            ')' => '(',
            '}' => '{',
            ']' => '[',
            ',' | ';' | '.' => '\0',
            _ => break,
        };
        let count = |char: char| text[from..end].matches(char).count();
        if opener != '\0' && count(opener) >= count(last) {
            break;
        }
        end -= last.len_utf8();
    }
    (from, end)
}

/// The letters with which every match of a pattern begins.
fn prefix_letters(pattern: &str) -> String {
    let mut letters = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        let plain = match char {
            '\\' => match chars.next() {
                Some(escaped) if !escaped.is_ascii_alphanumeric() => escaped,
                _ => break,
            },
            char if char.is_ascii_alphanumeric() || "-_/:=~!".contains(char) => char,
            _ => break,
        };
        if chars.peek().is_some_and(|next| "?*{".contains(*next)) {
            break;
        }
        letters.push(plain);
    }
    letters
}

/// Makes classes ASCII-only, which compile in a hundredth of the time: a letter of another script before a secret does not
/// extend its word, and readings of a text have no other blanks.
pub(super) fn ascii_pattern(pattern: &str) -> String {
    let mut ascii = String::with_capacity(2 * pattern.len());
    let mut chars = pattern.chars();
    let mut is_in_class = false;
    while let Some(char) = chars.next() {
        let escaped = if char == '\\' { chars.next() } else { None };
        is_in_class = if escaped.is_some() { is_in_class } else { char == '[' || is_in_class && char != ']' };
        match (escaped, is_in_class) {
            (Some('b'), false) => ascii.push_str(r"(?-u:\b)"),
            (Some('w'), true) => ascii.push_str("0-9A-Za-z_"),
            (Some('w'), false) => ascii.push_str("[0-9A-Za-z_]"),
            (Some('d'), true) => ascii.push_str("0-9"),
            (Some('d'), false) => ascii.push_str("[0-9]"),
            (Some('s'), true) => ascii.push_str(r"\t-\r "),
            (Some('s'), false) => ascii.push_str(r"[\t-\r ]"),
            (Some('S'), false) => ascii.push_str(r"[^\t-\r ]"),
            (Some(other), _) => ascii.extend([char, other]),
            (None, _) => ascii.push(char),
        }
    }
    ascii
}

fn compile(pattern: &str) -> Regex {
    let built = regex::RegexBuilder::new(pattern).size_limit(1 << 24).build();
    built.unwrap_or_else(|_| LazyLock::force(&MATCH_NOTHING).clone())
}

#[expect(clippy::unwrap_used, reason = "a pattern of one class, which compiles")]
static MATCH_NOTHING: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[^\s\S]").unwrap());

/// Whether a position is inside a placeholder, whose kind may be a name that rules search for.
fn is_in_placeholder(text: &str, at: usize) -> bool {
    let from = text.floor_char_boundary(at.saturating_sub(80));
    let Some(start) = text[from..at].rfind(PLACEHOLDER_START).map(|start| from + start) else { return false };
    placeholder_len(&text[start..]).is_some_and(|len| at < start + len)
}

fn is_proven(secret: &str, proof: Proof, kind: &str) -> bool {
    match proof {
        Proof::Shape => true,
        Proof::Random => is_random_token(secret),
        // A port and a path precede an `@` in addresses too.
        Proof::Named if kind == "url-password" => {
            let port = secret.split(['/', '?', '#']).next().unwrap_or_default();
            let is_port = port.len() < secret.len()
                && port.len() <= 5
                && port.bytes().all(|byte| byte.is_ascii_digit());
            !is_port && !is_placeholder(secret)
        }
        Proof::Named => !is_placeholder(secret),
        Proof::Unquoted => !is_placeholder(secret) && !is_expression(secret),
        Proof::Option => !is_placeholder(secret) && !is_word(secret),
        Proof::Loose => !is_placeholder(secret) && !is_ordinary(secret),
    }
}

#[cfg(test)]
impl CompiledRules {
    /// The matches of one rule.
    pub(super) fn hits_of(&self, rule: usize, text: &str) -> Vec<Hit> {
        let tried = &self.rules[rule];
        if self.named.contains(&rule) {
            return self.name_starts(text, (0, text.len())).filter_map(|at| tried.hit_at(text, at)).collect();
        }
        tried.hits(text, (0, text.len())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_needs_letters() {
        assert!(COMPILED.anchors.is_some());
        for (at, rule) in COMPILED.rules.iter().enumerate() {
            let built = regex::RegexBuilder::new(&rule.pattern).size_limit(1 << 24).build();
            assert!(built.is_ok(), "{}: {built:?}", rule.pattern);
            assert_eq!(rule.reach(), Reach::of_pattern(&rule.pattern), "{}", rule.pattern);
            assert!(
                COMPILED.named.contains(&at)
                    || COMPILED.groups.iter().flatten().any(|rule| *rule == at)
                    || COMPILED.tokens.iter().flatten().any(|(rule, _)| *rule == at),
                "{}",
                rule.pattern
            );
        }
        for rule in &COMPILED.named {
            let flags = COMPILED.rules[*rule].outline.split_once(NAME_MARK).map(|(flags, _)| flags);
            assert!(matches!(flags, Some("(?i)" | "(?im)")), "{flags:?}");
        }
        for token in tokens().filter(|token| token.letters.is_empty()) {
            assert!(prefix_letters(token.pattern).len() >= 2, "{}", token.pattern);
        }
    }

    #[test]
    fn a_placeholder_is_never_taken_for_a_secret() {
        for text in ["[redacted:authorization:1]%27%20x", "[redacted:cookie:2]a=b; c=defghijkl"] {
            assert_eq!(COMPILED.find_hits(text), [], "{text}");
        }
    }

    #[test]
    fn a_text_that_only_begins_like_a_placeholder_hides_no_secret() {
        let key = format!("AIza{}", "39kNwkjzBTOB23FJK9mryivFmyVPv6RID7u");
        for text in [
            format!("fn mai[redacted:\nI use {key} for it"),
            format!("[redacted:{key}]"),
            format!("[redacted:value:{key}]"),
            format!("[redacted:value {key}]"),
            format!("[redacted:value:1] then {key}"),
            format!("[redacted:value:1 {key}"),
        ] {
            assert!(!COMPILED.find_hits(&text).is_empty(), "{text}");
        }
        for value in ["[redacted:hunter2-Orange", "[redacted]hunter2-Orange"] {
            let text = format!("DB_PASSWORD={value}");
            assert!(!COMPILED.find_hits(&text).is_empty(), "{text}");
        }
        for value in ["[redacted]", "[redacted:value:12]", "[redacted by ci]", "[redacted:github-token]"] {
            let text = format!("DB_PASSWORD={value}");
            assert_eq!(COMPILED.find_hits(&text), [], "{text}");
        }
    }

    #[test]
    fn prose_code_and_token_counts_are_not_secrets() {
        for text in [
            "The token: see the documentation for what it means.",
            "password: string;",
            "const token = getToken();",
            "max_tokens=4096 totalTokens: 200000",
            "tokens: 128000",
            "apiKey: process.env.OPENAI_API_KEY",
            "api_key=${OPENAI_API_KEY}",
            "export GITHUB_TOKEN=$TOKEN",
            "\"password\": \"\"",
            "secret: true",
            "password is required",
            "the secret is simplicity",
            "https://user:${PASSWORD}@example.org/",
            "https://example.org/a:b@c",
            "Authorization: Bearer <token>",
            "a commit 3f786850e387550fdab836ed7e6dc881de23001b",
            "uuid 123e4567-e89b-12d3-a456-426614174000",
            "sk-fading-circle is a class",
            "12:30:45 and 1234567:8",
        ] {
            assert_eq!(COMPILED.find_hits(text), [], "{text}");
        }
    }
}
