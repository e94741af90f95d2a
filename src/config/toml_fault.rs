//! A fault in a TOML file in one line, for the error that names the file.

/// Describes a fault with its line: `line 2, kind = "http": expected extractive or command`.
pub(super) fn describe_fault(text: &str, error: &toml::de::Error) -> String {
    let message = reword(error.message());
    let Some(span) = error.span() else { return message };
    let before = text.as_bytes().iter().take(span.start);
    let number = before.filter(|byte| **byte == b'\n').count() + 1;
    match text.lines().nth(number - 1).map(str::trim) {
        Some(line) if !line.is_empty() => format!("line {number}, {line}: {message}"),
        _ => format!("line {number}: {message}"),
    }
}

/// Rewords the parser's message for a person who knows the file and not TOML.
fn reword(message: &str) -> String {
    let Some((found, expected)) = message.split_once(", expected ") else { return message.to_owned() };
    if found.starts_with("string values must be quoted") {
        return "expected a text in quotes".to_owned();
    }
    let names = expected.strip_prefix("one of ").unwrap_or(expected).replace('`', "");
    let names = names.rsplit_once(", ").map_or(names.clone(), |(first, last)| format!("{first} or {last}"));
    if found.starts_with("unknown variant") {
        return format!("expected {names}");
    }
    match found.strip_prefix("unknown field `") {
        Some(field) => format!("unknown key {}; expected {names}", field.trim_end_matches('`')),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        _kind: Option<Kind>,
        _mouse: Option<bool>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Extractive,
        Command,
    }

    #[test]
    fn a_fault_has_its_line_and_what_was_expected() {
        for (text, expected) in [
            ("_kind = \"http\"\n", "line 1, _kind = \"http\": expected extractive or command"),
            ("_mouse = true\n_kind = llm\n", "line 2, _kind = llm: expected a text in quotes"),
            ("\n_mice = 1\n", "line 2, _mice = 1: unknown key _mice; expected _kind or _mouse"),
            ("_mouse = 5\n", "line 1, _mouse = 5: invalid type: integer `5`, expected a boolean"),
        ] {
            let error = toml::from_str::<File>(text).unwrap_err();
            assert_eq!(describe_fault(text, &error), expected, "{}", error.message());
        }
    }
}
