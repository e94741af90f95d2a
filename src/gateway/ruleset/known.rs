//! The names of the known rulesets. The tables in `releases.rs` and `pi.rs` give each name its releases and rules.

/// A set of rules, named after the first release that has them. The order of the variants is the order of releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Ruleset {
    /// The oldest known pi, an agent runtime without a gateway.
    Pi0_55,
    /// The summarizer sees truncated tool results. `pi_release.rs` lists the changes of this and every later release.
    Pi0_56_3,
    /// An empty session name clears the name.
    Pi0_59,
    /// A compaction starts at the first entry that the previous one kept.
    Pi0_63_1,
    /// Images of users count.
    Pi0_76,
    /// Files are read line by line.
    Pi0_78_1,
    /// A compaction needs something to summarise.
    Pi0_79_8,
    /// A usage of 0 anchors no estimate.
    Pi0_80_0,
    /// Compactions cut by the parts of the context.
    Pi0_80_4,
    /// The summarizer sees tool results that are plain text.
    Pi0_81,
    /// The window is checked between turns.
    Pi0_84_4,
    /// The prompt and the tools are messages.
    Pi0_86,
    /// Contexts can be edited.
    Pi0_87,
    /// Nested calls name files.
    Pi0_99,
    /// The summarizer sees no thinking.
    Pi1_2,
    /// Instructions reach the beginning of a split turn.
    Pi1_4,
    /// Summaries of branches respect edits.
    Pi1_5_0,
    /// The newest, from 1.5.1 on.
    Pi1_5,
    /// The oldest known gateway, still called clawdbot.
    V2026_1_24,
    /// Markers carry the new name.
    V2026_1_29,
    /// The runtime reads `exceeded model token limit` as an overflow.
    V2026_1_30,
    /// The lower of two windows counts.
    V2026_2_1,
    /// Nothing is pruned: the pruner no longer reaches the session.
    V2026_2_2,
    /// Results of failed calls are dropped.
    V2026_2_6,
    /// A single tool result has a limit.
    V2026_2_9,
    /// Rate limits are checked before overflows.
    V2026_2_12,
    /// A guard limits tool results; groups have turn limits.
    V2026_2_17,
    /// The pruner works again.
    V2026_2_21,
    /// A truncated block keeps 2217 chars.
    V2026_2_22,
    /// A ttl may have several parts; more providers are pruned.
    V2026_2_23,
    /// A text about cooling down is a rate limit.
    V2026_2_25,
    /// Images that the model has answered become a text.
    V2026_2_26,
    /// The rules of the reference.
    V2026_3_1,
    /// The reference: the version that every rule is checked against.
    #[default]
    V2026_3_2,
    /// A truncated text keeps its tail if the tail looks important.
    V2026_3_7,
    /// The runtime compacts once in a run.
    V2026_3_8,
    /// Results with images are pruned.
    V2026_3_11,
    /// The guard ends calls that are still too large.
    V2026_3_22,
    /// Providers are known by their aliases.
    V2026_3_28,
    /// The pruner counts Chinese, Japanese and Korean characters more than once.
    V2026_3_31,
    /// The pruner counts the signatures of thinking.
    V2026_4_1,
    /// A tool result has at most 40,000 chars; images stay for three turns.
    V2026_4_5,
    /// Prompts are checked before they are sent; only a marker of the same model is the last touch.
    V2026_4_7,
    /// More texts of llama.cpp are overflows.
    V2026_4_10,
    /// The reserve of the check before a prompt leaves room for a prompt.
    V2026_4_12,
    /// A tool result has at most 16,000 chars, or the configured number.
    V2026_4_15,
    /// Failed answers with calls are not sent.
    V2026_4_24,
    /// Media references are removed with the images.
    V2026_4_25,
    /// Chinese texts are rate limits.
    V2026_4_27,
    /// A share of the window decides whether a window is too small.
    V2026_4_29,
    /// The check before a chat turn reads the usage.
    V2026_5_2,
    /// It adds what follows the usage.
    V2026_5_7,
    /// Answers without calls no longer end the search for a result.
    V2026_5_12,
    /// The guard no longer counts details.
    V2026_5_18,
    /// The check before a prompt approximates a tokenizer.
    V2026_5_22,
    /// The limit of a result depends on the size of the window.
    V2026_5_26,
    /// The gateway has its own runtime.
    V2026_5_28,
    /// Late results move up; ids may carry their provider.
    V2026_6_1,
    /// A compaction has three minutes.
    V2026_6_6,
    /// The check before a chat turn uses the window of the run.
    V2026_6_8,
    /// It adds the new message to the stored total.
    V2026_6_9,
    /// Results that were sent once keep their bytes.
    V2026_6_11,
    /// The check before a prompt counts results by the unit.
    V2026_6_33,
    /// All results together may take half the window.
    V2026_7_1,
    /// The pruner splits no surrogate pair.
    V2026_7_33,
    /// Sessions are in a database; pruned results stay pruned while the gateway runs.
    V2026_8_1,
    /// Pruned results stay pruned for good.
    V2026_9_2,
    /// The reserve is at most a quarter of the window.
    V2026_9_3,
    /// The lower window of a configured model counts, and the tools.
    V2026_9_5,
    /// The newest: an estimate also counts what surrounds a message.
    V2026_9_6,
}
