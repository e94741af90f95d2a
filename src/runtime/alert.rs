//! Raises an alert outside the screen: the terminal's bell, a desktop notification, the person's own program.

use std::io;
use std::process::{Command, Stdio};

use crate::config::AlertsConfig;
use crate::session::fullness_alert::FullnessAlert;
use crate::text;

/// Columns of a notification; desktops cut longer ones.
const MAX_COLUMNS: usize = 200;

/// Returns the control codes that make a terminal ring and notify.
pub fn terminal_codes(config: &AlertsConfig, alert: &FullnessAlert) -> String {
    // The text is made visible first: a session key could end the sequence and start another.
    let words = text::truncate(&alert.message(), MAX_COLUMNS).0;
    let notification = if config.notify { format!("\x1b]9;{words}\x1b\\") } else { String::new() };
    notification + if config.bell { "\x07" } else { "" }
}

/// Starts the configured program, if any, without waiting for its end.
pub fn start_program(config: &AlertsConfig, alert: &FullnessAlert) -> io::Result<()> {
    let Some((program, arguments)) = config.command.split_first() else { return Ok(()) };
    let mut child = Command::new(program)
        .args(arguments)
        .arg(text::visible(&alert.message()).as_ref())
        .env("CLAWSCOPE_ALERT_SESSION", text::visible(&alert.key.0).as_ref())
        .env("CLAWSCOPE_ALERT_TOKENS", alert.tokens.to_string())
        .env("CLAWSCOPE_ALERT_WINDOW", alert.window.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| {
            let advice = "Check `command` under [alerts] in config.toml.";
            io::Error::new(error.kind(), format!("{program}: cannot start the program: {error}. {advice}"))
        })?;
    // An ended program stays in the process table until it is waited for.
    std::thread::spawn(move || child.wait());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionKey;
    use crate::units::Moment;

    fn alert(key: &str) -> FullnessAlert {
        FullnessAlert {
            key: SessionKey(key.to_owned()),
            tokens: 162_000,
            is_estimate: false,
            window: 200_000,
            level: 0.8,
            at_ms: Moment::ZERO,
        }
    }

    #[test]
    fn a_hostile_key_cannot_end_the_notification() {
        let config = AlertsConfig { notify: true, ..AlertsConfig::default() };
        let codes = terminal_codes(&config, &alert("a\x07\x1b]52;c;eA==\x1b\\b"));
        assert_eq!(codes.matches('\x1b').count(), 2, "{codes:?}");
        assert!(codes.ends_with("\x1b\\\x07") && codes.matches('\x07').count() == 1, "{codes:?}");
        let quiet = AlertsConfig { bell: false, notify: false, ..config };
        assert_eq!(terminal_codes(&quiet, &alert("main")), "");
    }

    #[cfg(unix)]
    #[test]
    fn the_alert_program_gets_the_sentence_and_a_missing_program_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        let script = format!("printf '%s|%s' \"$1\" \"$CLAWSCOPE_ALERT_SESSION\" > {}", file.display());
        let command = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
        let config = AlertsConfig { command, ..AlertsConfig::default() };
        start_program(&config, &alert("-rf\0")).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let text = loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if text.contains('|') || std::time::Instant::now() > deadline {
                break text;
            }
            std::thread::yield_now();
        };
        assert!(text.starts_with("81% full: -rf"), "{text}");
        let config = AlertsConfig { command: vec!["/nonexistent/x".to_owned()], ..config };
        assert!(start_program(&config, &alert("a")).unwrap_err().to_string().contains("[alerts]"));
    }
}
