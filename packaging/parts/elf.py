"""What a Linux program needs: its processor and its C library."""

import dataclasses
import re
import struct
import sys

MACHINES = {62: "x86_64", 183: "aarch64"}


@dataclasses.dataclass
class About:
    machine: str
    # The newest version of glibc it needs, as (2, 34); None for a program without one (musl).
    glibc: tuple | None


def read(path):
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        sys.exit(f"error: {path} is not a 64-bit Linux program")
    machine = struct.unpack_from("<H", data, 18)[0]
    if machine not in MACHINES:
        sys.exit(f"error: {path} is for an unknown processor ({machine})")
    needed = re.findall(rb"GLIBC_(\d+)\.(\d+)", dynamic_strings(data))
    return About(MACHINES[machine], max(((int(a), int(b)) for a, b in needed), default=None))


def dynamic_strings(data):
    """The section `.dynstr`, which names versions of libraries."""
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + size * index) for index in range(count)]
    start = sections[names][4]
    for section in sections:
        name = data[start + section[0] :].split(b"\0", 1)[0]
        if name == b".dynstr":
            return data[section[4] : section[4] + section[5]]
    return b""
