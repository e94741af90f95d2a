//! Ids of agents, in the gateway's spelling.

use super::state_dir::is_plain_name;

/// Normalises an agent id as the gateway does (store D2): lower case, dashes for other characters, at most 64 of
/// them, `main` if nothing remains.
pub fn normalise_agent_id(id: &str) -> String {
    let id = id.trim();
    if is_plain_name(id) {
        return id.to_ascii_lowercase();
    }
    let mut out = String::new();
    for c in id.to_lowercase().chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-' {
            out.push(c);
        } else if !out.ends_with('\u{0}') {
            out.push('\u{0}');
        }
    }
    let dashed = out.replace('\u{0}', "-");
    let cut: String = dashed.trim_matches('-').chars().take(64).collect();
    if cut.is_empty() { "main".to_owned() } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_ids_are_normalised_as_the_gateway_does() {
        for (id, expected) in [
            ("", "main"),
            ("  ", "main"),
            ("Main", "main"),
            ("A b", "a-b"),
            ("--x--", "x"),
            ("a--b", "a--b"),
            ("ä ö!", "main"),
            ("a/../b", "a-b"),
            ("_x", "_x"),
            ("x.y", "x-y"),
        ] {
            assert_eq!(normalise_agent_id(id), expected, "{id:?}");
        }
        assert_eq!(normalise_agent_id(&"x".repeat(100)).len(), 64);
    }
}
