//! Loading of one folder: its files, read and merged into one skill.
//!
//! One module reads each format; this one decides which file leads and what is taken from which. `SKILL.md` gives name,
//! description and text; `manifest.json` the display name, type, version, roles, dependencies and config;
//! `skill.json` the commands; the YAML the workflow. What contradicts is a problem, never a silent choice.

mod findings;
mod manifest;
mod missing_header;
mod skill_json;
mod skill_md;
mod tools;
mod workflow;

use std::path::Path;

use maestro_core::excerpt::ellipsize;
use maestro_core::settings::SkillValidation;
use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use crate::card::card_text;
use crate::card_key::CardKey;
use crate::directory::OpenDirectory;
use crate::file_stamp::FileStamp;
use crate::skill::{DEFAULT_VERSION, Skill, SkillFormat, SkillId, SkillLocation, SkillSource};
use findings::FileFindings;
use manifest::SkillManifest;
use skill_json::SkillJsonFile;
use skill_md::SkillMd;
use workflow::WorkflowFile;

pub use tools::split_tools;

/// Which of the known files a folder holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one flag for each file that may be there")]
pub(crate) struct SkillFiles {
    pub(crate) skill_md: bool,
    /// `skill.md`: a manifest's instructions, or a misspelt `SKILL.md`.
    pub(crate) lower_skill_md: bool,
    /// Any other spelling of `SKILL.md`.
    pub(crate) odd_skill_md: Option<String>,
    pub(crate) manifest: bool,
    pub(crate) skill_json: bool,
    pub(crate) workflow: Option<&'static str>,
}

impl SkillFiles {
    /// Takes note of a file by its name.
    pub(crate) fn note(&mut self, name: &str) {
        match name {
            "SKILL.md" => self.skill_md = true,
            "skill.md" => self.lower_skill_md = true,
            "manifest.json" => self.manifest = true,
            "skill.json" => self.skill_json = true,
            // Beside each other, `workflow.yaml` is the newer word and wins.
            "workflow.yaml" => self.workflow = Some("workflow.yaml"),
            "skill.yaml" if self.workflow.is_none() => self.workflow = Some("skill.yaml"),
            // Of several odd spellings the first in the alphabet counts, whatever order they are met in.
            _ if name.eq_ignore_ascii_case("SKILL.md") => {
                let first = self.odd_skill_md.take().filter(|other| other.as_str() < name);
                self.odd_skill_md = Some(first.unwrap_or_else(|| name.to_owned()));
            }
            _ => {}
        }
    }

    /// Whether a file of this name makes its folder a skill.
    pub(crate) fn is_form(name: &str) -> bool {
        let mut files = Self::default();
        files.note(name);
        files.is_skill()
    }

    /// Whether the folder is a skill at all.
    pub(crate) fn is_skill(&self) -> bool {
        self.skill_md
            || self.lower_skill_md
            || self.odd_skill_md.is_some()
            || self.manifest
            || self.skill_json
            || self.workflow.is_some()
    }

    /// The file that is read as `SKILL.md`.
    fn markdown(&self) -> Option<&str> {
        if self.skill_md {
            return Some("SKILL.md");
        }
        if let Some(odd) = &self.odd_skill_md {
            return Some(odd);
        }
        (self.lower_skill_md && !self.manifest).then_some("skill.md")
    }
}

/// Where a folder was found, and how strictly it is judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadContext {
    pub(crate) location: SkillLocation,
    pub(crate) source: SkillSource,
    pub(crate) validation: SkillValidation,
}

/// The result of loading a folder.
#[derive(Debug)]
pub(crate) struct LoadedSkill {
    pub(crate) skill: Option<Skill>,
    pub(crate) problems: Vec<Problem>,
    /// The files that were read, and what each was like before.
    pub(crate) read: Vec<(String, FileStamp)>,
}

/// Reads a skill folder. A broken form does not hide a good one beside it.
pub(crate) fn load(open: &OpenDirectory<'_>, files: &SkillFiles, context: LoadContext) -> LoadedSkill {
    let dir = open.path();
    let directory = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut problems = Vec::new();
    let mut read = Vec::new();
    let mut gather = |findings: FileFindings<'_>| findings.finish(&mut problems, &mut read);

    let markdown = files.markdown().and_then(|file| {
        let mut findings = FileFindings::new(open, file, context.validation);
        let form = skill_md::load(file, &directory, &mut findings);
        gather(findings);
        form
    });
    let manifest = files.manifest.then(|| {
        let mut findings = FileFindings::new(open, "manifest.json", context.validation);
        let form = manifest::load(&directory, files, &mut findings);
        gather(findings);
        form
    });
    let manifest = manifest.flatten();
    let skill_json = files.skill_json.then(|| {
        let mut findings = FileFindings::new(open, "skill.json", context.validation);
        let form = skill_json::load(&mut findings);
        gather(findings);
        form
    });
    let skill_json = skill_json.flatten();
    let workflow = files.workflow.and_then(|file| {
        let mut findings = FileFindings::new(open, file, context.validation);
        let form = workflow::load(file, &mut findings);
        gather(findings);
        form
    });

    let forms = SkillForms { markdown, manifest, skill_json, workflow };
    forms.find_contradictions(dir, &directory, &mut problems);
    LoadedSkill { skill: forms.into_skill(dir, &directory, context), problems, read }
}

/// The forms of one folder that could be read.
struct SkillForms {
    markdown: Option<SkillMd>,
    manifest: Option<SkillManifest>,
    skill_json: Option<SkillJsonFile>,
    workflow: Option<WorkflowFile>,
}

impl SkillForms {
    fn leading_form(&self) -> Option<(SkillFormat, String)> {
        if let Some(markdown) = &self.markdown {
            return Some((SkillFormat::SkillMd, markdown.file.clone()));
        }
        if self.manifest.is_some() {
            return Some((SkillFormat::Manifest, "manifest.json".to_owned()));
        }
        if self.skill_json.is_some() {
            return Some((SkillFormat::SkillJson, "skill.json".to_owned()));
        }
        self.workflow.as_ref().map(|workflow| (SkillFormat::Workflow, workflow.file.to_owned()))
    }

    fn id(&self, directory: &str) -> Option<SkillId> {
        let name = self.markdown.as_ref().and_then(|form| form.name.as_deref());
        SkillId::new(name.unwrap_or(directory))
    }

    fn version(&self) -> Option<&str> {
        let manifest = self.manifest.as_ref().and_then(|form| form.version.as_deref());
        let markdown = || self.markdown.as_ref()?.version.as_deref();
        let skill_json = || self.skill_json.as_ref()?.version.as_deref();
        let workflow = || self.workflow.as_ref()?.version.as_deref();
        manifest.or_else(markdown).or_else(skill_json).or_else(workflow)
    }

    fn find_contradictions(&self, dir: &Path, directory: &str, problems: &mut Vec<Problem>) {
        let Some(id) = self.id(directory) else { return };
        let mut report = |file: &str, what: &str, theirs: &str, ours: &str| {
            problems.push(Problem::new(
                ProblemCode::FormsContradict,
                ProblemSeverity::Warning,
                dir.join(file),
                format!("its {what} `{theirs}` differs from `{ours}`, which counts"),
                format!("give both files the same {what}"),
            ));
        };
        if let (Some(markdown), Some(manifest)) = (&self.markdown, &self.manifest) {
            if !manifest.description.is_empty() && manifest.description != markdown.description {
                report(
                    "manifest.json",
                    "description",
                    &shorten(&manifest.description),
                    &shorten(&markdown.description),
                );
            }
            if let (Some(ours), Some(theirs)) = (&manifest.version, &markdown.version)
                && ours != theirs
            {
                report(&markdown.file, "version", theirs, ours);
            }
        }
        if let Some(name) = self.skill_json.as_ref().and_then(|form| form.name.as_deref())
            && name != id.as_str()
        {
            report("skill.json", "name", name, id.as_str());
        }
        if let Some((file, name)) = self.workflow.as_ref().and_then(|form| Some((form.file, form.name.as_deref()?)))
            && name != id.as_str()
        {
            report(file, "name", name, id.as_str());
        }
    }

    fn into_skill(self, dir: &Path, directory: &str, context: LoadContext) -> Option<Skill> {
        let (format, file) = self.leading_form()?;
        let id = self.id(directory)?;
        let version = self.version().unwrap_or(DEFAULT_VERSION).to_owned();
        let Self { markdown, manifest, skill_json, workflow } = self;
        let headings = markdown.as_ref().map(|form| form.headings.clone()).unwrap_or_default();
        let mut skill = Skill::new(id, dir.to_owned(), (context.location, context.source), format, file);
        skill.version = version;
        skill.workflow = workflow.as_ref().map(|form| form.file.to_owned());
        // From the least to the most authoritative, so that each form only overwrites what it decides.
        if let Some(form) = workflow {
            form.fill(&mut skill);
        }
        if let Some(form) = skill_json {
            form.fill(&mut skill);
        }
        if let Some(form) = manifest {
            form.fill(&mut skill);
        }
        if let Some(form) = markdown {
            form.fill(&mut skill);
        }
        skill.card = CardKey::of(&card_text(&skill, &headings));
        Some(skill)
    }
}

fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    ellipsize(text, MOST)
}
