pub(super) use crate::doc::{Align, Cell, Table};
