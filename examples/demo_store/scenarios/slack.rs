//! An incident channel: one turn requests three dumps at once, 330,371 chars at 1.40 chars per token. They follow the
//! last assistant message, so no pruning setting applies to them.
use super::super::content::infra;
use super::super::model::OPUS;
use super::super::prompt::FULL;
use super::super::session::{DemoSession, shared_chat_fields, shared_chat_message};
use super::super::tool::{ToolUse, exec, exec_background, exec_failed, process_log, read};
use super::super::transcript_writer::TranscriptWriter;
use super::at;

const CWD: &str = "/home/mei/ops";
const TITLE: &str = "#infra";

/// Sender, message, steps (see [`work`]), reply.
type Turn = (&'static str, &'static str, &'static str, &'static str);

const TURNS: [Turn; 9] = [
    (
        "Tomas",
        "<@lobster> billing is slow since the deploy, can you look?",
        "hll",
        "p95 went from 310 ms to 2.4 s at 09:12, right after the deploy. The pool of upstream connections is the suspect: 48 goroutines wait in `Conn.wait`.",
    ),
    (
        "Aisha",
        "is it only billing or ledger too?",
        "lle",
        "Ledger shows the same waits but recovers, since its pool is larger. Billing does not.",
    ),
    (
        "Tomas",
        "pool config, please",
        "rr",
        "Billing has `maxConns: 8` from a chart default; ledger sets 64 itself. The deploy removed the override.",
    ),
    (
        "Tomas",
        "ok putting it back. watch it for me",
        "lhl",
        "The override is live. p95 is back at 330 ms after four minutes; no pod restarted.",
    ),
    (
        "Jun",
        "while you're at it: edge-cache had handshake failures last night?",
        "ll",
        "Yes, 1,180 `certificate expired` lines between 02:10 and 04:45, all on n-fra-03. Its clock was 40 minutes ahead until NTP came back.",
    ),
    (
        "Jun",
        "why did ntp stop?",
        "lxh",
        "The firewall change of Tuesday dropped UDP 123 on that host only. The rule is in `hosts/n-fra-03.yaml`.",
    ),
    (
        "Aisha",
        "please open a fix, and check the other hosts for the same rule",
        "rrh",
        "Only n-fra-03 has it. The fix is one line; the branch is `ntp-allow-123`.",
    ),
    (
        "Tomas",
        "mqtt-bridge pods are restarting now, great day",
        "lel",
        "They restart on the readiness probe, not on errors: TLS to the broker takes longer than the probe's deadline.",
    ),
    (
        "Tomas",
        "same expired cert?",
        "ll",
        "Not the same one. The chain the broker sends has an intermediate that expired at noon today.",
    ),
];

fn work(s: &mut TranscriptWriter, step: char) -> ToolUse {
    let size = s.rng.range(27_300, 35_200) as usize;
    match step {
        'h' => exec("ops/health.sh", CWD, &infra::health(&mut s.rng), 0, 2_400),
        'e' => {
            exec("kubectl get events -n prod | tail -60", CWD, &infra::events(&mut s.rng, size / 5), 0, 1_900)
        }
        'r' => read(&format!("{CWD}/charts/billing/values.yaml"), &infra::service_log(&mut s.rng, size / 6)),
        'x' => exec_failed(
            "ssh n-fra-03 timedatectl",
            "Command timed out after 30 seconds. If this command is expected to take longer, re-run with a higher timeout (e.g., exec timeout=300).",
            30_000,
        ),
        _ => process_log("amber-otter", "stern billing ledger", &infra::service_log(&mut s.rng, size), 400),
    }
}

pub(in super::super) fn sessions() -> Vec<DemoSession> {
    let mut s = TranscriptWriter::begin("slack infra", &OPUS, &FULL, at(12, 4));
    for (who, requested, steps, answer) in TURNS {
        let text = shared_chat_message(&mut s, TITLE, who, requested);
        s.user(&text);
        for step in steps.chars() {
            let tool = work(&mut s, step);
            s.tool_step("", vec![tool]);
        }
        s.answer(answer);
        s.wait_s(420);
    }
    dumps(&mut s);
    let chat = shared_chat_fields("slack", "channel", "c07infra", TITLE);
    vec![DemoSession::new("main", "agent:main:slack:channel:c07infra", &s, &chat)]
}

fn dumps(s: &mut TranscriptWriter) {
    let text = shared_chat_message(
        s,
        TITLE,
        "Tomas",
        "get everything on mqtt-bridge: events, the journal, and a packet dump of the handshake. quick please",
    );
    s.user(&text);
    let started = s.now_ms;
    s.tool_step(
        "",
        vec![exec_background(
            "journalctl -f -u mqtt-bridge -o json --since -2h",
            CWD,
            "loud-cedar",
            40_112,
            started,
        )],
    );
    s.calibrate_prompt(154_535);
    let events = infra::events(&mut s.rng, 38_662);
    let journal = infra::journal_json(&mut s.rng, 155_016);
    let packets = infra::packets(&mut s.rng, 136_693);
    let uses = vec![
        exec("kubectl get events -n prod -o wide", CWD, &events, 0, 2_300).dense(1.4),
        process_log("loud-cedar", "journalctl -f -o json", &journal, 400).dense(1.4),
        exec("tcpdump -nn -xx -r /var/tmp/mqtt.pcap", CWD, &packets, 0, 1_700).dense(1.4),
    ];
    s.tool_step("Pulling all three at once.", uses);
    s.calibrate_prompt(390_607);
    let request = s.rng.base62(22);
    s.refused(&format!(
        "400 {{\"type\":\"error\",\"error\":{{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 390607 \
         tokens > 200000 maximum\"}},\"request_id\":\"req_01{request}\"}}"
    ));
}
