//! The size and the place of a terminal cell in a picture.

/// Pixels.
pub(super) const CELL_WIDTH: i32 = 10;
/// Pixels.
pub(super) const CELL_HEIGHT: i32 = 21;

/// The top left pixel of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub(super) x: i32,
    pub(super) y: i32,
}
