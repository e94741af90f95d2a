//! A store to rows, and to rows with their counts; a database at two sizes, whose sessions per second are the same where
//! the work is linear.

use std::path::PathBuf;

use clawscope::command::environment::Invocation;
use clawscope::command::output::Output;
use clawscope::gateway::env::Environment;
use clawscope::session::loading::open;
use clawscope::units::Moment;
use divan::Bencher;
use divan::counter::ItemsCount;
use rayon::prelude::*;
use rusqlite::Connection;

use crate::{WHOLE, large, made, opened};

const SESSIONS: usize = if WHOLE { 300 } else { 20 };
/// Sessions in a database.
const IN_DATABASE: [usize; 2] = if WHOLE { [1_000, 8_000] } else { [4, 32] };

/// A gateway's state with this many sessions.
fn store() -> PathBuf {
    made("state", |path| {
        large::store(path, SESSIONS, 3).unwrap();
    })
}

/// The first state of the list: rows, files and locks.
#[divan::bench(sample_count = 20)]
fn listing_rows_first(bencher: Bencher<'_, '_>) {
    let store = store();
    bencher.bench_local(|| assert_eq!(opened::listed(&store).items.len(), SESSIONS));
}

/// The complete list: every transcript counted.
#[divan::bench(sample_count = 5)]
fn listing_with_counts(bencher: Bencher<'_, '_>) {
    let store = store();
    bencher.bench_local(|| {
        let listed = opened::listed(&store);
        let count = |item: &clawscope::session::SessionItem| {
            open(&listed.store, &item.key, None, Moment::ZERO, &mut |_, _| true).unwrap().item.entries
        };
        listed.items.par_iter().filter_map(count).sum::<u64>()
    });
}

/// A gateway's state with a database of this many short sessions.
fn database(sessions: usize) -> PathBuf {
    made(&format!("database-{sessions}"), |state| {
        let folder = state.join("agents/main/agent");
        std::fs::create_dir_all(&folder).unwrap();
        let connection = Connection::open(folder.join("openclaw-agent.sqlite")).unwrap();
        connection.execute_batch(include_str!("../../tests/fixtures/sqlite-tables.sql")).unwrap();
        let insert = |rows: &str| {
            let ids = "WITH RECURSIVE ids(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM ids WHERE n < ?1)";
            connection.execute(&format!("{ids} INSERT INTO {rows} FROM ids"), [sessions as i64]).unwrap();
        };
        insert(
            "session_nodes (session_key, current_session_id, entry_json, updated_at) \
             SELECT 'agent:main:direct:' || n, 's' || n, json_object('sessionId', 's' || n), n",
        );
        insert("session_windows (session_id, session_key, created_at, updated_at) SELECT 's' || n, n, n, n");
        insert("transcript_rewrite_watermarks SELECT 's' || n, printf('%032x', n), n");
        for (seq, event) in EVENTS.iter().enumerate() {
            insert(&format!(
                "transcript_events (session_id, seq, event_json, created_at) SELECT 's' || n, {seq}, '{event}', n"
            ));
        }
    })
}

const EVENTS: [&str; 3] = [
    r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#,
    r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"List the files."}}"#,
    r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"text","text":"Two."}]}}"#,
];

/// `clawscope sessions --json`: every transcript counted and written.
#[divan::bench(args = IN_DATABASE, sample_count = 5)]
fn listing_a_database(bencher: Bencher<'_, '_>, sessions: usize) {
    let store = database(sessions);
    let words = ["clawscope", "sessions", store.to_str().unwrap(), "--json"].map(Into::into);
    let invocation = Invocation { env: Environment::default(), now_ms: Moment::ZERO };
    bencher.counter(ItemsCount::new(sessions)).bench_local(|| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = Output::new(&mut out, &mut err);
        assert_eq!(clawscope::command::main(words.clone(), &invocation, &mut output), 0);
    });
}
