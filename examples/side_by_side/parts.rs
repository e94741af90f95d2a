//! Parts of the program, each timed by itself.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use clawscope::context::{bodies, build_context};
use clawscope::gateway::pruning::PruneSettings;
use clawscope::gateway::ruleset::Ruleset;
use clawscope::js;
use clawscope::plan::{Plan, PlanInput};
use clawscope::policy::message_list::MessageList;
use clawscope::policy::preflight::FixedPressure;
use clawscope::policy::prune::{Gate, PruneInput, prune};
use clawscope::policy::{Policy, PolicySet, PolicySettings};
use clawscope::replay::simulated_trace;
use clawscope::session::replay_inputs::ReplayInputs;
use clawscope::transcript::Leaf;
use clawscope::ui::highlight;
use clawscope::units::{Chars, Millis, Tokens};
use crossterm::event::KeyCode;

use crate::opened::{Screen, opened};

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn sorted(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    times
}

fn median(times: Vec<f64>) -> f64 {
    let times = sorted(times);
    times[times.len() / 2]
}

/// The pruner's preview over a context of this many messages, and the weight of each message: the same messages are
/// written to a file, for the real pruner to read.
pub(crate) fn preview(file: &Path, messages: usize, window: f64, out: &Path) -> Result<String> {
    let session = opened(file);
    let end = session.context.messages.get(messages - 1).expect("so many messages in the context").entry;
    let (index, tree) = (&session.index, &session.tree);
    let context = build_context(index, tree, &Leaf::Id(index.display_id(end))).expect("a context");
    let texts = bodies::read_messages(&session.source, index, &context)?;
    let texts: Vec<String> = texts.iter().map(js::stringify).collect();
    write!(File::create(out)?, "[{}]", texts.join(",\n"))?;
    let settings = PolicySettings {
        ruleset: Ruleset::V2026_3_2,
        enabled: PolicySet::of(&[Policy::Prune]),
        ..PolicySettings::pruning_only(PruneSettings::default())
    };
    let requested = PlanInput {
        index,
        context: &context,
        branch: None,
        features: None,
        remembered: None,
        settings: &settings,
        window: Tokens(window),
        guard_window: Tokens(window),
        gate: Gate::Open { idle_ms: Millis(1e9) },
        drops_thinking: false,
        is_responses_api: false,
        fixed_pressure: FixedPressure::default(),
    };
    let plan = Plan::new(&requested).expect("a plan");
    let list = MessageList::from_context(&context, None);
    let input = PruneInput {
        list: &list,
        words: &index.values,
        settings: &settings.prune,
        window: Tokens(window),
        needs_names: false,
    };
    let decision = nanoseconds(|| prune(&input).map(drop).expect("a decision"));
    let whole = nanoseconds(|| drop(Plan::new(&requested).expect("a plan")));
    let after = plan.fates().iter().map(|fate| fate.after.value().map_or(f64::NAN, Chars::get).to_string());
    let after = after.collect::<Vec<_>>().join(",");
    Ok(format!("{{\"ns\":{whole},\"decisionNs\":{decision},\"chars\":[{after}]}}"))
}

/// The median of many rounds.
fn nanoseconds(work: impl Fn()) -> f64 {
    let round = |_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64() * 1e9
    };
    median((0..400).map(round).collect())
}

/// Replays every call: reads the texts once, then computes again for each changed setting.
pub(crate) fn replay(file: &Path) -> Result<String> {
    let loaded = opened(file);
    let began = Instant::now();
    let inputs = ReplayInputs::read(&loaded, loaded.gateway_policies())?;
    let reading = ms(began);
    let began = Instant::now();
    let record = inputs.recorded_trace(&loaded);
    let recorded = ms(began);
    let session = inputs.replay_session(&loaded);
    let mut settings = loaded.replay_settings(loaded.configured_settings.clone(), true);
    settings.policies.enabled = loaded.gateway_policies();
    let mut calls = 0;
    let times = (0..9)
        .map(|_| {
            let began = Instant::now();
            calls = simulated_trace(&session, &settings, &record, &|| true).expect("a trace").len();
            ms(began)
        })
        .collect();
    let simulated = median(times);
    Ok(format!(
        "{{\"calls\":{calls},\"readingMs\":{reading},\"recordedMs\":{recorded},\"simulatedMs\":{simulated}}}"
    ))
}

/// Messages opened one after another up the transcript: from the key to cells.
pub(crate) fn bodies(file: &Path) -> String {
    highlight::load();
    let mut screen = Screen::of(file);
    let times = (0..1_000).map(|_| {
        let began = Instant::now();
        screen.press(KeyCode::Enter);
        screen.draw();
        let time = ms(began);
        screen.press(KeyCode::Esc);
        screen.keys("k");
        time
    });
    let times = sorted(times.collect());
    format!("{{\"medianMs\":{},\"p99Ms\":{},\"mostMs\":{}}}", times[500], times[990], times[999])
}

/// Keys that move the cursor, each with its frame.
pub(crate) fn frames(file: &Path) -> String {
    let mut screen = Screen::of(file);
    let times = (0..201).map(|at| {
        let began = Instant::now();
        screen.keys(if at % 2 == 0 { "k" } else { "j" });
        screen.draw();
        ms(began)
    });
    format!("{{\"medianMs\":{}}}", median(times.collect()))
}
