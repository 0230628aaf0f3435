"""Where the agents are, and which."""

import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def install(names):
    env = os.environ | {"MAESTRO_REAL_AGENTS": ",".join(names)}
    output = subprocess.run([f"{HERE}/install"], env=env, check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(line.split(" ", 1) for line in output.splitlines())


def version(program):
    """What the directory says it is."""
    return re.search(r"/[a-z]+-(\d[^/]*)/", program).group(1)
