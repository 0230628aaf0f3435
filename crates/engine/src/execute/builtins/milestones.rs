//! Built-in steps on milestone plans: whether one is sound, what is given out next, what changed, what a review covers.

use maestro_core::milestone_plan::{
    ChangeKind, CoverageRule, MilestonePlan, MilestonePlanStage, PlanSize, SMALL_FILES, missing_coverage, next_wave,
    plan_gaps, plan_mistakes, read_milestone_plan, scope_gap,
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
        self.check_unchanged(&text)?;
        let stage = match self.argument("stage") {
            None | Some("intent") => MilestonePlanStage::Intent,
            Some("diffs") => MilestonePlanStage::Diffs,
            Some(other) => {
                return Err(BuiltinError::Failed(format!("`{other}` is no stage; it is `intent` or `diffs`")));
            }
        };
        let mut mistakes = plan_mistakes(&plan, stage);
        if self.argument("complete").is_some() {
            mistakes.extend(plan_gaps(&plan, stage));
        }
        let base = self.base_of(&plan, stage, &mut mistakes).await?;
        if self.argument("size") == Some("auto") && plan.size() == PlanSize::Large {
            mistakes.push(format!(
                "it is too large for the short way: {} milestones and {} files, where one milestone and at most {SMALL_FILES} \
                 files are small; leave out what the task does not ask for, or report `fail`",
                plan.milestones.len(),
                plan.files().count()
            ));
        }
        let path = self.required_argument("plan")?;
        if !mistakes.is_empty() {
            return Err(BuiltinError::Failed(format!("`{path}` is no sound plan:\n{}", list(&mistakes))));
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

    /// The commit a plan was made for. That git does not know it, that it is another one than it should be, or that the
    /// diffs do not apply to it, is added to the plan's mistakes.
    async fn base_of(
        &self,
        plan: &MilestonePlan,
        stage: MilestonePlanStage,
        mistakes: &mut Vec<String>,
    ) -> Result<String, BuiltinError> {
        if !plan.names_commit() {
            return Ok(String::new());
        }
        let base = match self.commit_of(&plan.base).await {
            Err(BuiltinError::Failed(reason)) => {
                mistakes.push(format!("`- Base:`: {reason}"));
                return Ok(String::new());
            }
            base => base?,
        };
        if let Some(wanted) = self.argument("base") {
            let wanted = self.commit_of(wanted).await?;
            if wanted != base {
                mistakes.push(format!("`- Base: {}` is not the commit it is to be made for, {wanted}", plan.base));
            }
        }
        if stage == MilestonePlanStage::Diffs
            && let Err(reason) = self.check_patch(&base, plan.patch()).await
        {
            mistakes.push(reason);
        }
        Ok(base)
    }

    /// Whether the diffs of a plan apply to a commit, all of them one after the other.
    async fn check_patch(&self, base: &str, patch: String) -> Result<(), String> {
        if patch.is_empty() {
            return Ok(());
        }
        let (workspace, commit) = (self.executor.env().workspace.clone(), base.to_owned());
        let checked = blocking::run(move || patch_check::applies(&workspace, &commit, &patch)).await;
        checked.map_err(|reason| {
            let hint = "Each hunk has the unchanged lines around it, byte for byte: three before and three after, fewer only \
                        where the file begins or ends.";
            format!("the diffs do not apply to {base}:\n{reason}\n{hint}")
        })
    }

    /// The milestones with code that come next: those that `given` does not name and whose dependencies it does.
    pub(super) fn wave(&self) -> Result<Json, BuiltinError> {
        let (plan, text) = self.milestone_plan()?;
        self.check_unchanged(&text)?;
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

    /// That a plan is still the one whose fingerprint is given.
    fn check_unchanged(&self, text: &str) -> Result<(), BuiltinError> {
        if self.argument("fingerprint").is_none_or(|before| before == fingerprint(text)) {
            return Ok(());
        }
        let path = self.required_argument("plan")?;
        Err(BuiltinError::Failed(format!("`{path}` is not the text that was read before; restore it")))
    }

    /// What changed since a moment, held against the plan: what it does not name and no reason explains, and what it names
    /// and is as it was.
    pub(super) async fn plan_changes(&self) -> Result<Json, BuiltinError> {
        let (plan, text) = self.milestone_plan()?;
        self.check_unchanged(&text)?;
        let (path, since) = (self.required_argument("plan")?, self.required_argument("since")?.to_owned());
        let workspace = self.executor.env().workspace.clone();
        let look = move || {
            let now = git_changes::tree_hash(&workspace)?;
            git_changes::changed_files(&workspace, &since, &now)
        };
        let unknown = || BuiltinError::Failed("git does not say what changed since the run began".to_owned());
        let mut changed = blocking::run(look).await.ok_or_else(unknown)?;
        // Diffs name files from the root of the repository, which may be above the workspace.
        let prefix = self.git(&["rev-parse", "--show-prefix"]).await?;
        let prefix = prefix.trim_end_matches('\n');
        let is_same = |file: &str, named: &str| {
            let named = named.strip_prefix("./").unwrap_or(named);
            file == named || named.strip_prefix(prefix) == Some(file)
        };
        changed.retain(|file| !is_same(file, path));
        let explained = self.argument("explained").unwrap_or_default();
        let reasons = self.reasons()?;
        let is_explained = |file: &str| explained.contains(file) || reasons.iter().any(|named| is_same(file, named));
        let is_planned = |file: &String| plan.files().any(|planned| is_same(file, planned));
        let outside: Vec<&String> = changed.iter().filter(|file| !is_planned(file)).collect();
        let unexplained: Vec<&&String> = outside.iter().filter(|file| !is_explained(file)).collect();
        let untouched: Vec<&str> =
            plan.files().filter(|planned| changed.iter().all(|file| !is_same(file, planned))).collect();
        let left: Vec<&&str> = untouched.iter().filter(|file| !is_explained(file)).collect();
        Ok(json!({
            "changed": changed,
            "outside": outside,
            "unexplained": unexplained,
            "untouched": untouched,
            "left": left,
            "empty": changed.is_empty(),
        }))
    }

    /// The files of which `reasons` says why they changed, or why they did not.
    fn reasons(&self) -> Result<Vec<String>, BuiltinError> {
        let given: Vec<Json> = serde_json::from_str(self.argument("reasons").unwrap_or("[]"))
            .map_err(|error| format!("`reasons` is no list of {{file, why}}: {error}"))?;
        let text = |one: &Json, key: &str| {
            let text = one.get(key).and_then(Json::as_str).map(str::trim).unwrap_or_default();
            (!text.is_empty()).then(|| text.to_owned())
        };
        Ok(given.iter().filter(|one| text(one, "why").is_some()).filter_map(|one| text(one, "file")).collect())
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
        let mut missing = missing_coverage(&plan, rule, &items, &checks);
        if self.argument("scopes").is_some() {
            missing.extend(scope_gap(&plan, self.required_argument("plan")?, rule, &items));
        }
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
