//! Queries that ship with the program, `assets/queries/*.sql`.

/// A query in DuckDB's SQL over the views of a dataset. Its first line is a comment with its question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// The name on the command line and of the file.
    pub name: &'static str,
    pub sql: &'static str,
}

impl Recipe {
    /// Returns its question.
    pub fn question(self) -> &'static str {
        self.sql.lines().next().unwrap_or_default().trim_start_matches(['-', ' '])
    }
}

macro_rules! recipe {
    ($name:literal) => {
        Recipe { name: $name, sql: include_str!(concat!("../../assets/queries/", $name, ".sql")) }
    };
}

/// The recipes, in the order of the guide.
pub const RECIPES: [Recipe; 11] = [
    recipe!("overflows-per-week"),
    recipe!("cost-by-cause"),
    recipe!("fallback-window"),
    recipe!("replay-savings"),
    recipe!("regret-per-policy"),
    recipe!("idle-gaps"),
    recipe!("biggest-tools"),
    recipe!("cache-misses"),
    recipe!("compactions"),
    recipe!("unsure-verdicts"),
    recipe!("growth-per-day"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_begins_with_its_question() {
        for recipe in RECIPES {
            assert!(recipe.sql.starts_with("-- "), "{}", recipe.name);
            assert!(recipe.question().ends_with('?') && recipe.question().len() <= 100, "{}", recipe.name);
        }
    }
}
