//! Every integration test, in one program: linking the crate once costs less than linking it forty times.
//!
//! Tests share this process and run in parallel. A test therefore has its own folder, sets no environment variable of
//! this process, and waits for conditions with a deadline.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failing test stops there")]

mod alerts;
mod app;
mod branches;
mod budget;
mod cache_ledger;
mod circles;
mod citations;
mod cli;
mod commit;
mod compact;
mod config;
mod config_cases;
mod crash;
mod dataset;
mod explain;
mod export;
mod export_eras;
mod export_shape;
mod follow;
mod frames;
mod fuzz;
mod golden;
mod golden_ops;
mod golden_pi;
mod json_outputs;
mod layers;
mod limits;
mod migration;
mod models;
#[cfg(unix)]
mod new_session;
mod overflow_texts;
mod packaging;
mod plain;
mod properties;
mod pty;
mod pty_input;
mod pty_screens;
mod readme;
mod real_e2e;
mod real_lock;
mod real_pi;
mod real_pi_1_5;
mod real_pi_releases;
mod real_safeguard;
mod regret_guard;
mod remote;
mod replay;
mod replay_naive;
mod same_numbers;
mod screens;
mod sqlite;
mod steps;
mod summarize;
mod support;
mod sweep;
mod timeline;
mod titles;
mod upstream;
mod watching;
mod workspace;
mod zz_skipped;
