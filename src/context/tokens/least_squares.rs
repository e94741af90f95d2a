//! Weighted least squares with at most three unknowns. Returns `None` when the columns are collinear.

/// One observation: `y` is the sum of `x` times the unknowns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    pub(super) x: [f64; 3],
    pub(super) y: f64,
}

/// The unknowns with their standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Solution {
    pub(super) factors: [f64; 3],
    pub(super) errors: [f64; 3],
}

/// Minimum pivot; below it the columns are collinear.
const MIN_PIVOT: f64 = 0.02;
/// Rounds of reweighting; more make no visible difference.
const REWEIGHT_ROUNDS: usize = 16;

/// Fits the first `unknowns` columns so that the sum of absolute errors is minimal: repeated least squares, each round
/// weighting a row by the inverse of its residual. A few outliers, such as prompts that were pruned unseen, do not move
/// the result. `None` for collinear columns or too few rows.
pub(super) fn fit(rows: &[Observation], unknowns: usize) -> Option<Solution> {
    let size = |row: &Observation| row.x[..unknowns].iter().sum::<f64>().max(1.0);
    let mut weights: Vec<f64> = rows.iter().map(|row| 1.0 / size(row)).collect();
    let mut solution = solve(rows, &weights, unknowns)?;
    for _ in 0..REWEIGHT_ROUNDS {
        for (row, weight) in rows.iter().zip(&mut weights) {
            *weight = 1.0 / residual(row, &solution.factors).abs().max(1.0 + row.y.abs() / 100.0);
        }
        solution = solve(rows, &weights, unknowns)?;
    }
    Some(solution)
}

fn residual(row: &Observation, factors: &[f64; 3]) -> f64 {
    row.y - row.x.iter().zip(factors).map(|(x, factor)| x * factor).sum::<f64>()
}

/// Solves the normal equations, with columns scaled alike, by elimination.
fn solve(rows: &[Observation], weights: &[f64], unknowns: usize) -> Option<Solution> {
    if rows.len() <= unknowns {
        return None;
    }
    let mut normal = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for (row, weight) in rows.iter().zip(weights) {
        for (i, line) in normal.iter_mut().enumerate().take(unknowns) {
            right[i] += weight * row.x[i] * row.y;
            for (cell, x) in line.iter_mut().zip(row.x) {
                *cell += weight * row.x[i] * x;
            }
        }
    }
    let scale: [f64; 3] = std::array::from_fn(|i| normal[i][i].sqrt());
    if scale[..unknowns].iter().any(|scale| *scale <= 0.0 || !scale.is_finite()) {
        return None;
    }
    let scaled = std::array::from_fn(|i| std::array::from_fn(|j| normal[i][j] / (scale[i] * scale[j])));
    let inverse = inverse(scaled, unknowns)?;
    let mut factors = [0.0; 3];
    for i in 0..unknowns {
        factors[i] = (0..unknowns).map(|j| inverse[i][j] * right[j] / scale[j]).sum::<f64>() / scale[i];
    }
    let squares: f64 =
        rows.iter().zip(weights).map(|(row, weight)| weight * residual(row, &factors).powi(2)).sum();
    let variance = squares / (rows.len() - unknowns) as f64;
    let mut errors = [0.0; 3];
    for i in 0..unknowns {
        errors[i] = (variance * inverse[i][i]).sqrt() / scale[i];
    }
    Some(Solution { factors, errors })
}

/// Inverts the leading part of a symmetric matrix with ones on its diagonal.
fn inverse(mut matrix: [[f64; 3]; 3], size: usize) -> Option<[[f64; 3]; 3]> {
    let mut inverse: [[f64; 3]; 3] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for at in 0..size {
        let pivot = matrix[at][at];
        if pivot < MIN_PIVOT {
            return None;
        }
        for j in 0..size {
            matrix[at][j] /= pivot;
            inverse[at][j] /= pivot;
        }
        for i in (0..size).filter(|i| *i != at) {
            let times = matrix[i][at];
            for j in 0..size {
                matrix[i][j] -= times * matrix[at][j];
                inverse[i][j] -= times * inverse[at][j];
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(points: &[[f64; 3]], factors: [f64; 3]) -> Vec<Observation> {
        let y = |x: &[f64; 3]| x.iter().zip(factors).map(|(x, factor)| x * factor).sum();
        points.iter().map(|x| Observation { x: *x, y: y(x) }).collect()
    }

    #[test]
    fn exact_data_gives_exact_factors() {
        let points = [[10.0, 0.0, 2.0], [3.0, 9.0, 1.0], [5.0, 5.0, 9.0], [8.0, 1.0, 1.0], [2.0, 2.0, 0.0]];
        let solution = fit(&rows(&points, [0.25, 0.7, 0.5]), 3).expect("independent rows");
        for (found, wanted) in solution.factors.iter().zip([0.25, 0.7, 0.5]) {
            assert!((found - wanted).abs() < 1e-9, "{solution:?}");
        }
    }

    #[test]
    fn collinear_columns_are_reported() {
        let points = [[10.0, 20.0, 0.0], [3.0, 6.0, 0.0], [5.0, 10.01, 0.0], [8.0, 16.0, 0.0]];
        assert_eq!(fit(&rows(&points, [0.25, 0.7, 0.0]), 2), None);
        assert!(fit(&rows(&points, [0.25, 0.7, 0.0]), 1).is_some());
        assert_eq!(fit(&rows(&points[..2], [0.25, 0.7, 0.0]), 2), None);
    }

    #[test]
    fn one_outlier_does_not_change_the_fit() {
        let points: Vec<[f64; 3]> =
            (1..12).map(|at| [f64::from(at) * 1000.0, f64::from(at % 5) * 700.0, 0.0]).collect();
        let mut rows = rows(&points, [0.25, 0.7, 0.0]);
        rows[4].y += 90_000.0;
        let solution = fit(&rows, 2).expect("independent rows");
        assert!((solution.factors[0] - 0.25).abs() < 0.005, "{solution:?}");
        assert!((solution.factors[1] - 0.7).abs() < 0.02, "{solution:?}");
    }
}
