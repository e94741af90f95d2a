//! Programs that clawscope can use, if they are there.

use schemars::JsonSchema;
use serde::Serialize;

use crate::command::dataset::QUERY_PROGRAM;
use crate::command::output::Tone;
use crate::config::{Config, SummarizerKind};
use crate::gateway::env::Environment;
use crate::gateway::programs::find_program;
use crate::runtime::{clipboard_programs, pager_line};

/// A program and its use.
#[derive(Serialize, JsonSchema)]
pub(super) struct ComponentJson {
    /// The name of the program.
    pub(super) name: String,
    pub(super) purpose: String,
    /// The file that runs; null if it is not found.
    path: Option<String>,
}

impl ComponentJson {
    fn new(env: &Environment, name: &str, purpose: impl Into<String>) -> Self {
        let path = find_program(env, name).map(|path| path.display().to_string());
        Self { name: name.to_owned(), purpose: purpose.into(), path }
    }

    pub(super) fn state(&self) -> (&str, Tone) {
        self.path.as_deref().map_or(("not found", Tone::Dim), |path| (path, Tone::Plain))
    }
}

/// Finds the programs; none of them is run.
pub(super) fn find(env: &Environment, config: &Config) -> Vec<ComponentJson> {
    let component = |name: &str, purpose: &str| ComponentJson::new(env, name, purpose);
    let mut found = vec![component(QUERY_PROGRAM, "`export --query`")];
    match pager_line(env) {
        Some(line) => found.push(component(program_of(&line), "long output of commands")),
        None => found.push(component("less", "long output of commands, unless a variable turns it off")),
    }
    found.push(component(program_of(env.get("PAGER").unwrap_or("less")), "long texts on the screen"));
    let clipboard = clipboard_programs(env);
    found.extend(clipboard.iter().map(|name| component(name, "the clipboard, besides OSC 52")));
    if clipboard.is_empty() {
        let purpose = "the clipboard: without DISPLAY and WAYLAND_DISPLAY only OSC 52 copies";
        found.push(ComponentJson { name: "clipboard".to_owned(), purpose: purpose.to_owned(), path: None });
    }
    if config.summarizer.kind == SummarizerKind::Command
        && let Some(program) = config.summarizer.command.first()
    {
        found.push(component(program, "summaries, by your settings"));
    }
    if let Some(program) = config.alerts.command.first() {
        found.push(component(program, "alerts, by your settings"));
    }
    for command in &config.commands {
        if let Some(program) = command.program() {
            found.push(component(program, &format!("your command {:?}, key {}", command.name, command.key)));
        }
    }
    found
}

/// Returns the program of a shell command line, after variables that it sets.
fn program_of(line: &str) -> &str {
    line.split_whitespace().find(|word| !word.contains('=')).unwrap_or(line)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_their_first_word_and_listed_by_use() {
        let vars = [("PATH", "/bin:/usr/bin"), ("PAGER", "LESS=S sh -c more"), ("DISPLAY", ":0")];
        let env = Environment::new(vars, None, "/".into());
        let mut config = Config::default();
        config.alerts.command = vec!["/nonexistent/bell".to_owned()];
        let found = find(&env, &config);
        let of = |purpose: &str| {
            let found = found.iter().find(|component| component.purpose.contains(purpose)).unwrap();
            (found.name.as_str(), found.path.is_some())
        };
        assert_eq!(of("long output"), ("sh", true));
        assert_eq!(of("on the screen"), ("sh", true));
        assert_eq!(of("alerts"), ("/nonexistent/bell", false));
        assert_eq!(of("clipboard").0, if cfg!(target_os = "macos") { "pbcopy" } else { "xclip" });
        let bare = find(&Environment::new([("PATH", "/bin")], None, "/".into()), &Config::default());
        let clipboard = bare.iter().find(|component| component.purpose.contains("clipboard")).unwrap();
        assert!(clipboard.path.is_none());
    }
}
