//! Transcripts with planted facts, and summaries that keep, lose or outdate them.

use proptest::prelude::*;

use super::*;
use crate::report::facts::FactKind;
use crate::session::testing::{call, loaded_session, message, quoted, result, transcript, user};

fn answer(text: &str) -> String {
    message(&format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":{}}}],"stopReason":"stop"}}"#,
        quoted(text)
    ))
}

fn compaction(summary: &str, first_kept: usize) -> String {
    let summary = quoted(summary);
    format!(
        r#"{{"type":"compaction","summary":{summary},"firstKeptEntryId":"e{first_kept}","tokensBefore":5000}}"#
    )
}

fn audit_of(entries: &[String]) -> Vec<SummaryAudit> {
    summary_audits(&loaded_session(&transcript(entries), 100_000.0)).collect::<Result<_, _>>().unwrap()
}

/// Text, state and later use of each fact of a kind.
fn of_kind(audit: &SummaryAudit, kind: FactKind) -> Vec<(&str, &str, Option<u32>)> {
    let own = audit.facts.iter().filter(|fact| fact.kind == kind);
    own.map(|fact| (fact.text.as_str(), fact.state.as_str(), fact.used_later.map(|entry| entry.0))).collect()
}

/// A limit, a decision, a path, an id and a number; then a compaction, and these entries.
fn story(summary: &str, later: &[String]) -> Vec<String> {
    let mut entries = vec![
        user("Never restart the payments gateway. Use build 4fa91c2d."),
        call("c1", "read", r#"{"path":"src/billing/rates.rs"}"#),
        result("c1", "read", "limit: 48213\nerror[E0308]: mismatched types in rates", ""),
        answer("We decided to use SQLite for the queue."),
        user("go on"),
        answer("Going on."),
        compaction(summary, 4),
    ];
    entries.extend_from_slice(later);
    entries
}

#[test]
fn every_fact_is_lost_in_an_empty_summary_and_those_used_later_come_first() {
    let audits = audit_of(&story(
        "They talked.",
        &[user("and?"), answer("I look at src/billing/rates.rs for build 4fa91c2d")],
    ));
    let audit = &audits[0];
    assert_eq!((audits.len(), audit.messages, audit.entry.0), (1, 4, 6));
    assert_eq!(of_kind(audit, FactKind::Path), [("src/billing/rates.rs", "lost", Some(8))]);
    assert_eq!(of_kind(audit, FactKind::Id), [("4fa91c2d", "lost", Some(8))]);
    assert_eq!(of_kind(audit, FactKind::Number), [("48213", "lost", None)]);
    assert_eq!(of_kind(audit, FactKind::Error), [("error[E0308]: mismatched types in rates", "lost", None)]);
    assert_eq!(of_kind(audit, FactKind::Constraint), [("Never restart the payments gateway.", "lost", None)]);
    assert_eq!(
        of_kind(audit, FactKind::Decision),
        [("We decided to use SQLite for the queue.", "lost", None)]
    );
    assert!(audit.facts[..2].iter().all(|fact| fact.used_later.is_some()));
    let totals = audit.totals();
    assert_eq!((totals.facts, totals.kept, totals.lost, totals.used_later), (6, 0, 6, 2));
}

#[test]
fn a_summary_keeps_facts_in_other_forms_and_words() {
    let summary = "Constraint: the payments gateway must never be restarted.\nBuild 4fa91c2 is in use, file billing/rates.rs, \
                   limit 48,213.\nSQLite was decided for the queue.\nOpen: mismatched types in rates (error E0308).";
    let audits = audit_of(&story(summary, &[]));
    let lost: Vec<_> = audits[0].facts.iter().filter(|fact| fact.state != FactState::Kept).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn an_older_value_in_the_summary_is_stale_and_the_current_one_is_not() {
    let told = |summary: &str| {
        let entries = [
            user("the port: 8080 is open"),
            answer("Noted."),
            user("now the port: 9090 is open"),
            answer("Noted."),
            user("go on"),
            compaction(summary, 4),
        ];
        let audits = audit_of(&entries);
        let own = audits[0].facts.iter().find(|fact| fact.text == "9090").unwrap();
        own.state.clone()
    };
    assert_eq!(told("port: 8080"), FactState::Stale { summary: "8080".to_owned() });
    assert_eq!(told("port: 9090 (was 8080)"), FactState::Kept);
    assert_eq!(told("nothing"), FactState::Lost);
}

#[test]
fn facts_in_kept_messages_or_read_again_are_not_later_uses() {
    let kept = audit_of(&[
        user("see notes/plan.txt"),
        answer("ok"),
        user("notes/plan.txt again"),
        compaction("They talked.", 2),
        answer("notes/plan.txt it is"),
    ]);
    assert_eq!(of_kind(&kept[0], FactKind::Path), [("notes/plan.txt", "in-kept-messages", None)]);
    let again = audit_of(&[
        user("see notes/plan.txt"),
        answer("ok"),
        user("go on"),
        compaction("They talked.", 2),
        result("c9", "ls", "notes/plan.txt", ""),
        answer("notes/plan.txt it is"),
    ]);
    assert_eq!(of_kind(&again[0], FactKind::Path), [("notes/plan.txt", "lost", None)]);
}

#[test]
fn a_second_summary_is_audited_against_the_first_and_its_kept_messages() {
    let audits = audit_of(&[
        user("see notes/plan.txt"),
        answer("ok"),
        user("go on"),
        compaction("They read notes/plan.txt.", 2),
        answer("Going on with run 550e8400-e29b-41d4."),
        user("and on"),
        compaction("They went on.", 5),
        answer("done"),
    ]);
    assert_eq!(audits.len(), 2);
    assert_eq!(of_kind(&audits[0], FactKind::Path), [("notes/plan.txt", "kept", None)]);
    assert_eq!(of_kind(&audits[1], FactKind::Path), [("notes/plan.txt", "lost", None)]);
    assert_eq!(of_kind(&audits[1], FactKind::Id), [("550e8400-e29b-41d4", "lost", None)]);
}

/// A fact, where it is planted, and whether the summary keeps it and a later answer uses it.
fn plant() -> impl Strategy<Value = (String, usize, bool, bool)> {
    let digest = "[0-9a-f]{5}[a-f][0-9]{2}[0-9a-f]{4,20}";
    let path = "[a-z]{3,8}/[a-z]{4,9}_[a-z]{2,5}\\.rs";
    let number = "[1-9][0-9]{5,8}";
    let text =
        prop_oneof![digest.prop_map(|text| text), path.prop_map(|text| text), number.prop_map(|text| text)];
    (text, 0_usize..4, any::<bool>(), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn every_planted_fact_has_its_state_and_no_fact_is_invented(plants in prop::collection::vec(plant(), 1..10)) {
        // Ends of paths and starts of digests count as the whole, so no plant may be part of another.
        let is_apart = plants.iter().enumerate().all(|(at, (one, ..))| {
            plants.iter().skip(at + 1).all(|(other, ..)| !one.contains(other.as_str()) && !other.contains(one.as_str()))
        });
        prop_assume!(is_apart);
        let told = |place: usize| {
            let own = plants.iter().filter(|plant| plant.1 == place).map(|plant| plant.0.as_str());
            own.collect::<Vec<_>>().join(" und ")
        };
        let joined = |keep: fn(&&(String, usize, bool, bool)) -> bool| {
            plants.iter().filter(keep).map(|plant| plant.0.as_str()).collect::<Vec<_>>().join("\n")
        };
        let audits = audit_of(&[
            user(&told(0)),
            call("c1", "run", &format!(r#"{{"input":{}}}"#, quoted(&told(1)))),
            result("c1", "run", &told(2), ""),
            answer(&told(3)),
            user("weiter"),
            compaction(&joined(|plant| plant.2), 4),
            answer(&joined(|plant| plant.3)),
        ]);
        let found = &audits[0].facts;
        for (text, _, kept, used) in &plants {
            let own = found.iter().find(|fact| fact.text == *text);
            prop_assert!(own.is_some(), "{text} is missing in {found:?}");
            let own = own.unwrap();
            prop_assert_eq!(own.state.as_str(), if *kept { "kept" } else { "lost" }, "{}", text);
            prop_assert_eq!(own.used_later.is_some(), !*kept && *used, "{}", text);
        }
        prop_assert_eq!(found.len(), plants.len());
    }
}
