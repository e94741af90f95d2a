//! Extracts the workspace rules that end a safeguard summary: two sections of the workspace's `AGENTS.md` (compaction
//! 5.18). The caller reads the file.

use crate::js::{self, JsString};

/// Longest rules in a summary, in UTF-16 units (compaction 5.18).
pub const MAX_RULES_UNITS: usize = 2000;

/// Names of the sections, in output order for any order in the file.
const SECTIONS: [&str; 2] = ["session startup", "red lines"];

/// Writes the rules of an `AGENTS.md` as a section of a summary; empty without any.
pub fn rules_section(agents: &JsString) -> JsString {
    let Some(rules) = workspace_rules(agents, MAX_RULES_UNITS) else { return JsString::new() };
    let mut text = JsString::from("\n\n<workspace-critical-rules>\n");
    text.push(&rules);
    text.push_str("\n</workspace-critical-rules>");
    text
}

/// Returns the rules of an `AGENTS.md`, cut to `max` units.
pub fn workspace_rules(agents: &JsString, max: usize) -> Option<JsString> {
    let lines: Vec<&[u16]> = agents.units().split(|unit| *unit == LF).collect();
    let found: Vec<JsString> = SECTIONS.iter().filter_map(|name| find_section(&lines, name)).collect();
    let (first, rest) = found.split_first()?;
    let mut rules = first.clone();
    for section in rest {
        rules.push_str("\n\n");
        rules.push(section);
    }
    if rules.len() > max {
        rules = rules.slice(0, max);
        rules.push_str("\n...[truncated]...");
    }
    Some(rules)
}

const LF: u16 = b'\n' as u16;

/// Returns the first section of this name, trimmed: up to the next heading of its level or above. Text inside code
/// fences is included and never counts as a heading.
fn find_section(lines: &[&[u16]], name: &str) -> Option<JsString> {
    let (mut taken, mut level, mut in_code): (Vec<&[u16]>, Option<usize>, bool) = (Vec::new(), None, false);
    for line in lines {
        let fence = is_fence(line);
        in_code ^= fence;
        let heading = if fence || in_code { None } else { parse_heading(line) };
        match (level, heading) {
            (None, Some((own, text))) if text.eq_str(name) => level = Some(own),
            (None, _) => continue,
            (Some(open), Some((own, _))) if own <= open => break,
            (Some(_), _) => {}
        }
        taken.push(line);
    }
    level.map(|_| JsString::from(taken.join(&LF)).trim())
}

fn is_fence(line: &[u16]) -> bool {
    let rest = line.iter().skip_while(|unit| is_white_space(**unit));
    rest.take(3).eq([u16::from(b'`'); 3].iter())
}

/// Returns level (2 or 3) and lower-case text of a heading.
fn parse_heading(line: &[u16]) -> Option<(usize, JsString)> {
    let marks = line.iter().take_while(|unit| **unit == u16::from(b'#')).count();
    let rest = &line[marks..];
    let white = rest.iter().take_while(|unit| is_white_space(**unit)).count();
    if !(2..=3).contains(&marks) || white == 0 {
        return None;
    }
    let text = JsString::from(rest[white..].to_vec()).trim();
    // When only white space follows the marks, the second blank is the text.
    let blank = || rest[1..].iter().any(|unit| !is_line_end(*unit));
    let is_one = if text.is_empty() { blank() } else { !text.units().iter().any(|unit| is_line_end(*unit)) };
    is_one.then(|| (marks, text.to_lowercase()))
}

fn is_white_space(unit: u16) -> bool {
    char::from_u32(u32::from(unit)).is_some_and(js::is_trimmed)
}

/// Whether the `.` of a JavaScript regex does not match the unit.
fn is_line_end(unit: u16) -> bool {
    matches!(unit, 0x0A | 0x0D | 0x2028 | 0x2029)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        workspace_rules(&text.into(), MAX_RULES_UNITS).map(|rules| rules.to_string_lossy())
    }

    #[test]
    fn the_two_sections_have_a_fixed_order_and_end_at_the_next_heading_of_their_level() {
        let text = "# A\n## Red Lines\nnever\n#### deep\n# top\n### sub\nstill\n## Other\nno\n\
                    ### session STARTUP  \nread\n### next\n";
        let expected = "### session STARTUP  \nread\n\n## Red Lines\nnever\n#### deep\n# top\n### sub\nstill";
        assert_eq!(found(text).as_deref(), Some(expected));
    }

    #[test]
    fn headings_in_code_are_ignored_but_code_in_a_section_is_copied() {
        assert_eq!(found("```\n## Red Lines\n```\nx"), None);
        let text = "## Red Lines\n  ```sh\n## Other\n```\nend";
        assert_eq!(found(text).as_deref(), Some(text));
    }

    #[test]
    fn similar_headings_do_not_match() {
        for text in [
            "## Red Lines:\nx",
            "### red lines ###\nx",
            "#### Red Lines\nx",
            "##Red Lines\nx",
            "\u{feff}## Red Lines\nx",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
        assert_eq!(found("## Red Lines\r\nx\r\n").as_deref(), Some("## Red Lines\r\nx"));
        assert_eq!(found("## Red Lines\nx\n##  \ny").as_deref(), Some("## Red Lines\nx"));
        assert_eq!(found("## Red Lines\nx\n## \ny").as_deref(), Some("## Red Lines\nx\n## \ny"));
    }

    #[test]
    fn only_the_first_of_a_name_counts_and_long_rules_are_cut() {
        assert_eq!(found("## Red Lines\na\n## Red Lines\nb").as_deref(), Some("## Red Lines\na"));
        let long = found(&format!("## Red Lines\n{}", "x".repeat(3000))).expect("found");
        assert_eq!(long.len(), MAX_RULES_UNITS + "\n...[truncated]...".len());
    }

    #[test]
    fn rules_of_exactly_the_limit_are_kept_whole() {
        let rules = |chars: usize| format!("## Red Lines\n{}", "x".repeat(chars - "## Red Lines\n".len()));
        assert_eq!(found(&rules(MAX_RULES_UNITS)), Some(rules(MAX_RULES_UNITS)));
        let cut = format!("{}\n...[truncated]...", rules(MAX_RULES_UNITS));
        assert_eq!(found(&rules(MAX_RULES_UNITS + 1)), Some(cut));
    }

    #[test]
    fn the_section_is_wrapped_or_absent() {
        let section = |text: &str| rules_section(&text.into()).to_string_lossy();
        assert_eq!(section("nothing"), "");
        let expected = "\n\n<workspace-critical-rules>\n## Red Lines\nx\n</workspace-critical-rules>";
        assert_eq!(section("## Red Lines\nx"), expected);
    }
}
