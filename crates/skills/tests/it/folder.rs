//! Does somebody who takes a skill elsewhere get all of it, and nothing that is not its own?

use std::fs;
use std::os::unix::fs::symlink;

use maestro_skills::Skill;
use maestro_skills::folder::{FolderChild, FolderError, MOST_FILES, children, files, header, read_file};
use serde_json::json;

use crate::world::World;

fn skill(world: &World, name: &str) -> Skill {
    world.load().get(name).unwrap().clone()
}

fn put(world: &World, path: &str, text: &str) {
    let path = world.project(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn every_file_is_told_with_its_size_and_digest() {
    let world = World::new();
    put(&world, ".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs.\nversion: 1.10\n---\nRead.\n");
    put(&world, ".claude/skills/pdf/references/forms.md", "abc");
    put(&world, ".claude/skills/pdf/.git/config", "no part of it");
    let pdf = skill(&world, "pdf");
    let told = files(&pdf).unwrap();
    let paths: Vec<&str> = told.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["SKILL.md", "references/forms.md"]);
    assert_eq!(told[1].size, 3);
    assert_eq!(told[1].digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(read_file(&pdf, "references/forms.md").unwrap(), b"abc");
    assert_eq!(header(&pdf).unwrap()["description"], json!("Reads PDFs."));
    let in_directory = |directory: &str| children(&pdf, directory).unwrap();
    assert_eq!(in_directory("").unwrap()["references"], FolderChild::Directory);
    assert_eq!(in_directory("references").unwrap()["forms.md"], FolderChild::File { size: 3 });
    for none in ["refer", "references/forms.md", ".git", "../..", "references/.."] {
        assert_eq!(in_directory(none), None, "{none} is no directory of it");
    }
}

#[test]
fn a_directory_of_a_skill_that_is_too_large_as_a_whole_is_read_by_itself() {
    let world = World::new();
    put(&world, ".claude/skills/many/SKILL.md", "---\nname: many\ndescription: Has many files.\n---\nRead.\n");
    for number in 0..=MOST_FILES {
        put(&world, &format!(".claude/skills/many/data/{number}.txt"), "x");
    }
    let many = skill(&world, "many");
    assert!(matches!(files(&many), Err(FolderError::TooLarge { .. })));
    assert_eq!(children(&many, "data").unwrap().unwrap().len(), MOST_FILES + 1);
}

#[test]
fn nothing_leads_out_of_a_skill() {
    let world = World::new();
    put(&world, ".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs.\n---\nRead.\n");
    put(&world, "secret", "theirs");
    symlink(world.project("secret"), world.skills("pdf/link.md")).unwrap();
    symlink(world.project(""), world.skills("pdf/out")).unwrap();
    let pdf = skill(&world, "pdf");
    assert_eq!(files(&pdf).unwrap().len(), 1, "links are no files of it");
    assert_eq!(children(&pdf, "out").unwrap(), None, "nor directories");
    for out in ["link.md", "out/secret", "../../../secret", "/etc/hostname", "", ".", "./SKILL.md"] {
        assert!(read_file(&pdf, out).is_err(), "{out}");
    }
}

#[test]
fn a_skill_of_another_format_has_a_skill_md_all_the_same() {
    let world = World::new();
    put(
        &world,
        ".claude/skills/review/manifest.json",
        r#"{"name":"Review","version":"1.0.0","description":"Looks: twice"}"#,
    );
    put(&world, ".claude/skills/review/skill.md", "Look twice.");
    let review = skill(&world, "review");
    let text = String::from_utf8(read_file(&review, "SKILL.md").unwrap()).unwrap();
    assert_eq!(text, "---\nname: \"review\"\ndescription: \"Looks: twice\"\n---\n\nLook twice.");
    let told = files(&review).unwrap();
    assert_eq!(
        told.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
        ["SKILL.md", "manifest.json", "skill.md"]
    );
    assert_eq!(told[0].size, text.len() as u64);
    assert_eq!(header(&review).unwrap()["name"], json!("review"));
}

#[test]
fn a_skill_with_too_many_files_says_so() {
    let world = World::new();
    put(&world, ".claude/skills/heap/SKILL.md", "---\nname: heap\ndescription: Many files.\n---\nRead.\n");
    let heap = world.skills("heap");
    for number in 0..MOST_FILES {
        fs::write(heap.join(format!("{number}.txt")), "x").unwrap();
    }
    assert!(matches!(files(&skill(&world, "heap")), Err(FolderError::TooLarge { .. })));
}
