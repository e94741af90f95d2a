//! Cells of several axes: every combination of one value each, numbered so that the last axis varies fastest.

use crate::report::sweep::axis::{Axis, AxisError};

/// The maximum number of cells; each is a replay of the whole session.
pub const MAX_CELLS: usize = 4096;

/// The number of values of each axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    lens: Vec<usize>,
}

impl Grid {
    /// Builds the grid of these axes.
    ///
    /// # Errors
    /// When two axes have one key, or the grid would exceed [`MAX_CELLS`].
    pub fn from_axes(axes: &[Axis]) -> Result<Self, AxisError> {
        for (at, axis) in axes.iter().enumerate() {
            if axes[..at].iter().any(|other| other.id == axis.id) {
                return Err(AxisError(format!(
                    "--vary {}: is varied twice. List all its values in one --vary.",
                    axis.key()
                )));
            }
        }
        let lens: Vec<usize> = axes.iter().map(|axis| axis.points.len()).collect();
        let cells = lens.iter().try_fold(1_usize, |cells, len| cells.checked_mul(*len));
        match cells {
            Some(cells) if cells <= MAX_CELLS => Ok(Self { lens }),
            _ => Err(AxisError(format!(
                "--vary: {} make {} cells; expected {MAX_CELLS} at most. Use fewer values or fewer axes.",
                lens.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × "),
                cells.map_or_else(|| "too many".to_owned(), |cells| cells.to_string()),
            ))),
        }
    }

    pub fn len(&self) -> usize {
        self.lens.iter().product()
    }

    /// Always `false`: a grid without axes has one cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value index of each axis in a cell.
    pub fn points_of(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut at = vec![0; self.lens.len()];
        for (place, len) in at.iter_mut().zip(&self.lens).rev() {
            (*place, rest) = (rest % len, rest / len);
        }
        at
    }

    /// Returns the cell with these value indices.
    pub fn cell_index(&self, at: &[usize]) -> usize {
        at.iter().zip(&self.lens).fold(0, |cell, (place, len)| cell * len + place)
    }
}
