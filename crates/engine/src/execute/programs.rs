//! Lookup of a program's file by name.

use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use super::ExecutionEnv;

/// The name of our own program.
pub(super) const OWN: &str = "maestro";

/// Why a name means no program.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MissingProgram {
    #[error("`{0}` not found on PATH")]
    NotFound(String),
    #[error("`{0}` is outside the workspace and the skill's folder; name a program on the PATH instead")]
    Outside(String),
    #[error("there is no file `{0}`")]
    NoFile(String),
    #[error("`{0}` is not executable; run `chmod +x` on it")]
    NotExecutable(String),
}

/// Makes our own program the first one on every program's path, under its usual name.
pub(crate) fn put_on_path(home: &Path, maestro: &Path) -> io::Result<()> {
    let bin = home.join("bin");
    let link = bin.join(OWN);
    if fs::read_link(&link).is_ok_and(|to| to == maestro) {
        return Ok(());
    }
    fs::create_dir_all(&bin)?;
    let scratch = tempfile::Builder::new().prefix(".link-").tempdir_in(&bin)?;
    let fresh = scratch.path().join(OWN);
    std::os::unix::fs::symlink(maestro, &fresh)?;
    fs::rename(&fresh, &link)
}

/// The file to start. One that is named with its directory must lie in the workspace or in a skill's folder; it is looked
/// for from the directory that it works in.
pub(super) fn find(
    program: &str,
    env: &ExecutionEnv,
    cwd: &Path,
    path: Option<&String>,
) -> Result<PathBuf, MissingProgram> {
    if program == OWN {
        return Ok(env.machine.maestro.clone());
    }
    if !program.contains('/') {
        let dirs = path.into_iter().flat_map(std::env::split_paths).filter(|dir| dir.is_absolute());
        let file = dirs.map(|dir| dir.join(program)).find(|file| is_executable(file));
        return file.ok_or_else(|| MissingProgram::NotFound(program.to_owned()));
    }
    // A link in there may lead elsewhere: what lies in these folders is as trusted as a script beside it.
    let file = normalize(&cwd.join(program));
    if !std::iter::once(&env.workspace).chain(&env.folders).any(|place| file.starts_with(normalize(place))) {
        return Err(MissingProgram::Outside(program.to_owned()));
    }
    match file.is_file() {
        false => Err(MissingProgram::NoFile(program.to_owned())),
        true if !is_executable(&file) => Err(MissingProgram::NotExecutable(program.to_owned())),
        true => Ok(file),
    }
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// A path without `.` and `..`.
fn normalize(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::host::{BareHost, ExecutionHost};
    use crate::identity::ProcessIdentity;
    use crate::sandbox::SandboxSettings;

    fn program(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_name_means_what_is_on_the_path_and_a_path_what_is_here() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let machine = ExecutionHost {
            host: Arc::new(BareHost),
            maestro: "/opt/maestro".into(),
            home: root.join("home"),
            own_dirs: Vec::new(),
            shared_dirs: Vec::new(),
            sandbox: SandboxSettings::default(),
            variables: BTreeMap::new(),
            identity: ProcessIdentity::of_this_process(),
            sockets: None,
        };
        let env = ExecutionEnv {
            machine: Arc::new(machine),
            workspace: root.join("work"),
            folders: vec![root.join("skill")],
            run: String::new(),
            socket: None,
        };
        program(&root.join("work/scripts/check"), 0o755);
        program(&root.join("work/plain"), 0o644);
        program(&root.join("skill/run.sh"), 0o755);
        program(&root.join("bin/tool"), 0o755);
        program(&root.join("other/tool"), 0o755);
        let path = format!(".:relative:{}:{}", root.join("bin").display(), root.join("other").display());
        let find = |name: &str| find(name, &env, &env.workspace, Some(&path));
        assert_eq!(find("maestro"), Ok("/opt/maestro".into()));
        assert_eq!(find("tool"), Ok(root.join("bin/tool")));
        assert_eq!(find("check"), Err(MissingProgram::NotFound("check".into())));
        assert_eq!(find("scripts/../scripts/check"), Ok(root.join("work/scripts/check")));
        assert_eq!(find(&root.join("skill/run.sh").display().to_string()), Ok(root.join("skill/run.sh")));
        assert_eq!(find("../other/tool"), Err(MissingProgram::Outside("../other/tool".into())));
        assert_eq!(find("/bin/sh"), Err(MissingProgram::Outside("/bin/sh".into())));
        assert_eq!(find("./plain"), Err(MissingProgram::NotExecutable("./plain".into())));
        assert_eq!(find("./absent"), Err(MissingProgram::NoFile("./absent".into())));
    }
}
