//! Recipes: plans that fit many projects, filled in with a goal and the project's checks.

use maestro_core::Settings;

use crate::args::PlanRecipe;
use crate::commands::proposed_checks;
use crate::host::world::World;

impl PlanRecipe {
    fn template(self) -> &'static str {
        match self {
            Self::Upgrade => include_str!("recipes/upgrade.md"),
            Self::Coverage => include_str!("recipes/coverage.md"),
            Self::Lint => include_str!("recipes/lint.md"),
        }
    }
}

/// The text of a recipe for a goal.
pub(super) fn fill_in(recipe: PlanRecipe, goal: &str, settings: &Settings, world: &World) -> String {
    // The goal is the user's own text and may contain the other name.
    let parts = recipe.template().split("{goal}").map(|part| part.replace("{checks}", &checks(settings, world)));
    parts.collect::<Vec<_>>().join(goal)
}

/// What must pass after each task, as a sentence.
fn checks(settings: &Settings, world: &World) -> String {
    let mut commands = settings.verify.value.clone();
    if commands.is_empty() {
        commands.extend(proposed_checks::likely_check(world).map(|check| check.command.to_owned()));
    }
    let named: Vec<String> = commands.iter().map(|command| format!("`{command}`")).collect();
    match named.as_slice() {
        [] => "All tests of the project pass after each task.".to_owned(),
        [one] => format!("{one} passes after each task."),
        several => format!("After each task these pass: {}.", several.join(", ")),
    }
}
