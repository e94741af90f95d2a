//! The document of `doctor`.

use super::diagnostics::{AgentModel, DoctorReport};
use super::doctor_json::describe_database;
use super::environment::Workspace;
use super::pi_settings::ReportedSetting;
use super::repair::{self, Repair};
use crate::diagnostic::Severity;
use crate::doc::{Align, Cell, Doc, Table, Tone};
use crate::format::{format_count, format_duration, format_number, format_size};
use crate::gateway::registry::Provenance;
use crate::gateway::reset::ResetMode;
use crate::gateway::window::WindowSource;
use crate::js::Value;
use crate::policy::settings::find_setting;
use crate::redact::masked;
use crate::session::Mark;
use crate::session::lifecycle::Lifecycle;
use crate::units::{Bytes, Millis};

/// Indents the lines below a named one.
const INDENT: &str = "           ";

impl DoctorReport {
    pub(super) fn doc(&self, workspace: &Workspace, repairs: Option<&[Repair]>) -> Doc {
        let chosen = &workspace.store().ruleset;
        // The store's ruleset applies nowhere if every transcript names another one.
        let of_all = match self.ruleset_counts.as_slice() {
            [(own, _)] if *own != chosen.id => Some(*own),
            _ => None,
        };
        let name = of_all.unwrap_or(chosen.id).display_name();
        let mut doc = Doc::new(format!("{} · {name}", workspace.listed.name));
        self.add_rules(workspace, of_all.is_none(), &mut doc);
        self.add_places(workspace, &mut doc);
        if let Some(repairs) = repairs {
            repair::write(repairs, &mut doc);
        }
        doc.gap();
        doc.table(self.agents_table());
        doc.gap();
        match &self.pi {
            Some(pi) => pi.write(&self.settings, &mut doc),
            None => self.add_settings(&mut doc),
        }
        self.add_lifecycles(workspace, &mut doc);
        self.add_locks(&mut doc);
        self.add_diagnostics(&mut doc);
        doc
    }

    /// Adds the store's ruleset, unless no transcript follows it, and the rulesets of transcripts that name their own.
    fn add_rules(&self, workspace: &Workspace, is_followed: bool, doc: &mut Doc) {
        let chosen = &workspace.store().ruleset;
        let mut head = "rules      ";
        if is_followed {
            let span = chosen.id.release_span();
            let release = chosen.release.as_ref().map(ToString::to_string).filter(|release| *release != span);
            let of = release.map(|release| format!(", for {release}")).unwrap_or_default();
            doc.say(Tone::Plain, &format!("{head}{span}{of} ({})", chosen.provenance_text()));
            head = INDENT;
        }
        if let Some(note) = &chosen.note {
            doc.say(Tone::Warning, &format!("{INDENT}{note}"));
        }
        for (ruleset, count) in self.ruleset_counts.iter().filter(|(own, _)| *own != chosen.id) {
            let read = format_count(*count, "transcript", "transcripts");
            let (id, all) = (ruleset.id(), self.transcripts);
            doc.say(Tone::Plain, &format!("{head}{id} for {read} of {all}, detected from their contents"));
        }
    }

    /// Adds the folder, the configuration, the databases and the sums of the transcripts.
    fn add_places(&self, workspace: &Workspace, doc: &mut Doc) {
        let store = workspace.store();
        let dir = store.state_dir.display();
        doc.say(Tone::Plain, &format!("state dir  {dir} ({})", self.state_dir_origin));
        let config = match (&store.config.path, &store.config.error) {
            (_, Some(error)) => error.to_string(),
            (Some(path), None) => path.display().to_string(),
            (None, None) if store.ruleset.id.is_pi() => "none: a folder of pi's own sessions".to_owned(),
            (None, None) => "none: the gateway uses its defaults".to_owned(),
        };
        let tone = if store.config.error.is_some() { Tone::Bad } else { Tone::Plain };
        doc.say(tone, &format!("config     {config}"));
        for applied in store.config.applied_defaults() {
            let line = format!("{INDENT}filled in by {}: {} ({})", applied.rule, applied.key, applied.reason);
            doc.say(Tone::Dim, &line);
        }
        for (at, holding) in store.databases.iter().enumerate() {
            let head = if at == 0 { "database   " } else { INDENT };
            doc.say(Tone::Plain, &format!("{head}{}", describe_database(holding)));
        }
        if workspace.listed.items.iter().any(|item| item.has(Mark::Imported) || item.has(Mark::NotImported)) {
            let words = "`clawscope doctor --migration` compares it with the old files";
            doc.say(Tone::Dim, &format!("{INDENT}{words}"));
        }
        let read = [
            format_count(self.transcripts, "transcript", "transcripts"),
            format_size(self.bytes),
            format_count(self.entries, "entry", "entries"),
            format_count(self.bad_lines, "bad line", "bad lines"),
        ];
        doc.say(Tone::Plain, &format!("read       {}", read.join(", ")));
    }

    fn agents_table(&self) -> Table {
        let columns = [
            ("agent", Align::Left),
            ("sessions", Align::Right),
            ("model", Align::Flexible),
            ("window", Align::Right),
            ("from", Align::Left),
            ("pruning", Align::Left),
        ];
        // pi prunes for no model, so its table has no such column.
        let shown = if self.pi.is_some() { columns.len() - 1 } else { columns.len() };
        let mut table = Table::new(&columns[..shown]);
        for agent in &self.agents {
            let AgentModel { provider, id, window, window_provenance: window_from, is_prunable: eligible } =
                &agent.model;
            let known = !id.is_empty();
            let mut cells: Vec<Cell> = vec![
                agent.id.as_str().into(),
                format_number(agent.sessions).into(),
                if known { format!("{provider}/{}", masked(id)) } else { "each session's own".to_owned() }
                    .into(),
                if known { format_number(window.tokens.whole()) } else { "-".to_owned() }.into(),
                Cell::new(
                    &if known { describe_window_origin(window.source, window_from) } else { "-".to_owned() },
                    Tone::Dim,
                ),
                if *eligible { "eligible" } else { "not eligible" }.into(),
            ];
            cells.truncate(shown);
            table.push(cells);
        }
        table
    }

    fn add_settings(&self, doc: &mut Doc) {
        let table = |name, rows: &[ReportedSetting]| ReportedSetting::table(name, Align::Right, rows.iter());
        doc.say(Tone::Strong, "pruning");
        doc.table(table("contextPruning", &self.pruning));
        doc.gap();
        doc.say(Tone::Strong, "compaction");
        doc.table(table("compaction", &self.compaction_settings));
        let compaction = &self.compaction;
        let line = format!(
            "{} · mode {} · reserve {} tokens · keeps the last {}",
            if compaction.enabled { "on" } else { "off" },
            self.mode.as_str(),
            format_number(compaction.reserve_tokens.whole()),
            format_number(compaction.keep_recent_tokens.whole()),
        );
        doc.say(Tone::Plain, &line);
        if let Some(words) = &self.raised_reserve {
            doc.say(Tone::Dim, words);
        }
        doc.gap();
        doc.say(Tone::Strong, "memory flush");
        let is_above = |row: &&ReportedSetting| self.compaction_settings.iter().any(|own| own.key == row.key);
        let flush = self.memory_flush.iter().filter(|row| !is_above(row));
        doc.table(ReportedSetting::table("compaction", Align::Right, flush));
        doc.gap();
        self.add_other_settings(doc);
    }

    /// Adds the settings that are set, and all that `--set` accepts; the JSON also has the ones at their default.
    fn add_other_settings(&self, doc: &mut Doc) {
        // Keys that `--set` accepts are listed at their default too.
        let is_settable = |row: &ReportedSetting| {
            let key = row.key.strip_prefix("agents.defaults.");
            key.and_then(find_setting).is_some_and(|setting| setting.policy.is_none())
                && row.value != Value::Null
        };
        let shown = self.settings.iter().filter(|row| !row.is_default || is_settable(row));
        let table = ReportedSetting::table("setting", Align::Flexible, shown);
        if table.is_empty() {
            return;
        }
        doc.say(Tone::Strong, "other settings");
        doc.table(table);
        let default = self.settings.iter().filter(|row| row.is_default).count();
        let default = format_number(default as u64);
        doc.say(Tone::Dim, &format!("{default} more at their default (--json lists them)"));
        doc.gap();
    }

    fn add_lifecycles(&self, workspace: &Workspace, doc: &mut Doc) {
        let Some((_, first)) = self.lifecycles.first() else { return };
        let mut table =
            Table::new(&[("session", Align::Left), ("rule", Align::Left), ("next reset", Align::Left)]);
        for (key, lifecycle) in &self.lifecycles {
            let policy = &lifecycle.policy;
            let idle_ms = policy.idle_minutes.as_ref().map(|(minutes, _)| Millis(minutes * 60_000.0));
            let idle = idle_ms.map(|idle| format!("idle {}", format_duration(idle)));
            let daily = (policy.mode.0 == ResetMode::Daily).then(|| format!("daily {}:00", policy.at_hour.0));
            let how: Vec<String> = daily.into_iter().chain(idle).collect();
            let tone = if lifecycle.is_due(workspace.now_ms) { Tone::Warning } else { Tone::Plain };
            table.push(vec![
                key.as_str().into(),
                Cell::new(&how.join(" or "), Tone::Dim),
                Cell::new(&lifecycle.describe_next_reset(workspace.now_ms), tone),
            ]);
        }
        doc.table(table);
        let is_due = |lifecycle: &Lifecycle| lifecycle.is_due(workspace.now_ms);
        if self.lifecycles.iter().any(|(_, lifecycle)| is_due(lifecycle)) {
            doc.say(Tone::Dim, "due: the next message resets the session");
        }
        let is_idle =
            |lifecycle: &Lifecycle| lifecycle.next_reset.is_some_and(|next| next.mode == ResetMode::Idle);
        if self.lifecycles.iter().any(|(_, lifecycle)| !is_due(lifecycle) && is_idle(lifecycle)) {
            doc.say(Tone::Dim, "idle: a message before that time moves it");
        }
        let effect = first.reset_effect;
        doc.say(Tone::Dim, &format!("a reset leaves {effect}; hours are in this machine's time zone"));
        doc.gap();
    }

    fn add_locks(&self, doc: &mut Doc) {
        if self.locks.is_empty() {
            doc.say(Tone::Dim, "no locks");
        }
        for lock in &self.locks {
            let who = lock.pid.map(|pid| format!(" by process {pid}")).unwrap_or_default();
            let (state, path, reason) = (lock.state, lock.path.display(), &lock.reason);
            doc.say(Tone::Warning, &format!("lock {state}{who}: {path} {reason}"));
        }
    }

    fn add_diagnostics(&self, doc: &mut Doc) {
        let counts = self.counts();
        let counts: Vec<String> = counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| match *name {
                "bytes" => format_size(Bytes(*count)),
                "badLines" => format!("unreadable lines {}", format_number(*count)),
                name => format!("{name} {}", format_number(*count)),
            })
            .collect();
        doc.say(Tone::Plain, &counts.join(" · "));
        for finding in &self.diagnostics {
            let tone = match finding.severity {
                Severity::Note => Tone::Dim,
                Severity::Warning => Tone::Warning,
                Severity::Error => Tone::Bad,
            };
            doc.say(tone, &finding.to_string());
        }
        // A note is no problem.
        if self.diagnostics.iter().any(|finding| finding.severity != Severity::Note) {
            return;
        }
        match self.damage_counts() {
            (0, 0) => doc.say(Tone::Good, "no problems found"),
            (sessions, lines) => {
                let sessions = format_count(sessions, "session is damaged", "sessions are damaged");
                let lines = format_count(lines, "line", "lines");
                let words = format!("{sessions}: clawscope could not read {lines}; no other problems found");
                doc.say(Tone::Warning, &words);
            }
        }
    }
}

/// Describes where a window comes from: `models.providers in /srv/openclaw.json:75`.
fn describe_window_origin(source: WindowSource, from: &Provenance) -> String {
    match (source, from) {
        (WindowSource::ModelsConfig, from) => format!("models.providers in {from}"),
        (WindowSource::AgentContextTokens, from) => format!("contextTokens in {from}"),
        (WindowSource::Listed, Provenance::Rule { why, .. }) => format!("model list of {why}"),
        (WindowSource::Row, Provenance::Rule { why, .. }) => format!("contextTokens in the {why}"),
        (WindowSource::Model, from) => format!("model list in {from}"),
        (source, _) => source.label().to_owned(),
    }
}
