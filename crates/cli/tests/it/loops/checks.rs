//! Do the checks decide, and does whoever mends learn what they said?

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Repository, run_of};

/// A repository with a check, which says much before it says why, and a task that is done rightly from a certain time on.
fn checked(right_from: usize) -> (Repository, String) {
    let repository = Repository::with(&[]);
    // 2 and 3: far more than a pipe holds, in characters of several bytes at odd places.
    let check = "#!/bin/sh\nprintf x\nyes 'ééééééééééééééééééé' | head -n 8000\ngrep -q right f1.txt && exit 0\n\
                 echo the answer is $(cat f1.txt), and that is ünwanted\nexit 1\n";
    repository.sandbox.write("check.sh", check);
    fs::set_permissions(repository.sandbox.path("check.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    repository.sandbox.write(".maestro/config.toml", "verify = [\"./check.sh\"]\n");
    let script = format!(
        "echo once >> HOME/times\nif [ $(wc -l < HOME/times) -ge {right_from} ]; then echo right > f1.txt\n\
         else echo wrong > f1.txt; fi\n"
    );
    let task = repository.script("answer", &script);
    repository.write_plan("PLAN.md", std::slice::from_ref(&task));
    repository.commit_all();
    let refused = repository.work("");
    assert_eq!(refused.code, 1, "nobody allowed the checks: {refused}");
    let allowed = repository.sandbox.maestro("trust --config --yes");
    assert_eq!(allowed.code, 0, "{allowed}");
    (repository, task)
}

fn times(repository: &Repository) -> usize {
    fs::read_to_string(repository.mark("times")).unwrap().lines().count()
}

#[test]
fn what_a_red_check_said_is_told_to_whoever_mends_it() {
    let (repository, task) = checked(2);
    let worked = repository.work("--yes");
    assert_eq!(worked.code, 0, "{worked}");
    let prompts = repository.prompts();
    let why = "the answer is wrong, and that is ünwanted";
    let told: Vec<bool> = prompts.iter().map(|prompt| prompt.contains(why)).collect();
    assert_eq!(told, [false, true, false], "the work, the mending, and one review of what is right");
    let branch = Repository::branch(&run_of(&worked));
    let commits = repository.commits(&branch);
    assert_eq!((commits.len(), &commits[1].subject), (2, &task));
    assert_eq!(repository.file(&branch, "f1.txt"), "right\n");
}

#[test]
fn checks_that_stay_red_end_the_loop_with_nothing_committed() {
    let (repository, task) = checked(100);
    let worked = repository.work("--yes");
    assert_eq!(worked.code, 1, "{worked}");
    assert!(worked.stdout().contains("stopped at: "), "{worked}");
    let branch = Repository::branch(&run_of(&worked));
    assert_eq!(repository.commits(&branch).len(), 1, "only the plan");
    assert!(repository.file(&branch, "PLAN.md").contains(&format!("- [ ] {task}")));
    assert!((2..=5).contains(&times(&repository)), "it was tried again, and not for ever: {}", times(&repository));
    let place = format!(".maestro/worktrees/loop-{}", run_of(&worked));
    let there = fs::read_to_string(repository.sandbox.path(&format!("{place}/f1.txt"))).unwrap();
    assert_eq!(there, "wrong\n", "the work is still there to be looked at");
    let plan = fs::read_to_string(repository.sandbox.path(&format!("{place}/PLAN.md"))).unwrap();
    assert!(plan.contains("- [ ]"), "{plan}");
}
