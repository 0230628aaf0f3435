//! Built-in steps on milestone plans: whether one is sound, what is given out next, what changed, what a review covers.

use maestro_core::milestone_plan::{
    ChangeKind, CoverageRule, MilestonePlan, MilestonePlanStage, missing_coverage, next_wave, plan_mistakes,
    read_milestone_plan,
};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::{BuiltinCall, BuiltinError, plans};
use crate::blocking;
use crate::git::patch_check;
use crate::git_changes;
use crate::host::Host;

impl BuiltinCall<'_> {
    /// What a plan says, if it is sound. With `stage: diffs` its diffs must apply to the commit it was made for.
    pub(super) async fn outline(&self) -> Result<Json, BuiltinError> {
        let (plan, text) = self.milestone_plan()?;
        let stage = match self.argument("stage") {
            None | Some("intent") => MilestonePlanStage::Intent,
            Some("diffs") => MilestonePlanStage::Diffs,
            Some(other) => {
                return Err(BuiltinError::Failed(format!("`{other}` is no stage; it is `intent` or `diffs`")));
            }
        };
        let mistakes = plan_mistakes(&plan, stage);
        let path = self.required_argument("plan")?;
        if !mistakes.is_empty() {
            return Err(BuiltinError::Failed(format!("`{path}` is no sound plan:\n{}", list(&mistakes))));
        }
        let base = self.commit_of(&plan.base).await?;
        if stage == MilestonePlanStage::Diffs {
            self.check_patch(&base, plan.patch()).await?;
        }
        let milestones = plan.milestones.iter().map(|milestone| {
            json!({
                "id": milestone.id,
                "title": milestone.title,
                "kind": milestone.kind.or(plan.kind).map(ChangeKind::as_str),
                "depends_on": milestone.depends_on,
                "files": milestone.files,
                "acceptance": milestone.acceptance,
            })
        });
        Ok(json!({
            "title": plan.title,
            "base": base,
            "kind": plan.kind.map(ChangeKind::as_str),
            "size": plan.size().as_str(),
            "files": plan.files().collect::<Vec<_>>(),
            "milestones": milestones.collect::<Vec<_>>(),
            "fingerprint": fingerprint(&text),
        }))
    }

    /// Whether the diffs of a plan apply to a commit, all of them one after the other.
    async fn check_patch(&self, base: &str, patch: String) -> Result<(), BuiltinError> {
        if patch.is_empty() {
            return Ok(());
        }
        let (workspace, commit) = (self.executor.env().workspace.clone(), base.to_owned());
        let checked = blocking::run(move || patch_check::applies(&workspace, &commit, &patch)).await;
        checked.map_err(|reason| {
            let plan = self.argument("plan").unwrap_or_default();
            let hint = "Each hunk has the unchanged lines around it, byte for byte: three before and three after, fewer only \
                        where the file begins or ends.";
            BuiltinError::Failed(format!("the diffs in `{plan}` do not apply to {base}:\n{reason}\n{hint}"))
        })
    }

    /// The milestones with code that come next: those that `given` does not name and whose dependencies it does.
    pub(super) fn wave(&self) -> Result<Json, BuiltinError> {
        let (plan, text) = self.milestone_plan()?;
        if self.argument("fingerprint").is_some_and(|before| before != fingerprint(&text)) {
            let path = self.required_argument("plan")?;
            return Err(BuiltinError::Failed(format!("`{path}` was changed while it is carried out; restore it")));
        }
        let mut given: Vec<String> =
            self.argument("given").unwrap_or_default().split(", ").map(str::to_owned).collect();
        given.retain(|id| !id.is_empty());
        let wave = next_wave(&plan, &given, Some(ChangeKind::Code));
        given.extend(wave.iter().map(|job| job.id.clone()));
        Ok(json!({ "wave": wave, "given": given }))
    }

    /// What all files of the workspace are now, by which later changes are found.
    pub(super) async fn tree_now(&self) -> Result<String, BuiltinError> {
        let workspace = self.executor.env().workspace.clone();
        let unknown = || BuiltinError::Failed("git does not know the files here; run `git init`".to_owned());
        blocking::run(move || git_changes::tree_hash(&workspace)).await.ok_or_else(unknown)
    }

    /// What changed since a moment, and which of it the plan does not name and no reason explains.
    pub(super) async fn plan_changes(&self) -> Result<Json, BuiltinError> {
        let (plan, _) = self.milestone_plan()?;
        let (path, since) = (self.required_argument("plan")?, self.required_argument("since")?.to_owned());
        let workspace = self.executor.env().workspace.clone();
        let look = move || {
            let now = git_changes::tree_hash(&workspace)?;
            git_changes::changed_files(&workspace, &since, &now)
        };
        let unknown = || BuiltinError::Failed("git does not say what changed since the run began".to_owned());
        let mut changed = blocking::run(look).await.ok_or_else(unknown)?;
        changed.retain(|file| file != path && !file.ends_with(&format!("/{path}")));
        let explained = self.argument("explained").unwrap_or_default();
        let is_planned =
            |file: &String| plan.files().any(|planned| file == planned || file.ends_with(&format!("/{planned}")));
        let outside: Vec<&String> = changed.iter().filter(|file| !is_planned(file)).collect();
        let unexplained: Vec<&&String> = outside.iter().filter(|file| !explained.contains(file.as_str())).collect();
        let untouched: Vec<&str> = plan
            .files()
            .filter(|planned| changed.iter().all(|file| file != planned && !file.ends_with(&format!("/{planned}"))))
            .collect();
        Ok(json!({
            "changed": changed, "outside": outside, "unexplained": unexplained, "untouched": untouched, "empty": changed.is_empty(),
        }))
    }

    /// Whether the items of a review cover what they must; fails with what they leave out.
    pub(super) async fn coverage(&self) -> Result<Json, BuiltinError> {
        let (plan, _) = self.milestone_plan()?;
        let word = self.required_argument("review")?;
        let rule = CoverageRule::from_word(word).ok_or_else(|| {
            let known: Vec<&str> = CoverageRule::ALL.into_iter().map(CoverageRule::as_str).collect();
            format!("`{word}` is no review of a plan; it is one of {}", known.join(", "))
        })?;
        let items: Vec<Json> = serde_json::from_str(self.argument("items").unwrap_or("[]"))
            .map_err(|error| format!("the items are no list: {error}"))?;
        let checks = self.executor.env().ask_host(Host::checks).await.map(|checks| checks.commands).unwrap_or_default();
        let missing = missing_coverage(&plan, rule, &items, &checks);
        if missing.is_empty() { Ok(json!({ "items": items.len() })) } else { Err(BuiltinError::Failed(list(&missing))) }
    }

    fn milestone_plan(&self) -> Result<(MilestonePlan, String), BuiltinError> {
        let (_, text) = plans::text(&self.executor.env().workspace, self.required_argument("plan")?)?;
        Ok((read_milestone_plan(&text), text))
    }
}

/// What tells one text of a plan from another.
fn fingerprint(text: &str) -> String {
    let start: [u8; 8] = std::array::from_fn({
        let digest = Sha256::digest(text);
        move |index| digest[index]
    });
    format!("{:016x}", u64::from_be_bytes(start))
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}
