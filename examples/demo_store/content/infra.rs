//! Output for an operations channel: cluster events, journals as JSON, packet dumps.
use super::super::rng::Rng;
use super::super::template::{Pools, fill, lines};

const NODES: [&str; 5] = ["n-ams-01", "n-ams-02", "n-fra-01", "n-fra-03", "n-hel-02"];

const POOLS: &Pools = &[
    ("app", &["gateway", "ingest", "billing", "search", "notify", "mqtt-bridge", "ledger", "edge-cache"]),
    ("node", &NODES),
    ("reason", &["BackOff", "Unhealthy", "Pulled", "Scheduled", "Killing", "FailedMount", "NodeNotReady"]),
    (
        "detail",
        &[
            "Readiness probe failed: Get \"http://10.42.{#0-9}.{#2-250}:8080/healthz\": context deadline exceeded",
            "Back-off restarting failed container",
            "MountVolume.SetUp failed for volume \"tls\": secret not found",
            "Container image already present on machine",
            "Stopping container because its node is draining",
        ],
    ),
];

/// `kubectl get events`, exactly `chars` long.
pub(in super::super) fn events(rng: &mut Rng, chars: usize) -> String {
    let row = "prod   {#1-59}m   Warning   {reason}   pod/{app}-{x10}-{x5}   {detail} ({node})";
    exact(lines(rng, POOLS, &[row], chars), chars)
}

/// `journalctl -o json` with cursors and hashes, exactly `chars` long.
pub(in super::super) fn journal_json(rng: &mut Rng, chars: usize) -> String {
    let row = "{\"__CURSOR\":\"s={x32};i={x6};b={x32};m={x10};t={x13};x={x16}\",\"_BOOT_ID\":\"{x32}\",\"_MACHINE_ID\":\"{x32}\",\"TLS_SESSION\":\"{b88}\",\"UNIT\":\"{app}.service\",\"MESSAGE\":\"peer 10.42.{#0-9}.{#2-250} sha256={x64} verify=0x{x8}\"}";
    exact(lines(rng, POOLS, &[row], chars), chars)
}

/// `tcpdump -nn -xx`, exactly `chars` long.
pub(in super::super) fn packets(rng: &mut Rng, chars: usize) -> String {
    let row = "14:0{#1-9}:{#10-59}.{#100000-999999} IP 10.42.{#0-9}.{#2-250}.{#30000-60999} > 10.42.0.11.443: Flags [P.], seq {#1-99999}, win 501, length {#40-1400}\n\t0x0000:  {x4} {x4} {x4} {x4} {x4} {x4} {x4} {x4}\n\t0x0010:  {x4} {x4} {x4} {x4} {x4} {x4} {x4} {x4}\n\t0x0020:  {x4} {x4} {x4} {x4} {x4} {x4} {x4} {x4}\n\t0x0030:  {x4} {x4} {x4} {x4} {x4} {x4} {x4} {x4}";
    exact(lines(rng, POOLS, &[row], chars), chars)
}

/// A service log as people paste it, about `chars` long.
pub(in super::super) fn service_log(rng: &mut Rng, chars: usize) -> String {
    let rows: &[&str] = &[
        "2026-03-05T0{#1-9}:{#10-59}:{#10-59}Z {app} level=info msg=\"request done\" status=200 ms={#2-480} route=/v1/{app} peer={node}",
        "2026-03-05T0{#1-9}:{#10-59}:{#10-59}Z {app} level=warn msg=\"upstream slow\" upstream={app} ms={#900-9000} retry={#1-3}",
        "2026-03-05T0{#1-9}:{#10-59}:{#10-59}Z {app} level=error msg=\"tls handshake failed\" peer={node} err=\"remote error: certificate expired\"",
        "goroutine {#10-900} [select, {#1-90} minutes]:\n{app}/internal/pool.(*Conn).wait(0xc000{x6})\n\t/src/internal/pool/conn.go:{#20-400} +0x{x3}\n{app}/internal/pool.(*Pool).Get(0xc000{x6})\n\t/src/internal/pool/pool.go:{#20-300} +0x{x2}",
    ];
    lines(rng, POOLS, rows, chars)
}

/// Load, memory and disk of every node, one line each.
pub(in super::super) fn health(rng: &mut Rng) -> String {
    let row = "  load {#0-3}.{#10-99}  mem {#30-88}%  disk / {#40-86}%  /var {#30-91}%  up {#1-90}d  pods {#11-48}  restarts {#0-3}\n";
    NODES.iter().fold(String::new(), |mut out, node| {
        out.push_str(node);
        fill(&mut out, rng, POOLS, row);
        out
    })
}

/// Cuts an ASCII text to `chars` bytes and ends it with `]`, because a tool would strip white space at the end.
fn exact(mut text: String, chars: usize) -> String {
    text.truncate(chars - 1);
    text.push(']');
    text
}
