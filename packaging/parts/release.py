"""What every package of a release contains."""

import dataclasses
import gzip
import io
import tarfile
import tomllib

# The name on npm and PyPI, where `maestro` is taken; the program is `maestro` everywhere.
NAME = "maestro-agents"
# A fixed time for every file, so that the same programs make the same packages. Zip knows no earlier year.
EPOCH = 315532800
TEXTS = ("LICENSE-APACHE", "LICENSE-MIT", "NOTICE")
# The licenses of what is built in.
LICENSES = "THIRD-PARTY-LICENSES.txt"


@dataclasses.dataclass
class Program:
    target: str
    content: bytes
    about: object


@dataclasses.dataclass
class Release:
    version: str
    license: str
    summary: str
    texts: dict
    readme: bytes
    completions: dict
    man: dict
    sbom: bytes

    @classmethod
    def read(cls, root, completions, man, sbom, licenses):
        workspace = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]
        package = tomllib.loads((root / "crates/cli/Cargo.toml").read_text())["package"]
        texts = {name: (root / name).read_bytes() for name in TEXTS} | {LICENSES: licenses}
        readme = (root / "packaging/PACKAGE.md").read_bytes()
        return cls(workspace["version"], workspace["license"], package["description"], texts, readme, completions, man, sbom)

    def shared(self):
        """Completions and man pages, by their paths in an archive."""
        return {f"completions/{name}": text for name, text in self.completions.items()} | {
            f"man/man1/{name}": text for name, text in self.man.items()
        }


def tar_gz(files, executable):
    """A .tar.gz of `files`; those in `executable` may be executed."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), EPOCH, 0o755 if name in executable else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), mtime=0)
