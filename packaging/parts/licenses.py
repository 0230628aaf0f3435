"""The license texts of everything that is compiled into the program, for the packages: most licenses ask for that."""

import json
import os
import pathlib
import tomllib

NAMES = ("license", "licence", "copying", "copyright", "notice", "unlicense")
RULE = "=" * 80


def document(sbom):
    """One text: each license once, above it the crates that it came with."""
    crates = [entry for entry in json.loads(sbom)["components"] if "purl" in entry]
    texts, bare = {}, []
    for crate in crates:
        found = texts_of(crate)
        for text in found:
            # Some copies differ in their line breaks only.
            texts.setdefault(" ".join(text.split()), (text, []))[1].append(full_name(crate))
        if not found:
            bare.append(line_about(crate))
    parts = ["Maestro contains the following software. Each text below stands once, under the names of the packages that come with it.\n"
             "SQLite, which is compiled in by libsqlite3-sys, is in the public domain.\n"]
    parts += [f"{', '.join(names)}\n\n{text.strip()}\n" for text, names in sorted(texts.values(), key=lambda found: found[1])]
    parts.append("\n".join(["These packages name their license and contain no text of it:\n", *bare, ""]))
    return f"\n{RULE}\n\n".join(parts).encode()


def full_name(crate):
    return f"{crate['name']} {crate['version']}"


def folder_of(crate):
    """Where cargo has unpacked a crate. The build has just read it, so it is there."""
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    found = sorted(home.glob(f"registry/src/*/{crate['name']}-{crate['version']}"))
    if not found:
        raise SystemExit(f"error: the source of {full_name(crate)} is not here, and so is its license\nhint: cargo fetch --locked")
    return found[0]


def texts_of(crate):
    paths = [path for path in folder_of(crate).iterdir() if path.is_file() and path.name.lower().startswith(NAMES)]
    return [path.read_text(errors="replace") for path in sorted(paths)]


def line_about(crate):
    manifest = tomllib.loads((folder_of(crate) / "Cargo.toml").read_text())["package"]
    authors = ", ".join(name.split(" <")[0] for name in manifest.get("authors", [])) or manifest.get("repository", "no author named")
    return f"  {full_name(crate)}  {manifest.get('license', 'no license named')}  ({authors})"
