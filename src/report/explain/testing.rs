//! Builds small cases for tests.

use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::session::testing::{call, loaded_session, message, result, transcript, user};
use crate::units::Tokens;

/// An answer to a prompt that the provider counted.
pub(super) fn answer(prompt: u64) -> String {
    message(&format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"done"}}],"stopReason":"stop","usage":{{"input":{prompt},"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":{}}}}}"#,
        prompt + 10
    ))
}

/// A refusal of 1,100 tokens by a provider that takes 1,000.
pub(super) fn refusal() -> String {
    message(
        r#"{"role":"assistant","content":[],"stopReason":"error","errorMessage":"prompt is too long: 1100 tokens > 1000 maximum"}"#,
    )
}

/// Builds the failure of a session that ends in a refusal; `sizes` names its messages (`u` user, `a` answer with a call,
/// `r` result, `i` image) with their tokens, `prompt` and `fixed` are tokens. The limit is 1,000 tokens.
pub(super) fn with_failure<T>(
    sizes: &str,
    prompt: u64,
    fixed: u64,
    ask: impl FnOnce(&OverflowCase<'_>, &Failure) -> T,
) -> T {
    let image = r#"{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"QUJD"}]}"#;
    let (kinds, weights): (Vec<&str>, Vec<f64>) = sizes
        .split_whitespace()
        .map(|word| word.split_once(':').expect("a kind and tokens"))
        .map(|(kind, tokens)| (kind, tokens.parse::<f64>().expect("tokens")))
        .unzip();
    let entry = |kind: &&str| match *kind {
        "u" => user("go on"),
        "a" => call("c", "exec", "{}"),
        "r" => result("c", "exec", "done", ""),
        _ => message(image),
    };
    let entries: Vec<String> = kinds.iter().map(entry).chain([refusal()]).collect();
    let session = loaded_session(&transcript(&entries), 200_000.0);
    let mut case = OverflowCase::read(&session, None).expect("memory is readable");
    let mut failure = case.failure.take().expect("a refusal");
    assert_eq!(failure.session.context.messages.len(), weights.len());
    (failure.weights, failure.limit) = (weights.into_iter().map(Tokens).collect(), 1_000);
    (failure.prompt_tokens, failure.fixed_tokens) = (prompt, fixed);
    ask(&case, &failure)
}
