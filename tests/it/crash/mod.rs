//! Remains of a commit that a kill, a full disk or another writer interrupts, at every step of it: real processes,
//! killed for real, and the real runtime as the judge of the file.

#![cfg(unix)]

mod cases;
mod child;
mod disk;
mod forged;
mod full;
mod kills;
mod locks;
mod order;
mod others;
mod repairs;
mod swaps;
