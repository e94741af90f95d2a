//! What is left of a commit that a kill, a full disk or another writer breaks off, at every step of it: real processes,
//! killed for real, and the real runtime as the judge of what they leave behind.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failing test stops there")]

#[path = "../support/generate.rs"]
mod generate;
#[path = "../support/pi.rs"]
mod pi;
#[path = "../support/pi_1_5.rs"]
mod pi_1_5;
#[path = "../support/session.rs"]
mod session;

mod cases;
mod child;
mod disk;
mod full;
mod kills;
mod others;
mod repairs;
