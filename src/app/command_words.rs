//! A clawscope command line under construction: no value of a store can become an option.

use crate::text::shell;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandWords {
    name: &'static str,
    values: Vec<String>,
    options: Vec<(&'static str, Option<String>)>,
}

impl CommandWords {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, values: Vec::new(), options: Vec::new() }
    }

    pub(super) fn value(mut self, value: impl Into<String>) -> Self {
        self.values.push(value.into());
        self
    }

    pub(super) fn flag(mut self, name: &'static str) -> Self {
        self.options.push((name, None));
        self
    }

    pub(super) fn option(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.options.push((name, Some(value.into())));
        self
    }

    /// Returns the line for a shell. Values that begin with a dash follow `--`, after the options.
    pub(super) fn line(&self) -> String {
        let is_guarded = self.values.iter().any(|value| value.starts_with('-'));
        let values = self.values.iter().map(|value| shell::word(value));
        let options = self.options.iter().flat_map(|(name, value)| option_words(name, value.as_deref()));
        let mut words = vec!["clawscope".to_owned(), self.name.to_owned()];
        if is_guarded {
            words.extend(options);
            words.push("--".to_owned());
            words.extend(values);
        } else {
            words.extend(values);
            words.extend(options);
        }
        words.join(" ")
    }
}

/// A value that begins with a dash needs an equals sign to be none of the options.
fn option_words(name: &str, value: Option<&str>) -> Vec<String> {
    match value {
        None => vec![name.to_owned()],
        Some(value) if value.starts_with('-') => vec![shell::word(&format!("{name}={value}"))],
        Some(value) => vec![name.to_owned(), shell::word(value)],
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn split(words: &CommandWords) -> Vec<String> {
        shell_words::split(&words.line()).expect("a shell's words")
    }

    #[test]
    fn a_value_of_a_store_is_never_an_option() {
        for key in ["--help", "-x", "--store=/etc"] {
            let words = CommandWords::new("simulate").value(key).option("--leaf", key).flag("--gates");
            let leaf = format!("--leaf={key}");
            assert_eq!(split(&words), ["clawscope", "simulate", &leaf, "--gates", "--", key]);
        }
        for key in ["agent:main:main", "a b; rm -rf ~", "it's", "$(id)"] {
            let words = CommandWords::new("simulate").value(key).option("--leaf", key);
            assert_eq!(split(&words), ["clawscope", "simulate", key, "--leaf", key]);
        }
    }
}
