//! A context to a plan, and a grid of them.

use clawscope::gateway::pruning::PruneSettings;
use clawscope::policy::prune::Gate;
use clawscope::policy::{Policy, PolicySet, PolicySettings};
use clawscope::report::sweep::{SweepSpec, default_axes, sweep};
use clawscope::report::timeline::RecordedSession;
use clawscope::session::LoadedSession;
use clawscope::units::{Millis, Tokens};
use divan::Bencher;

use crate::{WHOLE, opened, whole};

/// MB of transcripts whose messages are all in the context: the cost grows linearly with them.
const CONTEXTS: [u64; 2] = if WHOLE { [5, 50] } else { [1, 2] };

fn settings(session: &LoadedSession, policies: PolicySet) -> PolicySettings {
    PolicySettings {
        enabled: policies,
        ..PolicySettings::built_in(session.ruleset.id, session.window.tokens)
    }
}

/// Plans with the pruner only, as each step of a slider does.
#[divan::bench(args = CONTEXTS)]
fn preview_of_pruning_at_mb(bencher: Bencher<'_, '_>, megabytes: u64) {
    let session = opened::opened(&whole(megabytes));
    let settings = PolicySettings::pruning_only(PruneSettings::default());
    bencher.bench_local(|| session.plan(&settings, Gate::Open { idle_ms: Millis(1e9) }).unwrap());
}

/// Plans with every policy, one after another over one list.
#[divan::bench(args = CONTEXTS, sample_count = 30)]
fn preview_of_every_step_at_mb(bencher: Bencher<'_, '_>, megabytes: u64) {
    let session = opened::opened(&whole(megabytes)).load_details().unwrap();
    let settings = settings(&session, PolicySet::of(&Policy::ALL));
    bencher.bench_local(|| session.plan(&settings, Gate::Open { idle_ms: Millis(1e9) }).unwrap());
}

/// The texts that policies need beyond sizes, read once for a session.
#[divan::bench(sample_count = 5)]
fn reading_texts_for_every_step(bencher: Bencher<'_, '_>) {
    let session = opened::opened(&whole(CONTEXTS[0]));
    bencher.with_inputs(|| session.clone()).bench_values(|session| session.load_details().unwrap());
}

/// The grid of the default axes.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn a_grid_of_replays(bencher: Bencher<'_, '_>) {
    let session = opened::opened(&whole(CONTEXTS[0]));
    let steps = session.gateway_policies();
    let recording =
        RecordedSession::read(std::sync::Arc::new(session), steps, None, &|| true).unwrap().unwrap();
    let axes = default_axes(&recording, &[], steps, &|| true).unwrap();
    bencher.bench_local(|| {
        let requested =
            SweepSpec { axes: axes.clone(), base: Vec::new(), policies: steps, headroom: Tokens::ZERO };
        sweep(&recording, requested, &|| true, &|_, _| {}).unwrap().unwrap().cells.len()
    });
}
