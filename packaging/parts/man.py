"""Man pages, from docs/reference/cli.md, which a test keeps equal to what the program says."""

import re

HEADING = re.compile(r"^[A-Z][A-Za-z ]*:?$")
ENTRY = re.compile(r"^ {2,6}(\S.*?)(?:  +(\S.*))?$")


def pages(root):
    text = (root / "docs/reference/cli.md").read_text()
    found = re.findall(r"^## `(maestro[^`]*)`\n\n```text\n(.*?)^```$", text, re.M | re.S)
    return {f"{command.replace(' ', '-')}.1": page(command, body).encode() for command, body in found}


def page(command, body):
    name = command.replace(" ", "-")
    head, _, rest = body.partition("\nUsage: ")
    usage, *lines = rest.split("\n")
    summary, _, more = head.strip().partition("\n")
    out = [f'.TH "{name.upper()}" "1" "" "Maestro" "Maestro"', ".SH NAME", f"{plain(name)} \\- {plain(summary.rstrip('.'))}"]
    out += [".SH SYNOPSIS", f"\\fB{plain(usage)}\\fR"]
    if more.strip():
        out += [".SH DESCRIPTION", *paragraphs(more)]
    return "\n".join(out + sections(lines) + see_also(command)) + "\n"


def plain(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text)
    return "\\&" + text if text[:1] in ".'" else text


def paragraphs(text):
    return [plain(line) if line else ".PP" for line in text.strip().split("\n")]


def sections(lines):
    """Headings at the margin become sections, indented entries tagged paragraphs, deeper lines continue them."""
    out, inside = [], False
    for line in lines:
        entry = ENTRY.match(line)
        if HEADING.match(line):
            out.append(f'.SH "{line.rstrip(":").upper()}"')
            inside = False
        elif entry and (not inside or len(line) - len(line.lstrip()) <= 6):
            out += [".TP", f"\\fB{plain(entry[1])}\\fR", *([plain(entry[2])] if entry[2] else [])]
            inside = True
        elif line.strip() and line.startswith(" "):
            out.append(plain(line.strip()))
        elif line.strip():
            out += [".PP", plain(line)]
            inside = False
    return out


def see_also(command):
    if command == "maestro":
        return []
    parent = command.rsplit(" ", 1)[0].replace(" ", "-")
    return ['.SH "SEE ALSO"', f"\\fB{plain(parent)}\\fR(1)"]
