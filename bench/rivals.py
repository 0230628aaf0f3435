#!/usr/bin/env python3
"""Measures Maestro side by side with the other tools for skills, and with the least that any program could do.

    python3 bench/rivals.py [--maestro PATH] [--work DIR] [--runs N]

Compared are openskills (`list`, `read`), the `skills` command (`list`), skills-ref (`validate`), a process that does nothing,
and `find | xargs cat` over the same files; 1,000 skills in one project, and one skill alone for what others do one by one.
All commands take turns, after one uncounted round; figures are processor time of a command with all its children. What npm
or pip cannot install is left out and said so. Nothing else leaves this machine.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import catalogue
from catalogue import Command
from figures import keep, span

COUNT = 1000
SKILLS_CLI, SKILLS_REF = "skills@1.5.18", "skills-ref==0.1.1"


def npm_program(work, package):
    """The program of an npm package, installed below `work` if need be; None if that cannot be done."""
    name = package.split("@")[0]
    program = work / "npm" / "node_modules" / ".bin" / name
    if not program.exists() and shutil.which("npm"):
        command = ["npm", "install", "--prefix", work / "npm", "--no-audit", "--no-fund", package]
        subprocess.run(command, capture_output=True)
    return program if program.exists() else left_out(package)


def python_program(work, package):
    """The program of skills-ref, in an environment of its own."""
    place = work / "venv"
    names = ("skills-ref", "agentskills")
    if not place.exists():
        subprocess.run([sys.executable, "-m", "venv", place], capture_output=True)
        subprocess.run([place / "bin" / "pip", "install", "--quiet", package], capture_output=True)
    found = [place / "bin" / name for name in names if (place / "bin" / name).exists()]
    return found[0] if found else left_out(package)


def left_out(package):
    print(f"{package} is left out: it could not be installed")


def works(command, sandbox):
    """Whether a rival does what it is asked here: some need a newer Node than there is."""
    status, _ = catalogue.capture(command.argv, command.cwd, sandbox)
    if status != 0:
        print(f"{command.label} is left out: it ended with {status}")
    return status == 0


def comparisons(maestro, work, tree):
    """Of each thing to do: our command, and those of others."""
    skills = tree / ".claude" / "skills"
    one = sorted(skills.iterdir())[COUNT // 2]
    openskills, cli, ref = npm_program(work, catalogue.OPENSKILLS), npm_program(work, SKILLS_CLI), python_program(work, SKILLS_REF)
    files = f"find {skills} -name SKILL.md -print0 | xargs -0 cat > /dev/null"
    others = lambda *pairs: [Command(label, argv, tree) for program, label, argv in pairs if program]
    return [
        (Command(f"list {COUNT:,} skills", [maestro, "skills", "list"], tree),
         others((openskills, "openskills list", [openskills, "list"]), (cli, "skills list", [cli, "list"]),
                (True, "find | xargs cat", ["sh", "-c", files]))),
        (Command("read one skill", [maestro, "skills", "read", one.name], tree),
         others((openskills, "openskills read", [openskills, "read", one.name]), (True, "a process that does nothing", ["true"]))),
        (Command("validate one skill", [maestro, "skills", "validate", one.name], tree),
         others((ref, "skills-ref validate", [ref, "validate", one]), (True, "a process that does nothing", ["true"]))),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maestro", type=Path, default=catalogue.ROOT / "target" / "release" / "maestro")
    parser.add_argument("--work", type=Path, help="keeps trees and programs for the next time")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with catalogue.work_directory(arguments.work) as work:
        work, maestro = Path(work).resolve(), arguments.maestro.resolve()
        sandbox = catalogue.Sandbox(work)
        sandbox.install(maestro)
        tree = catalogue.build_tree(work, COUNT, catalogue.synthetic_templates(), "grown", catalogue.Report())
        print(f"{'processor milliseconds, median':<44} {'':>9} {'range':>16} {'ratio':>8}")
        for ours, others in comparisons(maestro, work, tree):
            others = [command for command in others if works(command, sandbox)]
            timings = catalogue.run_interleaved([ours, *others], arguments.runs, sandbox)
            own = timings[ours.label].median("cpu")
            for label, timing in timings.items():
                values = [1000 * sample.cpu for sample in timing.samples]
                median, ratio = 1000 * timing.median("cpu"), timing.median("cpu") / own
                print(f"{label:<44} {median:9.1f} {span(values):>16} {ratio:8.1f}", flush=True)
                if label != ours.label:
                    beside = f"{label}: {median:.1f} ms CPU ({ratio:.1f} times ours)"
                    mine = [1000 * sample.cpu for sample in timings[ours.label].samples]
                    keep(ours.label, f"{1000 * own:.1f} ms CPU", spread=span(mine), beside=beside)


if __name__ == "__main__":
    try:
        main()
    except catalogue.CannotMeasure as error:
        sys.exit(f"rivals: {error}")
