//! The allow and deny lists of `contextPruning.tools`, which select the tools whose results may be pruned
//! (pruning 3.5).
//!
//! For example, `{"allow": ["web_*"], "deny": ["web_fetch"]}` prunes `web_search` and never `web_fetch`.

use crate::js::{self, JsString};

/// The compiled lists. Deny wins; an empty allow list allows everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolFilter {
    allow: Vec<Pattern>,
    deny: Vec<Pattern>,
}

/// An element of a list after normalising.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// A lone `*`: every name, even one with line breaks.
    Any,
    /// A name without `*`.
    Name(JsString),
    /// The texts between the stars; at least two, possibly empty.
    Glob(Vec<JsString>),
}

const STAR: u16 = b'*' as u16;

impl ToolFilter {
    /// Compiles `tools`, which may be any value; without lists it filters nothing.
    pub fn compile(tools: Option<&js::Value>) -> Self {
        let list = |key| tools.and_then(|t| t.get(key)).and_then(js::Value::as_array).map_or(&[][..], |a| a);
        Self { allow: compile_list(list("allow")), deny: compile_list(list("deny")) }
    }

    pub fn allows_all(&self) -> bool {
        self.deny.is_empty() && self.allow.is_empty()
    }

    /// Whether results of this tool may be pruned. A missing or null name counts as the empty name.
    pub fn is_prunable(&self, name: Option<&js::Value>) -> bool {
        if self.allows_all() {
            return true;
        }
        let name = normalise(name);
        let hit = |patterns: &[Pattern]| patterns.iter().any(|p| p.matches(&name));
        !hit(&self.deny) && (self.allow.is_empty() || hit(&self.allow))
    }
}

impl Pattern {
    fn new(text: JsString) -> Self {
        if text.eq_str("*") {
            Self::Any
        } else if text.units().contains(&STAR) {
            Self::Glob(text.units().split(|&u| u == STAR).map(|part| JsString::from(part.to_vec())).collect())
        } else {
            Self::Name(text)
        }
    }

    fn matches(&self, name: &JsString) -> bool {
        match self {
            Self::Any => true,
            Self::Name(own) => own == name,
            Self::Glob(parts) => parts_match(parts, name.units()),
        }
    }
}

fn compile_list(list: &[js::Value]) -> Vec<Pattern> {
    list.iter().map(|item| normalise(Some(item))).filter(|text| !text.is_empty()).map(Pattern::new).collect()
}

/// Trimmed lower-case text; absent and null are empty (unlike 0.7, where they are words).
fn normalise(value: Option<&js::Value>) -> JsString {
    match value {
        None | Some(js::Value::Null) => JsString::default(),
        some => js::to_text(some).trim().to_lowercase(),
    }
}

/// The first part is a prefix, the last a suffix, and each other part matches at the leftmost place. Leftmost is
/// enough: a gap must not contain a line break, and a later match of the same part only makes gaps longer.
fn parts_match(parts: &[JsString], name: &[u16]) -> bool {
    let [first, middle @ .., last] = parts else { return false };
    let Some(mut rest) = name.strip_prefix(first.units()) else { return false };
    for part in middle {
        let Some(at) = find(rest, part.units()) else { return false };
        if rest[..at].iter().any(|&u| is_line_break(u)) {
            return false;
        }
        rest = &rest[at + part.len()..];
    }
    rest.strip_suffix(last.units()).is_some_and(|gap| !gap.iter().any(|&u| is_line_break(u)))
}

fn find(text: &[u16], part: &[u16]) -> Option<usize> {
    if part.is_empty() { Some(0) } else { text.windows(part.len()).position(|window| window == part) }
}

fn is_line_break(unit: u16) -> bool {
    matches!(unit, 0x0A | 0x0D | 0x2028 | 0x2029)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob_matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern.into()).matches(&name.into())
    }

    fn filter(json: &str) -> ToolFilter {
        ToolFilter::compile(Some(&js::parse(json).unwrap()))
    }

    #[track_caller]
    fn check(json: &str, name: &str, expected: bool) {
        assert_eq!(filter(json).is_prunable(Some(&js::Value::from(name))), expected, "{json} on {name:?}");
    }

    #[test]
    fn deny_wins_over_allow_and_an_empty_allow_list_allows_everything() {
        check("{}", "read", true);
        check(r#"{"allow":["read"]}"#, "read", true);
        check(r#"{"allow":["read"]}"#, "exec", false);
        check(r#"{"allow":["*"],"deny":["ex*"]}"#, "exec", false);
        check(r#"{"allow":["*"],"deny":["ex*"]}"#, "read", true);
    }

    #[test]
    fn names_and_elements_are_trimmed_and_lower_cased() {
        check(r#"{"allow":[" READ ","Mcp__*__QUERY"]}"#, "\u{feff}Read\n", true);
        check(r#"{"allow":[" READ ","Mcp__*__QUERY"]}"#, "mcp__db__query", true);
        check(r#"{"allow":["i\u0307x"]}"#, "İX", true);
    }

    #[test]
    fn blank_lists_deny_no_tool_and_allow_every_tool() {
        check(r#"{"deny":[""," "]}"#, "read", true);
        check(r#"{"allow":[""," ",null]}"#, "read", true);
    }

    #[test]
    fn a_missing_name_is_empty_and_equals_no_element() {
        assert!(filter("{}").is_prunable(None));
        assert!(filter(r#"{"allow":["*"]}"#).is_prunable(Some(&js::Value::Null)));
        assert!(!filter(r#"{"allow":["undefined","null"]}"#).is_prunable(None));
        assert!(!filter(r#"{"deny":["*"]}"#).is_prunable(None));
    }

    #[test]
    fn list_elements_are_converted_to_text() {
        check(r#"{"allow":[5,true,["a","b"],{}]}"#, "5", true);
        check(r#"{"allow":[5,true,["a","b"],{}]}"#, "true", true);
        check(r#"{"allow":[5,true,["a","b"],{}]}"#, "a,b", true);
        check(r#"{"allow":[5,true,["a","b"],{}]}"#, "[object object]", true);
        check(r#"{"allow":[5]}"#, "read", false);
    }

    #[test]
    fn values_that_are_not_lists_filter_no_tool() {
        for odd in [r#"{"allow":"read","deny":{"a":1}}"#, r#""deny""#, "7", "true", r#"["read"]"#] {
            check(odd, "exec", true);
        }
    }

    #[test]
    fn only_the_star_is_special() {
        for (pattern, name, expected) in [
            ("re.d", "read", false),
            ("re.d", "re.d", true),
            ("b[a]sh", "bash", false),
            ("w+", "ww", false),
            ("a\\*", "a\\b", true),
            ("?", "x", false),
            ("we**h", "wesearch", true),
            ("*e*", "read", true),
            ("*e*", "ls", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*ab*abc", "xabxababc", true),
            ("*aa*", "aaa", true),
        ] {
            assert_eq!(glob_matches(pattern, name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn a_star_inside_a_pattern_stops_at_line_breaks_but_a_lone_star_does_not() {
        for name in ["a\nb", "a\rb", "a\u{2028}b", "a\u{2029}b"] {
            assert!(!glob_matches("a*b", name), "{name:?}");
            assert!(!glob_matches("**", name), "{name:?}");
            assert!(glob_matches("*", name), "{name:?}");
        }
        assert!(glob_matches("a*b", "a\u{85}b"));
    }
}
