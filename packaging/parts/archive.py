"""Release archives."""

from .release import tar_gz


def make(release, program):
    top = f"maestro-{release.version}-{program.target}"
    files = {"maestro": program.content, "README.md": release.readme, "maestro.cdx.json": release.sbom}
    files |= release.texts | release.shared()
    return {f"{top}.tar.gz": tar_gz({f"{top}/{name}": text for name, text in files.items()}, {f"{top}/maestro"})}
