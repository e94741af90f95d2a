//! A terminal session inspector: why did this LLM session overflow its context window, and which
//! settings would have prevented it?
//!
//! # Map
//!
//! A module imports only from modules above it in this list; `tests/it/layers.rs` enforces that. `src/ARCHITECTURE.md`
//! follows one entry and one key press through them.
//!
//! ```text
//! bytes ─ store ─▶ transcript ─▶ context ─▶ policy ─▶ plan ─▶ session ─▶ report ─▶ app ─▶ ui
//!                                                      ├────▶ replay ─▶ session
//!                                                      └────▶ commit ─▶ bytes (append only)
//! ```
//!
//! * **Vocabulary**: [`units`], tokens, chars, bytes, durations and moments as types that cannot be mixed; [`ids`]; [`files`], the only opener of files for reading, and the one way to replace a file; [`rulebook`], the rules of gateways and pi in words, as `assets/rules/` ships them;
//!   [`guide`], the pages of `assets/guide/`;
//!   [`diagnostic`], a fault in a file with its line and advice; [`js`], the JavaScript semantics that the gateway's
//!   rules rely on; [`mod@format`], every number, size, time and sum of money as text; [`text`], the only way of transcript
//!   text to the terminal; [`redact`], which masks secrets.
//! * **Settings**: [`gateway`], the gateway's settings, each value with its provenance, and [`gateway::ruleset`], the rules
//!   of each release as data; [`config`], clawscope's own settings.
//! * **Store**: [`store`], the only reader of session files and databases: discovery, session records, the size-first
//!   index, growth, bodies on demand, and the built-in demo store. [`store::migration`] compares files with their import.
//! * **Transcript**: [`transcript`], entries to a tree with branches; [`context`], a branch to what the model is sent.
//! * **Rules**: [`policy`], sizes to fates, each policy behind [`policy::trimming::TrimmingPolicy`]; [`plan`], fates to one change that can be shown, applied and committed;
//!   [`replay`], every model call of a session under other settings.
//! * **Writing**: [`commit`], the only writer of session files; [`summarize`], who writes a compaction summary.
//! * **Answers**: [`session`], one opened session and the list it is in; [`mod@write`], a commit as a person requests it;
//!   [`doc`], sentences and tables that a command prints and a screen draws;
//!   [`report`], questions about a session answered as values, among them [`report::explain`], [`report::sweep`], [`report::cache_ledger`], [`report::regret`] and [`report::summary_audit`];
//!   [`export`], sessions and screens as documents without secrets; [`dataset`], sessions as tables for other engines.
//! * **Program**: [`app`], events in and effects out, without IO; [`ui`], state to cells; [`runtime`], the only terminal
//!   and the only tokio; [`cli`] and [`command`], arguments to library calls to text; [`remote`], which runs
//!   clawscope on the machine of the store, or a command on a copy of it.
//!
//! # Decisions
//!
//! *Sizes first*: indexing reads each line once and keeps a small record per entry. Policies decide from sizes alone, so
//! that a moved threshold costs arithmetic; texts are read only when a person opens them.
//!
//! *Files are live*: another process appends to them. They are read at positions, never mapped and never rewritten;
//! growth is indexed from the old end, and a result computed under an older [`ids::Epoch`] is dropped.
//!
//! # Glossary
//!
//! Types, fields, files, settings and screens use these words in these meanings only.
//!
//! | word | meaning |
//! |---|---|
//! | state dir, store, agent | the gateway's folder; its collection of sessions; one agent's part of it |
//! | session key, session id, session record | the routing key; the transcript's identity; the store's row of it |
//! | transcript, entry, leaf, branch | an append-only tree; a line of it; its active end; a path from root to leaf |
//! | message, role, block | the content of an entry; its sender; text, thinking, tool call or image in it |
//! | context | the ordered messages that the model is sent from a leaf |
//! | window, budget, reserve | tokens that the model takes; the usable part; the part kept free for the answer |
//! | chars | UTF-16 code units, because the gateway counts them |
//! | estimate, measured, calibrated | by rule; reported by the provider; by rule, scaled to the session's own usage |
//! | policy, settings, ruleset | one trimming rule; its parameters; the rules of one gateway release |
//! | fate, reason | the effect of a policy on a message; why it has that fate |
//! | plan | an ordered, checked list of fates over one context |
//! | features, digest | data of a message's content that sizes lack; a message as tool-use clearing reads it |
//! | predict | to compute sizes after an edit without making the text |
//! | replay, model call, trace | a session under other settings; one request to the model; one pass over all calls |
//! | replay base, range totals | the shared data of both traces; sums over a range of messages |
//! | cache key | the values that two prompts must share for the second to be read from the provider's cache |
//! | cache ledger, miss | what the provider's cache served of each call; tokens of the previous prompt that it did not |
//! | loss, need, regret | a message that a prompt lacks; its later use; all losses of a trace with their needs |
//! | fact, audit | a path, id, number, date, error, limit or decision in a text; the share of them that a summary keeps |
//! | free, headroom | to remove tokens from a prompt; the tokens that every prompt must leave in the window |
//! | sweep | many replays over a grid of settings |
//! | commit | writing a plan as a new branch, or as pi's own context edits |
//! | manual change, way out | another branch, or one without some messages, as a person chooses; one that explain advises |
//! | diagnostic, finding | a fault in a store; one part of an explanation |
//! | loaded session, context details | a session with everything that reports need; the features of its context |
//! | link, person, copy | the command that reaches another machine; who typed it; the files of a store there, in a folder here |
pub mod app;
pub mod cli;
pub mod command;
pub mod commit;
pub mod config;
pub mod context;
pub mod dataset;
pub mod diagnostic;
pub mod doc;
pub mod export;
pub mod files;
pub mod format;
pub mod gateway;
pub mod guide;
pub mod ids;
pub mod js;
pub mod plan;
pub mod policy;
pub mod redact;
pub mod remote;
pub mod replay;
pub mod report;
pub mod rulebook;
pub mod runtime;
pub mod session;
pub mod store;
pub mod summarize;
pub mod text;
pub mod transcript;
pub mod ui;
pub mod units;
pub mod write;
