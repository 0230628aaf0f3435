"""PyPI wheels: the program as a script, tagged for the platforms it runs on."""

import base64
import hashlib
import io
import zipfile

from .release import NAME

METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: {summary}
License-Expression: {license}
{license_files}Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""


def platform_tags(about):
    """The tags of pip for what the program needs; one without glibc runs with every C library."""
    if about.glibc:
        major, minor = about.glibc
        return f"manylinux_{major}_{minor}_{about.machine}"
    return f"manylinux_2_17_{about.machine}.musllinux_1_1_{about.machine}"


def make(release, program):
    stem = f"{NAME.replace('-', '_')}-{release.version}"
    tag = f"py3-none-{platform_tags(program.about)}"
    info = f"{stem}.dist-info"
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in platform_tags(program.about).split("."))
    fields = {"name": NAME, "version": release.version, "summary": release.summary, "license": release.license}
    fields["license_files"] = "".join(f"License-File: {name}\n" for name in release.texts)
    files = {
        f"{stem}.data/scripts/maestro": program.content,
        f"{info}/METADATA": METADATA.format(**fields, readme=release.readme.decode()).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: packaging/build\nRoot-Is-Purelib: false\n{tags}".encode(),
        f"{info}/sboms/maestro.cdx.json": release.sbom,
    }
    files |= {f"{info}/licenses/{name}": text for name, text in release.texts.items()}
    files |= {f"{stem}.data/data/share/man/man1/{name}": text for name, text in release.man.items()}
    for name, place in (("maestro.bash", "bash-completion/completions/maestro"), ("_maestro", "zsh/site-functions/_maestro"),
                        ("maestro.fish", "fish/vendor_completions.d/maestro.fish")):
        files[f"{stem}.data/data/share/{place}"] = release.completions[name]
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    return {f"{stem}-{tag}.whl": packed(files, f"{stem}.data/scripts/maestro")}


def record(files, own):
    digest = lambda text: base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
    lines = [f"{name},sha256={digest(text)},{len(text)}\n" for name, text in files.items()]
    return "".join([*lines, f"{own},,\n"]).encode()


def packed(files, executable):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name == executable else 0o100644) << 16
            wheel.writestr(entry, content)
    return out.getvalue()
