//! Everything `doctor` tells of a store, gathered from the store, its configuration and its transcripts.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::failure::Failure;
use super::pi_settings::PiFacts;
use super::scene::Scene;
use super::sessions::unread;
use crate::commit::{LockState, lock_state};
use crate::error::{Finding, Severity};
use crate::gateway::compaction::{
    CompactionMode, CompactionSettings, compaction_mode, gateway_compaction_under,
};
use crate::gateway::compaction_setting::compaction_settings;
use crate::gateway::effective::{Effective, effective};
use crate::gateway::eligible::{Route, eligible_under};
use crate::gateway::memory_flush::{FlushSettings, flush_settings_under};
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::PruneSetting;
use crate::gateway::ruleset::{Reserve, Ruleset};
use crate::gateway::state_dir::{StateDirSource, state_dir};
use crate::gateway::window::WindowInfo;
use crate::gateway::window_lookup::flush_window;
use crate::inspect::lifecycle::Lifecycle;
use crate::inspect::simulated::{InForce, in_force};
use crate::inspect::{Inspection, Mark, SessionItem};
use crate::redact::Redactor;
use crate::runtime::watch::{Ways, folders_of, polled_among};
use crate::store::model::{DEFAULT_MODEL, ModelRef};
use crate::store::pi_dirs::settings_at;
use crate::store::session::Session;

/// The model of an agent's next call, where no session says otherwise.
#[derive(Debug)]
pub(super) struct Model {
    pub provider: String,
    pub id: String,
    pub window: WindowInfo,
    /// Where that is told.
    pub window_from: Provenance,
    /// The pruner runs on it (pruning 3.6).
    pub eligible: bool,
}

/// An agent.
#[derive(Debug)]
pub(super) struct AgentFacts {
    pub id: String,
    pub configured: bool,
    pub on_disk: bool,
    pub sessions: u64,
    pub model: Model,
}

/// A lock that lies beside a transcript.
#[derive(Debug)]
pub(super) struct Lock {
    pub path: PathBuf,
    /// `held` or `stale`.
    pub state: &'static str,
    pub pid: Option<u32>,
    /// Why it is stale, or that its process was not seen.
    pub why: String,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Checkup {
    /// What named the state dir.
    pub why: String,
    pub agents: Vec<AgentFacts>,
    pub settings: Vec<InForce>,
    /// Every other setting that decides about sessions.
    pub others: Vec<Effective>,
    /// What begins each session anew, by its key.
    pub lifecycles: Vec<(String, Lifecycle)>,
    /// pi's own settings, in a place of pi's: those of a gateway are not read there.
    pub pi: Option<PiFacts>,
    pub compaction: CompactionSettings,
    pub mode: CompactionMode,
    /// As the version goes by them, for the model of the first agent.
    pub flush: FlushSettings,
    pub locks: Vec<Lock>,
    /// Of the store, its configuration and every transcript.
    pub findings: Vec<Finding>,
    /// Its keys, each with its value and origin.
    pub compaction_rows: Vec<PruneSetting>,
    /// Transcripts read.
    pub files: u64,
    pub bytes: u64,
    pub entries: u64,
    pub bad_lines: u64,
    /// Transcripts by the rules they are read by, in the order of [`Ruleset::ALL`].
    pub rulesets: Vec<(Ruleset, u64)>,
    marks: Vec<(&'static str, u64)>,
}

/// By which rules transcripts are read: a store of pi's may hold those of several versions.
fn rulesets(read: &[Read]) -> Vec<(Ruleset, u64)> {
    let opened = |ruleset: Ruleset| {
        let own = read.iter().filter_map(|(_, inspection)| inspection.as_ref().ok());
        own.filter(|inspection| inspection.ruleset.ruleset == ruleset).count() as u64
    };
    let counts = Ruleset::ALL.into_iter().map(|ruleset| (ruleset, opened(ruleset)));
    counts.filter(|(_, count)| *count > 0).collect()
}

type Read = (SessionItem, Result<Inspection, Failure>);

impl Checkup {
    /// Puts together what a store and its transcripts tell.
    pub(super) fn new(scene: &Scene, read: Vec<Read>) -> Self {
        let config = &scene.store().config;
        let pi = PiFacts::of(scene.store());
        let agents = agents(scene, pi.as_ref());
        let compaction = compaction(scene, &read);
        let rules = scene.store().ruleset.ruleset.rules();
        let model = agents.first().map_or("", |agent| agent.model.id.as_str());
        let flush = flush_settings_under(rules, config, flush_window(&config.js, model));
        let mut checkup = Self {
            compaction_rows: compaction_rows(scene, &agents, pi.as_ref(), compaction),
            why: why(scene),
            agents,
            settings: if pi.is_some() { Vec::new() } else { in_force(config, scene.store().ruleset.ruleset) },
            others: if pi.is_some() { Vec::new() } else { without_secrets(effective(config)) },
            lifecycles: lifecycles(scene),
            pi,
            compaction,
            mode: compaction_mode(rules, &config.js),
            flush,
            locks: locks(scene),
            findings: scene.listed.findings.iter().cloned().chain(polled(scene)).collect(),
            files: 0,
            bytes: 0,
            entries: 0,
            bad_lines: 0,
            rulesets: rulesets(&read),
            marks: marks(&read),
        };
        for (item, inspection) in read {
            checkup.add(&item, inspection);
        }
        checkup.findings.extend(checkup.pi.iter().flat_map(PiFacts::findings).collect::<Vec<_>>());
        checkup.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        checkup
    }

    fn add(&mut self, item: &SessionItem, read: Result<Inspection, Failure>) {
        match read {
            Ok(inspection) => {
                let index = &inspection.index;
                self.files += 1;
                self.bytes += index.end + index.pending;
                self.entries += index.entries.len() as u64;
                self.bad_lines += index.bad_lines;
                self.findings.extend(inspection.findings());
            }
            // Normal before the first answer (store E7); the list marks it.
            Err(_) if item.has(Mark::Missing) || item.path.is_none() => {}
            Err(failure) => self.findings.extend(unread(item, failure)),
        }
    }

    /// Sessions marked as damaged, and lines that could not be read.
    pub(super) fn damaged(&self) -> (u64, u64) {
        let marked = self.marks.iter().find(|(name, _)| *name == Mark::Damaged.word());
        (marked.map_or(0, |(_, count)| *count), self.bad_lines)
    }

    /// Sessions in all, and by mark.
    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        let sessions = self.agents.iter().map(|agent| agent.sessions).sum();
        let mut counts = vec![
            ("sessions", sessions),
            ("transcripts", self.files),
            ("bytes", self.bytes),
            ("entries", self.entries),
            ("badLines", self.bad_lines),
        ];
        counts.extend(&self.marks);
        counts
    }
}

fn why(scene: &Scene) -> String {
    if scene.listed.demo {
        return match scene.missing() {
            Some(path) => format!("the demo store, because there is nothing at {}", path.display()),
            None => "the demo store".to_owned(),
        };
    }
    if scene.named {
        return "named on the command line".to_owned();
    }
    match state_dir(&scene.env).why {
        StateDirSource::Variable(name) => format!("by {name}"),
        StateDirSource::Home => "the usual place".to_owned(),
        StateDirSource::Legacy => "the place of an older version; the usual one does not exist".to_owned(),
        StateDirSource::Given => "named on the command line".to_owned(),
    }
}

fn agents(scene: &Scene, pi: Option<&PiFacts>) -> Vec<AgentFacts> {
    let config = &scene.store().config;
    let rules = scene.store().ruleset.ruleset.rules();
    let facts = |agent: &crate::store::agents::Agent| {
        let ModelRef { provider, model } = match pi.map(PiFacts::model) {
            Some((provider, model)) => ModelRef { provider, model },
            None => ModelRef::parse(config.default_model(&agent.id).unwrap_or(DEFAULT_MODEL)),
        };
        let sessions = scene.listed.items.iter().filter(|item| item.agent == agent.id).count();
        let window = config.window(rules, &agent.id, &provider, &model);
        AgentFacts {
            id: agent.id.clone(),
            configured: agent.configured,
            on_disk: agent.on_disk,
            sessions: sessions as u64,
            model: Model {
                window_from: config.window_provenance(&window, &agent.id, &provider, &model),
                window,
                eligible: eligible_under(rules, &provider, &model, &Route::of(&config.js, &provider, &model)),
                provider,
                id: model,
            },
        }
    };
    scene.store().agents.iter().map(facts).collect()
}

/// As any session of the store has it: pi's come from its own settings file.
fn compaction(scene: &Scene, read: &[Read]) -> CompactionSettings {
    let any = read
        .iter()
        .find_map(|(_, read)| read.as_ref().ok())
        .map(|inspection| inspection.configured.compaction);
    let rules = scene.store().ruleset.ruleset.rules();
    let config = &scene.store().config.js;
    let pi = settings_at(&scene.store().shape, None).filter(|_| rules.reserve == Reserve::Runtime);
    if let Some(pi) = pi {
        return pi.compaction(Some(""));
    }
    any.unwrap_or_else(|| gateway_compaction_under(rules, config, CompactionSettings::default(), f64::NAN))
}

/// The keys of compaction for the window of the first agent's model.
fn compaction_rows(
    scene: &Scene,
    agents: &[AgentFacts],
    pi: Option<&PiFacts>,
    in_force: CompactionSettings,
) -> Vec<PruneSetting> {
    let ruleset = scene.store().ruleset.ruleset;
    let window = agents.first().map_or(f64::NAN, |agent| agent.model.window.tokens);
    let of_runtime = ruleset.rules().reserve == Reserve::Runtime;
    let runtime = if of_runtime { in_force } else { CompactionSettings::default() };
    let mut rows = compaction_settings(&scene.store().config, ruleset, runtime, window);
    for row in rows.iter_mut().filter(|_| pi.is_some()) {
        let Some(own) = pi.map(|pi| pi.settings.tokens(row.key, Some(""))) else { continue };
        (row.config, row.value, row.provenance) = (own.written, own.value.into(), own.provenance);
    }
    rows
}

fn locks(scene: &Scene) -> Vec<Lock> {
    let lock = |item: &SessionItem| {
        let path = item.path.as_deref()?;
        let (state, pid, why) = match lock_state(path, scene.now_ms as i64).ok()? {
            LockState::Free => return None,
            LockState::Held { pid, live, .. } => {
                ("held", pid, if live { String::new() } else { "its process cannot be seen".to_owned() })
            }
            LockState::Stale { reasons } => {
                let words: Vec<&str> = reasons.iter().map(|reason| reason.word()).collect();
                ("stale", None, format!("left behind ({}); the next writer takes it", words.join(", ")))
            }
        };
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        Some(Lock { path: name.into(), state, pid, why })
    };
    scene.listed.items.iter().filter_map(lock).collect()
}

/// Parameters of models may hold headers and keys: those are never shown.
fn without_secrets(mut rows: Vec<Effective>) -> Vec<Effective> {
    let mut redactor = Redactor::default();
    for row in &rows {
        redactor.learn_value(&row.value);
    }
    for row in &mut rows {
        row.value = redactor.value(&row.value);
    }
    rows
}

fn lifecycles(scene: &Scene) -> Vec<(String, Lifecycle)> {
    let of = |item: &SessionItem| {
        let own = |session: &&Session| session.key == item.key && session.path == item.path;
        let session = scene.store().sessions.iter().find(own)?;
        Some((item.key.0.clone(), Lifecycle::of(scene.store(), session)?))
    };
    scene.listed.items.iter().filter_map(of).collect()
}

/// Sessions by mark, every mark named.
fn marks(read: &[Read]) -> Vec<(&'static str, u64)> {
    let all = [
        Mark::Running,
        Mark::Overflow,
        Mark::Orphan,
        Mark::Reset,
        Mark::Deleted,
        Mark::Backup,
        Mark::Missing,
        Mark::Foreign,
        Mark::Symlink,
        Mark::ReadOnly,
        Mark::Damaged,
        Mark::Unfinished,
        Mark::Earlier,
        Mark::Archived,
        Mark::Cold,
        Mark::Imported,
        Mark::NotImported,
    ];
    let has = |(item, read): &Read, mark| {
        read.as_ref().map_or_else(|_| item.has(mark), |inspection| inspection.session.has(mark))
    };
    all.into_iter()
        .map(|mark| (mark.word(), read.iter().filter(|read| has(read, mark)).count() as u64))
        .collect()
}

/// Folders whose changes the system does not tell of: those who follow the store look at them.
fn polled(scene: &Scene) -> impl Iterator<Item = Finding> {
    let folders = if scene.listed.demo { BTreeSet::new() } else { folders_of(scene.store()) };
    polled_among(folders, Ways::of(&scene.env)).into_iter().map(|polled| {
        let what = format!("is looked at every second while it is followed: {}", polled.why);
        let next = "changes show later than elsewhere; run clawscope where the store lies, or raise the limit that is named";
        Finding::new(polled.folder, Severity::Note, what, next)
    })
}
