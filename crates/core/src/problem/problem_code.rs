//! The kinds of problem. One list with stable names; the reference page is made from it.

use serde::{Serialize, Serializer};

use crate::word_enum::described_words;

described_words! {
    /// The stable name of a kind of problem.
    pub enum ProblemCode {
        FrontmatterMissing = "frontmatter-missing", "The file does not begin with YAML between two `---` lines.";
        FrontmatterUnclosed = "frontmatter-unclosed", "The opening `---` has no closing `---` line.";
        FrontmatterInvalid = "frontmatter-invalid", "The YAML between the `---` lines cannot be read, even after repair.";
        FrontmatterRepaired = "frontmatter-repaired", "A value was no valid YAML and was read as plain text.";
        FrontmatterTooLarge = "frontmatter-too-large", "The YAML is larger, deeper or more entangled than a skill needs.";
        DescriptionMissing = "description-missing", "There is no description, so nothing can tell when to use the skill.";
        DescriptionTooLong = "description-too-long", "The description has more than 1,024 characters.";
        NameMissing = "name-missing", "There is no name; the directory's name is used.";
        NameInvalid = "name-invalid", "The name breaks the Agent Skills grammar.";
        NameNotDirectory = "name-not-directory", "The name differs from the directory's.";
        CompatibilityInvalid = "compatibility-invalid", "The compatibility text is empty or has more than 500 characters.";
        FieldType = "field-type", "A field has a value of another kind than it should.";
        FieldTypo = "field-typo", "A field is unknown but close to a known one.";
        FieldDuplicate = "field-duplicate", "A field is repeated; the first one counts.";
        HiddenUnicode = "hidden-unicode", "Invisible characters that can hide text from a reader.";
        ManifestInvalid = "manifest-invalid", "A `manifest.json` or `skill.json` cannot be read.";
        ManifestField = "manifest-field", "A manifest lacks a required field; a default is used.";
        InstructionsMissing = "instructions-missing", "A manifest has no `skill.md` beside it.";
        WorkflowInvalid = "workflow-invalid", "A `workflow.yaml` or `skill.yaml` cannot be read.";
        FormsContradict = "forms-contradict", "Two files in one skill folder say different things.";
        FileNameCase = "file-name-case", "The file is not named exactly `SKILL.md`, so most tools do not see it.";
        FileUnreadable = "file-unreadable", "A file or directory cannot be opened or read.";
        FileNotUtf8 = "file-not-utf8", "A file is not UTF-8 text.";
        FileTooLarge = "file-too-large", "A file is larger than Maestro reads.";
        LinkOutside = "link-outside", "A symbolic link leads out of the places skills may come from.";
        LinkBroken = "link-broken", "A symbolic link leads nowhere or back to itself.";
        LinkRepeated = "link-repeated", "A symbolic link leads where another one has led already.";
        LinkFlattened = "link-flattened", "A file holds the path of a symbolic link in the place of its text.";
        MergeConflict = "merge-conflict", "A text has the markers of an unfinished merge.";
        SkillInside = "skill-inside", "A skill lies in the folder of another skill and is not loaded.";
        ScanLimit = "scan-limit", "A directory tree is deeper or larger than Maestro searches.";
        SkillsDirMissing = "skills-dir-missing", "A directory that was asked for does not exist.";
        DependencyMissing = "dependency-missing", "A skill depends on one that is not there.";
        DependencyCycle = "dependency-cycle", "Skills depend on each other in a circle.";
        PackNotSynced = "pack-not-synced", "A skill pack could not be copied to its directory.";
        VectorsMissing = "vectors-missing", "Many skills have no vector yet, so they are selected by their words only.";
        IndexNotKept = "index-not-kept", "What was read of skills could not be kept, so the next command reads it again.";
        SkillsNotWatched = "skills-not-watched", "A running program does not notice by itself when skills change there.";
        ConfigInvalid = "config-invalid", "A configuration file cannot be read or has a value of the wrong kind.";
        ConfigUnknown = "config-unknown", "A configuration key that Maestro does not know.";
        ConfigNotAllowed = "config-not-allowed", "A project's file names commands to run that are not trusted yet.";
        ConnectionBroken = "connection-broken", "A tool's settings name Maestro, but what they start does not answer.";
        AgentMissing = "agent-missing", "No coding agent is installed that Maestro could start, or not the one of the settings.";
        GitNotReady = "git-not-ready", "Git lacks what the work of agents needs: the program, your name, or a first commit.";
        CheckNotFound = "check-not-found", "A configured check or setup command names a program that is not installed.";
        ProjectUnknown = "project-unknown", "The server that runs does not know this project.";
        NotConfined = "not-confined", "Nothing on this machine confines what agents write.";
        DirectoryNotProject = "directory-not-project", "Maestro works in the home or root directory, where no project's skills are.";
        DatabaseBroken = "database-broken", "The database cannot be opened.";
        SkillTableOld = "skill-table-old", "The table of skills in `AGENTS.md` is not what `maestro skills sync` would write.";
        ServerDegraded = "server-degraded", "Something fails in the server that runs, and it tries again.";
        CheckboxMalformed = "checkbox-malformed", "A plan line looks like a task but its box is not one.";
    }
}

impl Serialize for ProblemCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
