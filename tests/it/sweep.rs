//! A sweep equals replaying every combination by itself, and its smallest change is that of an exhaustive search.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clawscope::js;
use clawscope::policy::{Policy, PolicySet};
use clawscope::replay::TraceTotals;
use clawscope::report::sweep::{Axis, AxisContext, Sweep, SweepSpec, default_axes, json, sweep};
use clawscope::report::timeline::RecordedSession;
use clawscope::session::LoadedSession;
use clawscope::session::replay_inputs::ReplayInputs;
use clawscope::session::setting_change::{SettingChange, parse_change};
use clawscope::session::simulated_settings::simulate_settings;
use proptest::prelude::*;

use crate::support::generate::{Options, transcript};
use crate::support::inspected::inspected;
use crate::support::session::Session;
use clawscope::units::Tokens;

fn all_steps() -> PolicySet {
    Policy::ALL.into_iter().fold(PolicySet::NONE, |steps, step| steps.with(step, true))
}

/// A short session whose provider takes this many tokens.
fn with_window(seed: u64, window: f64) -> (Session, RecordedSession) {
    let file = Session::new(&transcript(seed, &Options::default()));
    let session = inspected(&file.path);
    let mut inputs = ReplayInputs::read(&session, all_steps()).expect("reads").without_calibration();
    inputs.provider_window = Tokens(window);
    (
        file,
        RecordedSession::without_cache(Arc::new(session), inputs, &|| true)
            .expect("readable")
            .expect("wanted"),
    )
}

/// A short session whose provider takes as much as decides by the settings whether its calls fit: a share of the way from a
/// little less than the smallest peak of a grid to a little more than the largest one.
fn opened(seed: u64, share: f64) -> (Session, RecordedSession) {
    let (_session, unbounded) = with_window(seed, f64::INFINITY);
    let grid = swept(&unbounded, spec(&unbounded.session, 3, 0.0));
    let peaks = grid.cells.iter().map(clawscope::report::sweep::Cell::peak);
    let (least, most) =
        peaks.fold((Tokens(f64::MAX), Tokens::ZERO), |(a, b), peak| (a.min(peak), b.max(peak)));
    with_window(seed, (least - Tokens(5.0) + (most - least + Tokens(10.0)) * share).max(Tokens(1.0)).get())
}

/// Settings with an effect on short sessions; pruning is off, so that the current value of its keys is `as is`.
const AXES: [&str; 3] = [
    "contextPruning.minPrunableToolChars=0,50000",
    "contextPruning.keepLastAssistants=0..2:1",
    "clearToolUses.trigger=100,400,100000",
];
const HELD: [&str; 3] =
    ["clearToolUses.keep=1", "clearToolUses.clearAtLeast=0", "compaction.summaryTokens=20"];

fn axes(session: &LoadedSession, base: &[SettingChange], count: usize) -> Vec<Axis> {
    let policies = PolicySet::of(&[Policy::Prune, Policy::Clear, Policy::Guard]);
    let context = AxisContext { session, base, policies };
    AXES[AXES.len() - count..].iter().map(|text| Axis::parse(&context, text).expect("an axis")).collect()
}

fn spec(session: &LoadedSession, count: usize, headroom: f64) -> SweepSpec {
    let base: Vec<SettingChange> =
        HELD.iter().map(|set| parse_change("--set", set).expect("a change")).collect();
    let steps = PolicySet::of(&[Policy::Prune, Policy::Clear, Policy::Guard]);
    SweepSpec { axes: axes(session, &base, count), base, policies: steps, headroom: Tokens(headroom) }
}

fn swept(recording: &RecordedSession, wanted: SweepSpec) -> Sweep {
    sweep(recording, wanted, &|| true, &|_, _| {}).expect("a grid").expect("is waited for")
}

/// Replays the session once for a single combination and returns its totals.
fn by_itself(recording: &RecordedSession, changes: &[SettingChange], steps: PolicySet) -> TraceTotals {
    let RecordedSession { session, inputs, .. } = recording;
    let simulated = simulate_settings(session, changes, steps);
    let [_, totals] = inputs.replay(session, &simulated.replay_settings()).totals();
    totals
}

/// One combination of values: its changes, the distance of each, and the totals.
struct Combination {
    changes: usize,
    distance: f64,
    totals: TraceTotals,
}

/// Every combination, by taking subsets of the axes and every other value of each.
fn combinations(recording: &RecordedSession, wanted: &SweepSpec) -> Vec<Combination> {
    let mut chosen: Vec<Vec<Option<usize>>> = vec![Vec::new()];
    for axis in &wanted.axes {
        let others = (0..axis.points.len()).filter(|at| *at != axis.current).map(Some);
        let moves: Vec<Option<usize>> = std::iter::once(None).chain(others).collect();
        chosen = chosen
            .iter()
            .flat_map(|so_far| moves.iter().map(|next| [so_far.as_slice(), &[*next]].concat()))
            .collect();
    }
    let combine = |moves: &Vec<Option<usize>>| {
        let mut changes = wanted.base.clone();
        let (mut distance, mut moved, mut prunes) = (0.0, 0, false);
        for (axis, at) in wanted.axes.iter().zip(moves) {
            let Some(at) = at else { continue };
            let value = axis.points[*at].value.clone().expect("a value");
            let text = value.as_str().map_or_else(|| js::stringify(&value), js::JsString::to_string_lossy);
            changes.push(parse_change("--set", &format!("{}={text}", axis.key())).expect("a change"));
            let numbers: Vec<f64> = axis.points.iter().filter_map(|point| point.number).collect();
            let span = numbers.iter().fold(f64::MIN, |a, b| a.max(*b))
                - numbers.iter().fold(f64::MAX, |a, b| a.min(*b));
            let number = |at: usize| axis.points[at].number.expect("a number");
            distance += (number(*at) - number(axis.current)).abs() / span;
            moved += 1;
            prunes |= axis.policy == Some(Policy::Prune);
        }
        let totals = by_itself(recording, &changes, wanted.policies);
        // Pruning is off in these sessions: the first key of it takes the switch as well.
        Combination { changes: moved + usize::from(prunes), distance, totals }
    };
    chosen.iter().map(combine).collect()
}

fn fits(totals: &TraceTotals, limit: f64) -> bool {
    totals.overflows == 0 && totals.failed == 0 && totals.peak.0.get().round() <= limit
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn cells_front_and_smallest_change_equal_an_exhaustive_search(
        seed in any::<u64>(),
        share in 0.0..1.0_f64,
        headroom in 0.0..20.0_f64,
        count in 1..=3_usize,
    ) {
        let (_session, recording) = opened(seed, share);
        let window = recording.inputs.provider_window;
        let wanted = spec(&recording.session, count, headroom);
        let tried = combinations(&recording, &wanted);
        let sweep = swept(&recording, wanted.clone());
        prop_assert_eq!(sweep.cells.len(), tried.len());
        for (at, cell) in sweep.cells.iter().enumerate() {
            let own = by_itself(&recording, &sweep.changes(at), wanted.policies);
            prop_assert_eq!(&cell.totals, &own);
        }
        // Not dominated by any tried combination.
        let three = |totals: &TraceTotals| {
            let cost = totals.cost.map_or(0.0, |cost| cost + totals.summary_cost);
            [cost, totals.largest_prompt.get().round(), totals.withheld_tokens.get().round()]
        };
        for (at, cell) in sweep.cells.iter().enumerate() {
            let own = three(&cell.totals);
            let beaten = tried.iter().any(|other| {
                let other = three(&other.totals);
                other != own && other.iter().zip(&own).all(|(other, own)| other <= own)
            });
            prop_assert_eq!(sweep.pareto_front.contains(&at), !beaten);
        }
        let fitting = tried.iter().filter(|tried| fits(&tried.totals, (window - Tokens(headroom)).get()));
        let least = fitting.map(|tried| (tried.changes, tried.distance)).min_by(|a, b| a.partial_cmp(b).unwrap());
        let found = sweep.smallest_fitting.map(|at| (sweep.cells[at].changed_keys, sweep.cells[at].distance));
        prop_assert_eq!(least.is_some(), found.is_some());
        if let (Some(least), Some(found)) = (least, found) {
            prop_assert_eq!(least.0, found.0);
            prop_assert!((least.1 - found.1).abs() < 1e-9, "{:?} {:?}", least, found);
        }
    }
}

#[test]
fn cells_are_reported_one_by_one_until_the_sweep_is_cancelled() {
    let (_session, recording) = opened(7, 0.5);
    let reported = AtomicUsize::new(0);
    let wanted = spec(&recording.session, 3, 0.0);
    let tell = |_: usize, _: &clawscope::report::sweep::Cell| _ = reported.fetch_add(1, Ordering::Relaxed);
    let whole = sweep(&recording, wanted.clone(), &|| true, &tell).expect("a grid").expect("waited for");
    assert_eq!(reported.load(Ordering::Relaxed), whole.cells.len());
    assert_eq!(sweep(&recording, wanted.clone(), &|| false, &tell).expect("a grid"), None);
    assert_eq!(reported.load(Ordering::Relaxed), whole.cells.len());
    assert_eq!(default_axes(&recording, &wanted.base, wanted.policies, &|| false), None);
}

#[test]
fn small_sessions_have_each_of_the_three_answers() {
    let (mut nothing, mut change, mut none) = (0, 0, 0);
    for seed in 0..8 {
        for share in [0.0, 0.4, 1.0] {
            let (_session, recording) = opened(seed, share);
            let sweep = swept(&recording, spec(&recording.session, 3, 0.0));
            match sweep.smallest_fitting.map(|at| sweep.cells[at].changed_keys) {
                Some(0) => nothing += 1,
                Some(_) => change += 1,
                None => none += 1,
            }
        }
    }
    assert!(nothing > 0 && change > 0 && none > 0, "{nothing} {change} {none}");
}

#[test]
fn axes_are_validated_as_by_the_gateway_and_include_the_current_value() {
    let (_session, recording) = with_window(1, 1000.0);
    let read = |text: &str| {
        Axis::parse(&AxisContext { session: &recording.session, base: &[], policies: PolicySet::NONE }, text)
    };
    let texts = |text: &str| -> Vec<String> {
        read(text).expect("an axis").points.into_iter().map(|point| point.text).collect()
    };
    assert_eq!(texts("contextPruning.ttl=30m..1h:15m"), ["as is", "30m", "45m", "1h"]);
    assert_eq!(texts("contextPruning.softTrimRatio=0.1..0.3:0.1"), ["as is", "0.1", "0.2", "0.3"]);
    assert_eq!(texts("contextPruning.hardClear.enabled=true,false"), ["as is", "true", "false"]);
    assert_eq!(texts("contextPruning.mode=cache-ttl"), ["off", "cache-ttl"]);
    assert_eq!(texts("agents.defaults.contextTokens=100000,50000"), ["50000", "100000", "200000"]);
    for (text, expected) in [
        ("contextPruning.ttl", "expected KEY=A..B:STEP"),
        ("contextPruning.ttl=1h..2h", "has no step"),
        ("contextPruning.ttl=2h..1h:5m", "ends before it begins"),
        ("contextPruning.ttl=1h..2h:0m", "has a step of 0"),
        ("contextPruning.ttl=1..x:1", "a value that this setting does not accept"),
        ("contextPruning.hardClear.enabled=0..1:1", "this setting is a switch"),
        ("contextPruning.softTrimRatio=0.5..1.5:0.5", "a number from 0 to 1"),
        ("contextPruning.keepLastAssistants=0.5", "a whole number"),
        ("contextPruning.tools.deny=exec", "is text"),
        ("guard.budgetShare=0.5,0.6", "no key sets it"),
        ("compaction.summaryTokens=5,6", "no gateway key sets it"),
        ("contextTokens=1..100000:1", "200 at most"),
        ("softTrim=1", "unknown setting"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.starts_with("--vary") && error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn an_axis_has_the_distance_of_each_value_from_the_current_one() {
    let (_session, recording) = with_window(1, 1000.0);
    let read = |text: &str| {
        Axis::parse(&AxisContext { session: &recording.session, base: &[], policies: PolicySet::NONE }, text)
            .expect("an axis")
    };
    let distances = |text: &str| -> Vec<f64> {
        let axis = read(text);
        (0..=axis.points.len()).map(|at| axis.distance(at)).collect()
    };
    // The window of 200,000 is in force; there is no point after the last.
    assert_eq!(distances("agents.defaults.contextTokens=150000,100000"), [1.0, 0.5, 0.0, 0.0]);
    assert_eq!(distances("contextPruning.mode=cache-ttl"), [0.0, 1.0, 0.0], "a word is a whole axis away");
    // Pruning is off, so that the current value is the default of 5 minutes.
    assert_eq!(distances("contextPruning.ttl=30m,1h"), [0.0, 25.0 / 55.0, 1.0, 0.0]);
    assert_eq!(distances("contextPruning.ttl=5m"), [0.0; 3], "the default written out is no distance");
    let window = read("agents.defaults.contextTokens=150000,100000");
    assert_eq!(window.current, 2);
    assert_eq!(window.change(2), None, "the value in force is no change");
    assert_eq!(window.change(0).map(|change| change.value), Some(js::Value::from(100_000.0)));
    assert_eq!(window.change(3), None);
}

#[test]
fn equal_values_in_two_spellings_are_one_point() {
    let (_session, recording) = with_window(1, 1000.0);
    let context = AxisContext { session: &recording.session, base: &[], policies: PolicySet::NONE };
    let texts = |text: &str| -> Vec<String> {
        Axis::parse(&context, text).expect("an axis").points.into_iter().map(|point| point.text).collect()
    };
    assert_eq!(texts("contextPruning.ttl=60m,1h,3600s,30m"), ["as is", "30m", "1h"]);
    assert_eq!(texts("agents.defaults.contextTokens=200000,2e5"), ["200000"]);
    assert_eq!(texts("contextPruning.hardClear.enabled=false,true,false"), ["as is", "false", "true"]);
    assert_eq!(texts("contextPruning.softTrimRatio=0.05..0.15:0.05"), ["as is", "0.05", "0.1", "0.15"]);
    // At most 200 values are allowed, and the current one is not counted.
    assert_eq!(texts("contextTokens=16000..215000:1000").len(), 200);
    assert!(Axis::parse(&context, "contextTokens=16000..216000:1000").is_err());
    let many: Vec<String> = (16_001..=16_201).map(|value| value.to_string()).collect();
    let parsed = |count: usize| Axis::parse(&context, &format!("contextTokens={}", many[..count].join(",")));
    assert!(parsed(200).is_ok());
    let small = Axis::parse(&context, "contextTokens=15999").expect_err("too small").to_string();
    assert!(small.contains("openclaw 2026.3.2 runs no model with a window of 15,999 tokens"), "{small}");
    assert!(parsed(201).is_err_and(|error| error.to_string().contains("201 values")));
}

#[test]
fn a_window_that_the_gateway_refuses_fails_every_call_and_no_sweep_runs_with_it() {
    let (_session, recording) = with_window(1, 100_000.0);
    let small = parse_change("--set", "contextTokens=9000").expect("a change");
    let simulated = simulate_settings(&recording.session, std::slice::from_ref(&small), PolicySet::NONE);
    let warning = simulated.warnings().next().expect("a warning");
    assert!(warning.ends_with("with a window below 16,000, so every message fails"), "{warning}");
    let totals = by_itself(&recording, std::slice::from_ref(&small), PolicySet::NONE);
    assert!(totals.calls > 0);
    assert_eq!((totals.overflows, totals.failed), (totals.calls, totals.calls));
    assert_eq!(totals.cost_breakdown.total().unwrap_or_default(), 0.0, "no call is made");
    let context = AxisContext { session: &recording.session, base: &[], policies: PolicySet::NONE };
    let spec = SweepSpec {
        axes: vec![Axis::parse(&context, "contextPruning.keepLastAssistants=1,2").expect("an axis")],
        base: vec![small],
        policies: PolicySet::NONE,
        headroom: Tokens::ZERO,
    };
    let refused = sweep(&recording, spec, &|| true, &|_, _| {}).expect_err("refused").to_string();
    assert!(
        refused.starts_with("contextTokens 9,000: ") && refused.ends_with("Set a larger window."),
        "{refused}"
    );
}

#[test]
fn settings_for_every_cell_change_the_current_value_of_an_axis() {
    let (_session, recording) = with_window(1, 1000.0);
    let current = |base: &[&str], text: &str| {
        let base: Vec<SettingChange> =
            base.iter().map(|set| parse_change("--set", set).expect("a change")).collect();
        let axis = Axis::parse(
            &AxisContext { session: &recording.session, base: &base, policies: PolicySet::NONE },
            text,
        );
        axis.map(|axis| axis.points[axis.current].text.clone()).map_err(|error| error.to_string())
    };
    let keep = "contextPruning.keepLastAssistants=1";
    assert_eq!(current(&[], keep), Ok("as is".to_owned()));
    assert_eq!(current(&["contextPruning.mode=cache-ttl"], keep), Ok("3".to_owned()), "pruning is on now");
    assert_eq!(current(&["contextPruning.mode=cache-ttl"], "contextPruning.ttl=1h"), Ok("5m".to_owned()));
    assert!(
        current(&["contextPruning.ttl=1h"], "contextPruning.ttl=5m").is_err_and(|why| why.contains("--set"))
    );
}

/// A session of turns that fit their window of 200,000 tokens, each with the prompt that its answer counts and a request
/// as long as the prompt grew.
fn fitting(prompts: &[u64]) -> (Session, RecordedSession) {
    let time = |minute: usize| format!("2026-02-21T05:{minute:02}:00.000Z");
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"{}\",\"cwd\":\"/w\"}}\n",
        time(0)
    );
    let mut parent = "null".to_owned();
    let mut push = |id: String, minute: usize, message: String| {
        let time = time(minute);
        writeln!(text,
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\",\"message\":{message}}}"
        ).unwrap();
        parent = format!("\"{id}\"");
    };
    for (at, prompt) in prompts.iter().enumerate() {
        let before = at.checked_sub(1).map_or(0, |before| prompts[before]);
        let request = "go on. ".repeat((prompt - before) as usize * 4 / 7);
        push(format!("u{at}"), at, format!("{{\"role\":\"user\",\"content\":\"{request}\"}}"));
        push(
            format!("a{at}"),
            at,
            format!(
                r#"{{"role":"assistant","provider":"anthropic","model":"claude-opus-4-5","content":[{{"type":"text","text":"done"}}],"stopReason":"stop","usage":{{"input":{prompt},"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":{}}}}}"#,
                prompt + 10
            ),
        );
    }
    let file = Session::new(text.as_bytes());
    let session = inspected(&file.path);
    let inputs = ReplayInputs::read(&session, all_steps()).expect("reads");
    (
        file,
        RecordedSession::without_cache(Arc::new(session), inputs, &|| true)
            .expect("readable")
            .expect("wanted"),
    )
}

/// The prompts of a session that grows to the last one.
fn growing(last: u64) -> Vec<u64> {
    (1..=8).map(|turn| last * turn / 8).collect()
}

/// The policies of the gateway and pruning, which the configuration of these sessions leaves off.
fn pruning(recording: &RecordedSession) -> PolicySet {
    recording.session.gateway_policies().with(Policy::Prune, true)
}

fn varied_keys(recording: &RecordedSession) -> Vec<String> {
    let axes = default_axes(recording, &[], pruning(recording), &|| true).expect("waited for");
    for axis in &axes {
        assert!(axis.points.len() > 1 && axis.points.get(axis.current).is_some(), "{axis:?}");
    }
    axes.iter().map(|axis| axis.key().to_owned()).collect()
}

#[test]
fn default_axes_are_settings_with_an_effect() {
    let (_session, recording) = fitting(&growing(150_000));
    assert_eq!(varied_keys(&recording), ["compaction.reserveTokens", "compaction.keepRecentTokens"]);
    let axes = default_axes(&recording, &[], pruning(&recording), &|| true).expect("waited for");
    let policies =
        axes.iter().filter_map(|axis| axis.policy).fold(pruning(&recording), |all, own| all.with(own, true));
    let spec = SweepSpec { axes: axes.clone(), base: Vec::new(), policies, headroom: Tokens::ZERO };
    let cells = swept(&recording, spec).cells;
    for (at, axis) in axes.iter().enumerate() {
        let beside =
            |one: &[usize], other: &[usize]| (0..axes.len()).all(|it| (one[it] == other[it]) == (it != at));
        let changes = cells.iter().any(|one| {
            cells.iter().any(|other| beside(&one.points, &other.points) && one.totals != other.totals)
        });
        assert!(changes, "{} changes nothing", axis.key());
    }
}

#[test]
fn a_setting_without_effect_does_not_become_an_axis() {
    let (_session, recording) = fitting(&[9_000, 9_020]);
    assert_eq!(varied_keys(&recording).len(), 1, "one axis must be there to see anything");
}

#[test]
fn compaction_is_not_varied_if_the_session_did_not_compact_as_configured() {
    let compacts = |keys: &[String]| keys.iter().any(|key| key.contains("compaction"));
    let full = [growing(190_000), vec![192_000, 194_000]].concat();
    let (_session, recording) = fitting(&full);
    assert_eq!(recording.trace.totals().compactions, 0, "nothing was compacted at 190,000 tokens");
    let keys = varied_keys(&recording);
    assert!(!compacts(&keys), "{keys:?}");
    let (_session, recording) = fitting(&growing(150_000));
    assert!(compacts(&varied_keys(&recording)), "compacting earlier makes the prompts smaller");
}

#[test]
fn the_json_names_axes_cells_front_and_change() {
    let (_session, recording) = opened(3, 0.5);
    let whole = swept(&recording, spec(&recording.session, 2, 0.0));
    let text = js::json_text(&json::sweep_json(&recording.session, &whole)).expect("JSON");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["axes"][0]["key"], "contextPruning.keepLastAssistants");
    // Unchanged, as pruning is off: no value, and no key in a cell.
    assert_eq!(value["axes"][0]["values"], serde_json::json!([null, 0, 1, 2]));
    let cells = value["cells"].as_array().unwrap();
    assert_eq!(cells.len(), whole.cells.len());
    let current = &cells[whole.current];
    assert_eq!(current["changes"], 0);
    assert_eq!(current["set"].as_object().unwrap().keys().collect::<Vec<_>>(), ["clearToolUses.trigger"]);
    let front: Vec<usize> =
        value["pareto"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap() as usize).collect();
    assert_eq!(front, whole.pareto_front);
    assert!(!front.is_empty() && front.iter().all(|at| *at < cells.len()), "{front:?}");
}

/// A client clears tool uses only if it is set up to, so a grid of its settings starts from a session without.
#[test]
fn clearing_is_off_in_cells_without_its_settings() {
    let (_session, recording) = with_window(1, 100_000.0);
    let context = |policies| AxisContext { session: &recording.session, base: &[], policies };
    let texts = |policies, text: &str| -> (Vec<String>, usize) {
        let axis = Axis::parse(&context(policies), text).expect("an axis");
        (axis.points.into_iter().map(|point| point.text).collect(), axis.current)
    };
    let (off, on) = (PolicySet::NONE, PolicySet::of(&[Policy::Clear]));
    let three = |words: [&str; 3]| words.map(str::to_owned).to_vec();
    assert_eq!(texts(off, "clearToolUses.keep=1,3"), (three(["off", "1", "3"]), 0));
    assert_eq!(texts(on, "clearToolUses.keep=1,5"), (three(["1", "3", "5"]), 1));
    let (shares, _) = texts(off, "clearToolUses.trigger=50%..80%:15%");
    // The window of the session, not the one of the recording.
    assert_eq!(shares, ["off", "100000", "130000", "160000"]);
    for (text, expected) in [
        ("clearToolUses.trigger=50%..x:10%", "such as 10000..40000:10000"),
        ("clearToolUses.keep=1%..5%:1%", "such as 1..5:1"),
    ] {
        let error = Axis::parse(&context(off), text).expect_err(text).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let axes = ["clearToolUses.trigger=100,400", "clearToolUses.keep=0,1"]
        .map(|text| Axis::parse(&context(off), text).expect("an axis"));
    let request = SweepSpec { axes: axes.to_vec(), base: Vec::new(), policies: on, headroom: Tokens::ZERO };
    let sweep = swept(&recording, request);
    let none = swept(
        &recording,
        SweepSpec { axes: Vec::new(), base: Vec::new(), policies: off, headroom: Tokens::ZERO },
    );
    assert_eq!(sweep.cells[sweep.current].totals, none.cells[0].totals, "the base clears nothing");
    assert!(sweep.cells.iter().any(|cell| cell.totals != none.cells[0].totals), "other cells do");
}

/// The values that need no typing, by key.
#[test]
fn usual_values_are_the_same_for_every_session_and_shares_of_its_window_in_thousands() {
    let (_session, recording) = with_window(1, 1000.0);
    let context = AxisContext { session: &recording.session, base: &[], policies: PolicySet::NONE };
    let usual = |window: f64| clawscope::report::sweep::usual_axes(&context, window);
    let texts = |window: f64, key: &str| -> Vec<String> {
        let axis = usual(window).into_iter().find(|axis| axis.key() == key);
        axis.map(|axis| axis.points.into_iter().map(|point| point.text).collect()).unwrap_or_default()
    };
    assert_eq!(texts(200_000.0, "contextPruning.ttl"), ["as is", "5m", "15m", "30m", "1h", "2h"]);
    assert_eq!(texts(200_000.0, "contextPruning.keepLastAssistants"), ["as is", "1", "2", "3", "5", "8"]);
    let reserve = |window: f64| -> Vec<f64> {
        let axis = usual(window).into_iter().find(|axis| axis.key() == "compaction.reserveTokens");
        let axis = axis.expect("a usual axis");
        let others = axis.points.iter().enumerate().filter(|(at, _)| *at != axis.current);
        others.filter_map(|(_, point)| point.number).collect()
    };
    assert_eq!(reserve(300_000.0), [30_000.0, 60_000.0, 90_000.0, 120_000.0]);
    assert_eq!(reserve(4_999.0), [1_000.0, 2_000.0], "rounded, at least a thousand, none twice");
    let keys = |window: f64| -> Vec<&str> { usual(window).iter().map(Axis::key).collect() };
    assert!(keys(200_000.0).contains(&"compaction.keepRecentTokens"));
    assert!(!keys(0.0).iter().any(|key| key.starts_with("compaction.")), "shares of no window");
    assert_eq!(keys(0.0)[0], "contextPruning.ttl", "the order of preference");
}

#[test]
fn the_window_acts_through_compaction_and_two_axes_of_one_key_or_too_many_cells_are_refused() {
    use clawscope::report::sweep::{Grid, MAX_CELLS};
    let (_session, recording) = with_window(1, 1000.0);
    let context = AxisContext { session: &recording.session, base: &[], policies: PolicySet::NONE };
    let axis = |text: &str| Axis::parse(&context, text).expect("an axis");
    let (tokens, ttl) = (axis("contextTokens=17000..80000:1000"), axis("contextPruning.ttl=5m,1h"));
    assert_eq!((tokens.policy, ttl.affected_policy()), (None, Some(Policy::Prune)));
    assert_eq!(tokens.affected_policy(), None, "the smaller window of the gateway");
    assert_eq!(axis("contextWindow=50000").affected_policy(), Some(Policy::Compact));
    let grid = Grid::from_axes(&[tokens.clone(), ttl.clone()]).expect("a grid");
    assert_eq!((grid.len(), grid.is_empty()), (tokens.points.len() * 3, false));
    for cell in 0..grid.len() {
        assert_eq!(grid.points_of(cell), [cell / 3, cell % 3]);
        assert_eq!(grid.cell_index(&[cell / 3, cell % 3]), cell);
    }
    let twice = Grid::from_axes(&[ttl.clone(), tokens.clone(), ttl.clone()]).expect_err("twice").to_string();
    assert_eq!(twice, "--vary contextPruning.ttl: is varied twice. List all its values in one --vary.");
    let keep = axis("contextPruning.keepLastAssistants=0..30:1");
    let many = Grid::from_axes(&[tokens, keep, ttl]).expect_err("too many").to_string();
    assert!(many.contains(&format!("expected {MAX_CELLS} at most")), "{many}");
    assert_eq!(Grid::from_axes(&[]).expect("one cell").len(), 1);
}
