//! Axes and whole sweeps of small sessions, with every field of the result.

use std::sync::{Arc, Mutex};

use super::*;
use crate::report::stored_tests::{COMPACTION, Tale, config};
use crate::session::replay_inputs::ReplayInputs;
use crate::session::setting_change::parse_change;
use crate::units::Tokens;

const PRUNING: &str = r#","contextPruning":{"mode":"cache-ttl","ttl":"1h"}"#;

/// A session whose last turn comes after a pause and nearly fills a window of 20,000 tokens.
fn recording(defaults: &str) -> (tempfile::TempDir, RecordedSession) {
    let tale =
        Tale::new(900).turn(18_000).turn(18_000).turn(2_000).wait(40).turn(18_000).wait(90).turn(12_000);
    let (folder, session) = tale.read(&config(20_000, &[COMPACTION, defaults].concat()), "");
    let all = Policy::ALL.into_iter().fold(PolicySet::NONE, |all, policy| all.with(policy, true));
    let inputs = ReplayInputs::read(&session, all).expect("it reads");
    let recording = RecordedSession::without_cache(Arc::new(session), inputs, &|| true);
    (folder, recording.expect("it reads").expect("wanted"))
}

fn context<'a>(
    session: &'a LoadedSession,
    base: &'a [SettingChange],
    policies: &[Policy],
) -> AxisContext<'a> {
    AxisContext { session, base, policies: PolicySet::of(policies) }
}

/// The points of an axis with the current one in brackets, its unit and policy; or why it is refused.
fn shown(axis_context: &AxisContext<'_>, text: &str) -> String {
    let axis = match Axis::parse(axis_context, text) {
        Ok(axis) => axis,
        Err(error) => return error.to_string(),
    };
    let point = |(at, point): (usize, &AxisPoint)| {
        let value = point.value.as_ref().map_or("unset".to_owned(), crate::js::stringify);
        let value = format!("{}={value}~{:?}", point.text, point.number);
        if at == axis.current { format!("[{value}]") } else { value }
    };
    let points: Vec<String> = axis.points.iter().enumerate().map(point).collect();
    let (policy, affected) = (axis.policy.map(Policy::word), axis.affected_policy().map(Policy::word));
    let distances: Vec<f64> = (0..axis.points.len()).map(|at| axis.distance(at)).collect();
    let changes: Vec<String> = (0..=axis.points.len())
        .filter_map(|at| axis.change(at))
        .map(|change| format!("{}={}", change.key(), crate::js::stringify(&change.value)))
        .collect();
    format!(
        "{} {}: {} {:?} {policy:?} {affected:?} {distances:?} {changes:?}",
        axis.key(),
        axis.name(),
        points.join(" "),
        axis.unit
    )
}

#[test]
fn axes_are_shown_field_by_field() {
    let texts = [
        "contextPruning.ttl=30m..2h:30m",
        "contextPruning.ttl=90s,1h,60m",
        "contextPruning.mode=off",
        "contextPruning.softTrimRatio=0.05..0.2:0.05",
        "contextPruning.softTrimRatio=0.1..0.12:0.01",
        "contextPruning.softTrimRatio=.1..0.35:0.125",
        "contextPruning.hardClear.enabled=true,false",
        "contextPruning.keepLastAssistants=3",
        "compaction.reserveTokens=1000..3000:1000",
        "compaction.reserveTokens=10%..30%:10%",
        "compaction.keepRecentTokens=5%,2000",
        "contextTokens=50%..100%:25%",
        "contextTokens=10000",
        "contextWindow=10000,30000",
        "clearToolUses.trigger=1000,4000",
        "clearToolUses.trigger=40%..80%:20%",
        "clearToolUses.trigger= 2000 .. 90% : 10% ",
        "clearToolUses.trigger=25%",
        "historyLimit=4,2",
        "contextPruning.ttl=1h..2h",
        "contextPruning.ttl=1h:2h",
        "contextPruning.ttl=2h..1h:5m",
        "contextPruning.ttl=1h..1h:5m",
        "contextPruning.ttl=1h..2h:0m",
        "contextPruning.softTrimRatio=0..x:0.1",
        "compaction.reserveTokens=0..y:1",
        "contextPruning.minPrunableToolChars=0..1:2:3",
        "contextPruning.keepLastAssistants=1..b:1",
        "contextPruning.hardClear.enabled=0..1:1",
        "contextTokens=1..201:1",
        "contextPruning.tools.deny=exec",
        "compaction.summaryTokens=5",
        "bootstrapMaxChars=5000",
        "nothing=1",
        "nothing",
    ];
    let described = ["", PRUNING].map(|defaults| {
        let (_folder, recording) = recording(defaults);
        let base = [parse_change("--set", "contextWindow=18000").expect("a change")];
        let clearing = [parse_change("--set", "historyLimit=9").expect("a change")];
        let plain = context(&recording.session, &[], &[]);
        let held = context(&recording.session, &base, &[Policy::Clear]);
        let limited = context(&recording.session, &clearing, &[Policy::Prune]);
        [plain, held, limited].map(|context| texts.map(|text| shown(&context, text)).join("\n")).join("\n\n")
    });
    insta::assert_snapshot!(described.join("\n\n"));
}

/// The whole result as JSON, plus the parts that the JSON omits.
fn described(recording: &RecordedSession, spec: SweepSpec) -> String {
    let seen = Mutex::new(Vec::new());
    let describe = |at: usize, cell: &Cell| seen.lock().expect("no panic").push((at, cell.totals.calls));
    let sweep = sweep(recording, spec, &|| true, &describe).expect("a grid").expect("wanted");
    let mut seen = seen.into_inner().expect("no panic");
    seen.sort_unstable();
    let changes: Vec<Vec<String>> = (0..sweep.cells.len())
        .map(|cell| {
            sweep
                .changes(cell)
                .iter()
                .map(|it| format!("{}={}", it.key(), crate::js::stringify(&it.value)))
                .collect()
        })
        .collect();
    let json = serde_json::to_string_pretty(&json::sweep_json(&recording.session, &sweep)).expect("JSON");
    let json = json.replace(&recording.session.source.path().display().to_string(), "SESSION");
    format!("{json}\n{seen:?}\n{changes:?}\n{:?}\n", sweep.caveat())
}

#[test]
fn whole_sweeps_are_shown_field_by_field() {
    let policies = PolicySet::of(&[Policy::Prune, Policy::Compact]);
    let described = ["", PRUNING].map(|defaults| {
        let (_folder, recording) = recording(defaults);
        let base = vec![parse_change("--set", "contextPruning.keepLastAssistants=1").expect("a change")];
        let axes = |base: &[SettingChange], policies: PolicySet, texts: &[&str]| -> Vec<Axis> {
            let context = AxisContext { session: &recording.session, base, policies };
            texts.iter().map(|text| Axis::parse(&context, text).expect("an axis")).collect()
        };
        let two = axes(&base, policies, &["contextPruning.ttl=30m,2h", "compaction.reserveTokens=2000,9000"]);
        let pruned = SweepSpec { axes: two, base, policies, headroom: Tokens(4_000.0) };
        let clear = PolicySet::of(&[Policy::Clear]);
        let cleared = axes(&[], clear, &["clearToolUses.trigger=3000,9000", "clearToolUses.keep=1"]);
        let cleared = SweepSpec { axes: cleared, base: Vec::new(), policies: clear, headroom: Tokens::ZERO };
        [described(&recording, pruned), described(&recording, cleared)].join("\n")
    });
    insta::assert_snapshot!(described.join("\n"));
}

#[test]
fn the_default_axes_are_the_settings_with_the_largest_effect() {
    let all = [Policy::Prune, Policy::Compact, Policy::History];
    let described: Vec<String> = ["", PRUNING]
        .iter()
        .flat_map(|defaults| {
            let (_folder, recording) = recording(defaults);
            let keys = |axes: Vec<Axis>| {
                let points =
                    |axis: &Axis| axis.points.iter().map(|it| it.text.clone()).collect::<Vec<_>>().join(" ");
                axes.iter()
                    .map(|axis| format!("{}: {}", axis.key(), points(axis)))
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            let chosen = [&all[..], &all[..1], &all[1..2], &[]].map(|policies| {
                let axes = default_axes(&recording, &[], PolicySet::of(policies), &|| true);
                keys(axes.expect("wanted"))
            });
            let usual = [20_000.0, 3_000.0, f64::NAN, 0.0]
                .map(|window| keys(usual_axes(&context(&recording.session, &[], &all), window)));
            [chosen.join("\n\n"), usual.join("\n\n")]
        })
        .collect();
    insta::assert_snapshot!(described.join("\n\n"));
}

#[test]
fn a_grid_counts_its_cells_with_the_last_axis_first() {
    let (_folder, recording) = recording(PRUNING);
    let axis = |text: &str| Axis::parse(&context(&recording.session, &[], &[]), text).expect("an axis");
    let axes = [
        axis("contextPruning.ttl=30m,2h"),
        axis("historyLimit=2"),
        axis("contextPruning.softTrimRatio=0.1,0.2,0.4"),
    ];
    let grid = Grid::from_axes(&axes).expect("a grid");
    let points: Vec<Vec<usize>> = (0..grid.len()).map(|cell| grid.points_of(cell)).collect();
    assert_eq!((grid.len(), grid.is_empty()), (3 * 2 * 4, false));
    assert_eq!(points[..6], [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3], [0, 1, 0], [0, 1, 1]]);
    assert_eq!(points[23], [2, 1, 3]);
    assert!(points.iter().enumerate().all(|(cell, at)| grid.cell_index(at) == cell));
    assert_eq!((Grid::from_axes(&[]).expect("one cell").len(), grid.cell_index(&[])), (1, 0));
    let twice = [axes[0].clone(), axes[1].clone(), axes[0].clone()];
    let error = Grid::from_axes(&twice).expect_err("one key twice").to_string();
    assert_eq!(error, "--vary contextPruning.ttl: is varied twice. List all its values in one --vary.");
    let wide = |text: &str, points: usize| {
        let axis = axis(text);
        Axis { points: vec![axis.points[0].clone(); points], ..axis }
    };
    let pair = |one: usize, other: usize| {
        Grid::from_axes(&[wide("historyLimit=2", one), wide("contextPruning.ttl=2h", other)])
            .map(|grid| grid.len())
    };
    assert_eq!(pair(64, 64), Ok(4_096));
    let error = pair(17, 241).expect_err("4,097 cells").to_string();
    assert_eq!(
        error,
        "--vary: 17 × 241 make 4097 cells; expected 4096 at most. Use fewer values or fewer axes."
    );
}
