//! Checks that no value of a store is read as code by the program of a command.

use std::path::Path;

use super::error::CommandError;
use super::template::Template;

/// Programs that run the argument after an option such as `-c` as code.
const INTERPRETERS: [&str; 23] = [
    "ash",
    "bash",
    "bun",
    "busybox",
    "cmd",
    "csh",
    "dash",
    "deno",
    "fish",
    "ksh",
    "lua",
    "mksh",
    "node",
    "nu",
    "osascript",
    "perl",
    "php",
    "powershell",
    "pwsh",
    "ruby",
    "sh",
    "tcsh",
    "zsh",
];

/// Programs whose first argument besides options is code.
const CODE_FIRST: [&str; 6] = ["awk", "gawk", "gsed", "mawk", "nawk", "sed"];

/// Programs that join their arguments and hand them to a shell.
const JOINING: [&str; 6] = ["eval", "parallel", "script", "ssh", "tmux", "watch"];

/// The way a program reads the arguments after its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The next word that is not an option is code.
    Code,
    /// Code follows an option.
    Options,
    /// Every word is code.
    All,
}

/// Refuses a placeholder where a program reads code; a value may only be an argument of that code.
pub(super) fn check_code(words: &[Template]) -> Result<(), CommandError> {
    let mut running: Option<(&str, Reading)> = None;
    for word in words {
        let Some(text) = word.literal() else {
            if let Some((program, reading)) = running
                && (reading != Reading::Options || is_code_option(word.leading_text().trim_end_matches('=')))
                && let Some(placeholder) = word.placeholders().next()
            {
                return Err(CommandError::ReadAsCode { program: program.to_owned(), placeholder });
            }
            continue;
        };
        let is_option = text.starts_with('-') || text.starts_with('/');
        running = match running {
            Some((program, Reading::Options)) if is_code_option(text) => Some((program, Reading::Code)),
            // What follows the code are its arguments.
            Some((_, Reading::Code)) if !is_option => return Ok(()),
            Some(running) => Some(program_in(text).unwrap_or(running)),
            None => program_in(text),
        };
    }
    Ok(())
}

/// Returns a program that reads code by its name, without folder, version and extension.
fn program_in(word: &str) -> Option<(&str, Reading)> {
    let name = Path::new(word).file_stem()?.to_str()?;
    let plain = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    let reading = match plain {
        _ if INTERPRETERS.contains(&plain) || plain == "python" => Reading::Options,
        _ if CODE_FIRST.contains(&plain) => Reading::Code,
        _ if JOINING.contains(&plain) => Reading::All,
        _ => return None,
    };
    Some((name, reading))
}

/// Whether an interpreter's option is followed by code: `-c`, `-lc`, `-e`, `--eval`, `-Command`, `/c`.
fn is_code_option(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    let letters = option.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.len() <= 4);
    let is_short = letters.is_some_and(|rest| rest.ends_with(['c', 'e', 'r', 'p']));
    let long = [
        "--eval",
        "--execute",
        "--print",
        "--run",
        "--command",
        "--commands",
        "-command",
        "eval",
        "/c",
        "/k",
    ];
    is_short || long.contains(&option.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str]) -> Result<(), CommandError> {
        let words: Vec<_> = words.iter().map(|word| Template::parse(word).expect("a word")).collect();
        check_code(&words)
    }

    #[test]
    fn a_value_in_a_code_argument_is_refused() {
        for code in [
            &["sh", "-c", "cat {file}"][..],
            &["/bin/bash", "-lc", "{key}"],
            &["bash", "-c", "--", "{key}"],
            &["bash", "-o", "pipefail", "-c", "{key}"],
            &["env", "A=1", "zsh", "-ic", "{key}"],
            &["python3.12", "-c", "print('{key}')"],
            &["perl", "-e", "{key}"],
            &["perl", "-e{key}"],
            &["node", "--eval={key}"],
            &["deno", "eval", "{key}"],
            &["cmd.exe", "/C", "type {file}"],
            &["pwsh", "-Command", "cat {file}"],
            &["awk", "-F", "{key}"],
            &["sed", "s/{key}/x/", "f"],
            &["ssh", "host", "less", "{file}"],
            &["watch", "wc", "{file}"],
        ] {
            let error = check(code).expect_err(&code.join(" "));
            assert!(error.to_string().contains("$1"), "{error}");
        }
    }

    #[test]
    fn a_value_is_an_argument_of_code_and_of_any_other_program() {
        for arguments in [
            &["sh", "-c", "cat \"$1\"", "sh", "{file}"][..],
            &["python3", "tool.py", "{file}", "--key={key}"],
            &["grep", "-c", "{key}", "{file}"],
            &["sed", "-n", "1p", "{file}"],
            &["code", "-g", "{file}:{line}"],
        ] {
            assert_eq!(check(arguments), Ok(()), "{arguments:?}");
        }
    }
}
