//! The documented sizes of requests, for a status 413 without text (overflow-texts 5.1).

use crate::units::Bytes;

const MB: u64 = 1_000_000;
/// The largest request of each provider, by the names that pi and the gateway use.
const LIMITS: [(&str, u64); 6] = [
    ("anthropic", 32 * MB),
    ("amazon-bedrock", 20 * MB),
    ("bedrock", 20 * MB),
    ("google", 20 * MB),
    ("google-vertex", 20 * MB),
    ("openai", 50 * MB),
];

/// Returns the largest request that a provider documents; `None` if clawscope knows of no limit.
pub fn documented_request_limit(provider: &str) -> Option<Bytes> {
    LIMITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(provider)).map(|(_, limit)| Bytes(*limit))
}
