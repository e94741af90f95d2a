//! Explanations in words, as the commands and the screen print them. The files beside this folder only fill in values.

mod advice;
mod counts;
mod guards;
