//! Whether a request that was refused with a status and no text may have been too large in bytes (overflow-texts 5.1).

use crate::ids::EntryIx;
use crate::policy::overflow::documented_request_limit;
use crate::session::prompt_estimates::PromptEstimates;
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::units::{Bytes, Chars};

/// Chars of a request from which the smallest common limit of servers, 1 MB, may refuse it for its bytes.
const SMALLEST_BODY_LIMIT: Chars = Chars(1_000_000.0);
/// Share of a documented limit that the estimate must reach: the request holds the prompt and the tools too.
const MIN_LIMIT_SHARE: f64 = 0.9;
/// Fewer bytes in a message for each of its images mean that a copy of the store lacks their data.
const MIN_IMAGE_BYTES: u64 = 1_000;
/// Chars per estimated token.
const CHARS_PER_TOKEN: f64 = 4.0;

/// Whether the request of a failed call may have been too large in bytes: by the limit that its provider documents, else if
/// it had images, or as many chars as the smallest common limit of servers.
pub(super) fn may_exceed_bytes(index: &Index, call: EntryIx, provider: &str) -> bool {
    let estimates = PromptEstimates::new(index, None);
    let chars = estimates.sent_to(call).to_chars(CHARS_PER_TOKEN);
    let path = std::iter::successors(estimates.parent(call), |ix| estimates.parent(*ix));
    let sent =
        path.take_while(|ix| !matches!(index.entry(*ix).kind, EntryKind::Compaction | EntryKind::Reset));
    let with_images = sent.filter_map(|ix| Some((index.entry(ix), index.entry(ix).message?.images)));
    let (mut images, mut data, mut is_complete) = (0, 0, true);
    for (entry, count) in with_images.filter(|(_, count)| *count > 0) {
        images += count;
        data += entry.bytes().0;
        is_complete &= entry.bytes().0 >= MIN_IMAGE_BYTES * u64::from(count);
    }
    match documented_request_limit(provider) {
        Some(Bytes(limit)) if is_complete => chars.get() + data as f64 >= MIN_LIMIT_SHARE * limit as f64,
        _ => images > 0 || chars >= SMALLEST_BODY_LIMIT,
    }
}

#[cfg(test)]
mod tests {
    use crate::session::overflow::OverflowKind;
    use crate::session::testing::{loaded_session, message, transcript, user};

    fn kind_after(first: &str, provider: &str) -> OverflowKind {
        let failed = format!(
            r#"{{"role":"assistant","provider":"{provider}","model":"m","content":[],"stopReason":"error","errorMessage":"413 status code (no body)"}}"#
        );
        let session = loaded_session(&transcript(&[first.to_owned(), message(&failed)]), 200_000.0);
        session.overflows.first().expect("an overflow").kind
    }

    fn image(bytes: usize) -> String {
        let data = "A".repeat(bytes);
        let content = format!(
            r#"{{"role":"user","content":[{{"type":"image","data":"{data}","mimeType":"image/png"}}]}}"#
        );
        message(&content)
    }

    #[test]
    fn where_no_limit_is_known_a_413_without_a_body_is_for_bytes_if_the_request_may_have_many() {
        assert_eq!(kind_after(&user(&"x".repeat(40_000)), "p"), OverflowKind::Refused);
        assert_eq!(kind_after(&user(&"x".repeat(1_100_000)), "p"), OverflowKind::Bytes);
        assert_eq!(kind_after(&image(4), "p"), OverflowKind::Bytes);
    }

    #[test]
    fn the_documented_limit_of_the_provider_decides_where_there_is_one() {
        assert_eq!(kind_after(&user(&"x".repeat(1_100_000)), "anthropic"), OverflowKind::Refused);
        assert_eq!(kind_after(&image(1_500_000), "anthropic"), OverflowKind::Refused);
        assert_eq!(kind_after(&image(19_000_000), "google"), OverflowKind::Bytes);
        assert_eq!(kind_after(&image(19_000_000), "anthropic"), OverflowKind::Refused);
        assert_eq!(
            kind_after(&image(4), "anthropic"),
            OverflowKind::Bytes,
            "a copy without the image's data"
        );
    }
}
