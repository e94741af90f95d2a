//! Performs effects: those on sessions in background jobs, those on the terminal and its surroundings here.

use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::app::effect::{Effect, ProgramRun};
use crate::app::event::Event;
use crate::commit::SystemClock;
use crate::config::{AlertsConfig, remember_first_run};
use crate::format::set_display_zone;
use crate::gateway::config::local_time_zone;
use crate::runtime::clipboard::{self, MAX_TERMINAL_BYTES};
use crate::runtime::custom_command;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::exporting::save_in;
use crate::runtime::jobs::{JobHandle, JobKind, JobMessage};
use crate::runtime::perform::{Inputs, Listener, perform};
use crate::runtime::terminal::TerminalLoan;
use crate::session::fullness_alert::FullnessAlert;
use crate::text;
use crate::text::shell::pasteable;
use crate::ui::highlight;

/// The order of a job among those of its kind.
#[derive(Debug, Clone, Copy)]
enum JobOrder {
    /// The newest request wins.
    Newest,
    /// The running job finishes first.
    AfterCurrent,
    /// Every request is performed, in order.
    Each,
}

/// Performs an effect in a job.
fn run_job(effect: Effect, inputs: &Inputs, job: &JobHandle) {
    let shows_message = matches!(effect, Effect::ReadMessage { .. });
    let listener = Listener { is_wanted: &|| job.is_current(), send: &|event| job.send_event(event) };
    perform(effect, inputs, &listener);
    // The message shows before its syntax colours are loaded.
    if shows_message && highlight::load() {
        job.send_event(Event::Timer);
    }
}

impl EventLoop {
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::ListSessions { demo } => self.list(demo),
            Effect::RefreshListing { paths } => self.relist_queue.enqueue(paths),
            Effect::UseRuleset(ruleset) => self.store_loader.set_ruleset(ruleset),
            Effect::OpenSession { .. } => {
                self.jobs.cancel(JobKind::Refresh);
                self.run_in_background(JobKind::Open, JobOrder::Newest, effect);
            }
            Effect::RefreshSession { .. } => {
                self.run_in_background(JobKind::Refresh, JobOrder::AfterCurrent, effect);
            }
            Effect::LoadSessionAtCall { .. } => {
                self.run_in_background(JobKind::OpenAtCall, JobOrder::Newest, effect);
            }
            Effect::ReadExcerpts { session, entries } => {
                self.excerpt_queue.enqueue(&mut self.jobs, session, entries);
            }
            Effect::ReadMessage { .. } => self.run_in_background(JobKind::Message, JobOrder::Newest, effect),
            Effect::LoadDetails { .. } => self.run_in_background(JobKind::Details, JobOrder::Newest, effect),
            Effect::PredictSummaryCalls { .. } => {
                self.run_in_background(JobKind::SummaryCalls, JobOrder::Newest, effect);
            }
            Effect::ReadBlocks { .. } => self.run_in_background(JobKind::Blocks, JobOrder::Newest, effect),
            Effect::Search { .. } => self.run_in_background(JobKind::Search, JobOrder::Newest, effect),
            Effect::SearchStore { .. } => {
                self.run_in_background(JobKind::SearchStore, JobOrder::Newest, effect);
            }
            Effect::StopStoreSearch => self.jobs.cancel(JobKind::SearchStore),
            Effect::FindProblems { .. } => {
                self.run_in_background(JobKind::Problems, JobOrder::Newest, effect);
            }
            Effect::StopProblems => self.jobs.cancel(JobKind::Problems),
            // A steadily growing session would otherwise never get any.
            Effect::ComputeEstimates { .. } => {
                self.run_in_background(JobKind::Estimates, JobOrder::AfterCurrent, effect);
            }
            Effect::RememberIntroduction => {
                // Without it the next start introduces the program again, which is no failure.
                if let Err(error) = remember_first_run(&self.env) {
                    tracing::warn!(%error, "cannot remember the introduction");
                }
            }
            Effect::StopEstimates => self.jobs.cancel(JobKind::Estimates),
            Effect::ReadRecovery { .. } => {
                self.run_in_background(JobKind::Recovery, JobOrder::Newest, effect);
            }
            Effect::Summarise { .. } => {
                self.stop_summary();
                self.run_in_background(JobKind::Summary, JobOrder::Newest, effect);
            }
            Effect::StopSummary => self.stop_summary(),
            Effect::Explain { .. } => self.run_in_background(JobKind::Explain, JobOrder::Newest, effect),
            Effect::ReadCommits { .. } => self.run_in_background(JobKind::Commits, JobOrder::Newest, effect),
            Effect::ReadRecord { .. } => self.run_in_background(JobKind::Record, JobOrder::Newest, effect),
            Effect::CompareBranches { .. } => {
                self.run_in_background(JobKind::Branches, JobOrder::Newest, effect);
            }
            Effect::ReadRecording { .. } => {
                self.run_in_background(JobKind::Recording, JobOrder::AfterCurrent, effect);
            }
            Effect::Replay { .. } => self.run_in_background(JobKind::Replay, JobOrder::AfterCurrent, effect),
            Effect::FindRegret { .. } => {
                self.run_in_background(JobKind::Regret, JobOrder::AfterCurrent, effect);
            }
            Effect::Sweep { .. } => self.run_in_background(JobKind::Sweep, JobOrder::Newest, effect),
            Effect::StopSweep => self.jobs.cancel(JobKind::Sweep),
            Effect::PreviewWrite(_) => {
                self.run_in_background(JobKind::PrepareWrite, JobOrder::Newest, effect);
            }
            Effect::RepairCommit { .. } | Effect::Write { .. } => {
                self.run_in_background(JobKind::Write, JobOrder::Each, effect);
            }
            Effect::ReadPresets | Effect::SavePreset(_) | Effect::DeletePreset(_) => {
                self.run_in_background(JobKind::External, JobOrder::Each, effect);
            }
            Effect::Copy { text, label } => self.copy(&text, label),
            Effect::ShowInPager(text) => self.loan = Some(TerminalLoan::Page(text)),
            Effect::RunCommand { run, takes_terminal: true } => self.loan = Some(TerminalLoan::Program(run)),
            Effect::RunCommand { run, .. } => self.run_command(run),
            Effect::SaveFile { name, text } => self.save(name, text),
            Effect::Export { format, session, plan, summary } => self.export(format, session, plan, summary),
            Effect::SaveScreen { session } => self.save_screen(session),
            Effect::Alert(alert) => self.raise_alert(&alert),
            Effect::CaptureMouse(on) => self.set_mouse(on),
            Effect::ShowUtc(utc) => self.show_times(utc),
            Effect::SetTimer(at) => drop(self.timers.insert(at.whole())),
            Effect::DropStale { epoch } => self.excerpt_queue.drop_older(epoch),
            Effect::Quit => self.should_quit = true,
        }
    }

    fn run_in_background(&mut self, kind: JobKind, order: JobOrder, effect: Effect) {
        let is_read = matches!(effect, Effect::OpenSession { .. } | Effect::RefreshSession { .. });
        let inputs = Inputs {
            store: self.store_loader.store.clone(),
            epoch: is_read.then(|| self.store_loader.next_epoch()),
            now_ms: self.clock.now_ms(),
            clock: Box::new(SystemClock),
            env: self.env.clone(),
            summarizer: self.summarizer.clone(),
            cancel: self.summary_cancel.clone(),
        };
        let work = move |job: &JobHandle| {
            let began = Instant::now();
            run_job(effect, &inputs, job);
            tracing::info!(?kind, ms = began.elapsed().as_millis(), "effect performed");
        };
        match order {
            JobOrder::Newest => self.jobs.start(kind, work),
            JobOrder::AfterCurrent => self.jobs.start_after_current(kind, work),
            JobOrder::Each => self.jobs.enqueue(kind, work),
        }
    }

    pub(super) fn list(&mut self, demo: bool) {
        let lister = self.store_loader.list_job(demo);
        self.jobs.start_after_current(JobKind::List, move |ticket| {
            let (began_ms, reported) = lister();
            match reported {
                Ok((listed, place)) => {
                    ticket.send_message(JobMessage::Listed(Box::new(listed), place, began_ms));
                }
                Err(refusal) => ticket.send_event(Event::ListFailed(refusal.to_string())),
            }
        });
    }

    fn copy(&mut self, text: &str, what: &'static str) {
        let text = pasteable(text).into_owned();
        if text.len() <= MAX_TERMINAL_BYTES
            && let Err(error) = self.screen.copy_to_clipboard(&text)
        {
            self.dispatch(Event::Failure(format!("The terminal refused the text: {error}.")));
            return;
        }
        let (env, folder) = (self.env.clone(), self.copy_folder.clone());
        self.jobs.enqueue(JobKind::External, move |ticket| {
            ticket.send_event(match clipboard::copy(&text, what, &env, &folder) {
                Ok(message) => Event::Notice(message),
                Err(error) => Event::Failure(error.to_string()),
            });
        });
    }

    /// Runs a program in the background; several may run at once, and they outlive clawscope.
    fn run_command(&mut self, run: ProgramRun) {
        let folder = self.env.cwd.clone();
        self.jobs.enqueue(JobKind::External, move |ticket| {
            let ticket = ticket.clone();
            std::thread::spawn(move || {
                ticket
                    .send_event(custom_command::outcome_event(&run.name, custom_command::run(&run, &folder)));
            });
        });
    }

    fn save(&mut self, name: String, text: String) {
        let folder = self.env.cwd.clone();
        self.jobs.enqueue(JobKind::External, move |ticket| {
            ticket.send_event(save_in(&folder, &name, &text, ""));
        });
    }

    pub(super) fn show_times(&self, utc: bool) {
        set_display_zone((!utc).then(|| local_time_zone(&self.env)));
    }

    fn raise_alert(&mut self, alert: &FullnessAlert) {
        // If the terminal is closed, the next frame reports it.
        drop(self.screen.print_codes(&terminal_codes(&self.alerts, alert)));
        if let Err(error) = start_program(&self.alerts, alert) {
            self.dispatch(Event::Failure(error.to_string()));
        }
    }

    fn set_mouse(&mut self, on: bool) {
        if let Err(error) = self.screen.set_mouse(on) {
            self.dispatch(Event::Failure(format!("The terminal refused mouse capture: {error}.")));
        }
    }
}

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
