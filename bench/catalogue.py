#!/usr/bin/env python3
"""Measure Maestro's skill catalogue side by side with its rivals, and judge it against its targets.

Load rate   `maestro skills list --json --dir CORPUS/skills` over a corpus of real skill files. Against
            CORPUS/expected.jsonl: at least as many files load as Codex loads and none that Codex loads is missing;
            names and descriptions are right wherever the YAML is valid (whitespace runs count as one space; an
            absent name means the directory's); every file left out has an error with a line, a message and help.
Scale       10,000 skills in one project. `openskills list` costs at least 4 times the CPU of `maestro skills list`;
            Maestro costs at most 1.5 times the CPU and the wall time of `find | xargs cat` over the same files,
            and less than 60 MB of memory. 20,111 skills cost less than 0.8 s of CPU.
Index       The same with what an earlier command kept: `openskills list` costs at least 12 times the CPU of
            `maestro skills list`, `maestro skills read NAME` takes less than 80 ms, and what is listed is the same.
            The stat calls that every such command has to make are timed alone, as the floor it stands on.
Response    `maestro skills read NAME` among 200 skills in less than 15 ms, bare `maestro` in less than 200 ms, both
            with the start of the process; without the encoder's weights the binary is smaller than 22 MB.

Only ratios within one run mean something: the compared commands take turns, after one uncounted round, so that
noise hits all alike. CPU is user + system time of a command with all its children, from wait4. Each run starts
with a home directory that holds the built-in skills and nothing else, so nothing that an earlier run cached helps,
except where an index is meant to. The first command of an installation, which copies the built-in skills, is timed
alone. Targets are judged on medians.

The corpus is optional: without it the load rate is skipped, and the skills of the trees are synthetic. Its bodies are
cut, so the trees repeat each body up to a length drawn from the distribution of real skills (median 4.8 kB, ninth
decile 15 kB); `--bodies stored` leaves the files as they are.

Exits with 0 if all targets are met, 1 if one is missed, 2 if the measurement itself could not be made.
"""

import argparse
import contextlib
import dataclasses
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from figures import keep

ROOT = Path(__file__).resolve().parent.parent
OPENSKILLS = "openskills@1.5.0"
LARGE, SMALL, ALL_PUBLISHED = 10_000, 200, 20_111
READ_RUNS = 50
RUN_LIMIT_S = 120
SHOWN_OFFENDERS = 20
# What changed less than this long ago is not kept in an index.
SETTLED_S = 2.1
MB = 1_000_000

FRONTMATTER = re.compile(r"---[ \t]*\r?\n.*?\n---[ \t]*(?:\r?\n|\Z)", re.S)
NAME_LINE = re.compile(r"^name[ \t]*:[ \t]*(?![>|])[^\r\n]*\S[^\r\n]*", re.M)
BODY_MEDIAN, BODY_SPREAD, BODY_MAX = 4_769, 0.9, 60_000
FILLER = "\n# Steps\n\n- Read the request and name the files it touches.\n- Make the change, run the tests, report.\n"

# Prints the peak memory of the command given as arguments. A process counts the memory its parent had when it
# was started as its own, so the parent has to be a small one.
PEAK_MEMORY = """
import os, sys
out = os.open(os.devnull, os.O_WRONLY)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
sys.exit(os.waitstatus_to_exitcode(status))
"""


class CannotMeasure(Exception):
    """Something the measurement itself needs is missing or broken."""


# ---- the report ----


class Report:
    """Prints rows as they come and remembers whether a target was missed."""

    def __init__(self):
        self.judged = self.missed = 0

    def section(self, title):
        print(f"\n{title}", flush=True)

    def note(self, text):
        print(f"  {text}", flush=True)

    def judge(self, label, value, target, passed):
        self.judged += 1
        self.missed += not passed
        keep(label, str(value), wanted=target, met=bool(passed))
        print(f"  {label:<52} {value:>14}   {target:<14} {'PASS' if passed else 'FAIL'}", flush=True)

    def offenders(self, lines):
        for line in lines[:SHOWN_OFFENDERS]:
            print(f"      {ascii(line)[1:-1]}")
        if len(lines) > SHOWN_OFFENDERS:
            print(f"      ... and {len(lines) - SHOWN_OFFENDERS} more")


# ---- running commands ----


@dataclasses.dataclass
class Command:
    label: str
    argv: list
    cwd: Path
    # Whether it finds what its earlier runs left in the home directory.
    keeps: bool = False
    # Whether it is the first command of all.
    first: bool = False


@dataclasses.dataclass
class Sample:
    wall: float
    cpu: float


@dataclasses.dataclass
class Timing:
    """All samples of one command; times in seconds."""

    samples: list

    def median(self, field):
        return statistics.median(getattr(sample, field) for sample in self.samples)

    def best(self, field):
        return min(getattr(sample, field) for sample in self.samples)


class Sandbox:
    """A home directory, and an environment that points every place a program may write to into it."""

    def __init__(self, work):
        self.home, self.kept_home, self.pack = work / "home", work / "kept-home", work / "pack"
        shutil.rmtree(self.kept_home, ignore_errors=True)

    def install(self, maestro):
        """Has the built-in skills copied, as the first command does, and keeps the copy."""
        subprocess.run([maestro, "skills", "list"], cwd=self.home.parent, env=self.empty(), check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(self.pack, ignore_errors=True)
        shutil.copytree(self.home / "data", self.pack, symlinks=True)

    def empty(self):
        """One with nothing in it."""
        shutil.rmtree(self.home, ignore_errors=True)
        return self.environment(self.home)

    def fresh(self):
        """One with the built-in skills."""
        env = self.empty()
        if self.pack.exists():
            shutil.copytree(self.pack, self.home / "data", symlinks=True)
        return env

    def kept(self):
        """One that stays as it is from run to run."""
        return self.environment(self.kept_home)

    def environment(self, home):
        places = {"HOME": home, "MAESTRO_HOME": home / ".maestro"}
        for kind in ("CONFIG", "CACHE", "DATA", "STATE"):
            places[f"XDG_{kind}_HOME"] = home / kind.lower()
        places["XDG_RUNTIME_DIR"] = home / "runtime"
        places["XDG_RUNTIME_DIR"].mkdir(parents=True, mode=0o700, exist_ok=True)
        return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **{name: str(path) for name, path in places.items()}}


def run_once(command, sandbox):
    """One timed run, from before the process is started until it is reaped. Output goes to the null device."""
    env = sandbox.kept() if command.keeps else sandbox.empty() if command.first else sandbox.fresh()
    start = time.perf_counter()
    process = subprocess.Popen(
        command.argv,
        cwd=command.cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    limit = threading.Timer(RUN_LIMIT_S, os.killpg, (process.pid, signal.SIGKILL))
    limit.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    finally:
        limit.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise CannotMeasure(f"{command.label}: ended with {process.returncode}: {shlex.join(map(str, command.argv))}")
    return Sample(wall, usage.ru_utime + usage.ru_stime)


def run_interleaved(commands, runs, sandbox):
    """Time the commands in turn, one uncounted round first; each round starts with another command."""
    timings = {command.label: Timing([]) for command in commands}
    for turn in range(runs + 1):
        shift = turn % len(commands)
        for command in commands[shift:] + commands[:shift]:
            sample = run_once(command, sandbox)
            if turn > 0:
                timings[command.label].samples.append(sample)
    return timings


def capture(argv, cwd, sandbox, keeps=False):
    """Exit status and standard output of one untimed run."""
    env = sandbox.kept() if keeps else sandbox.fresh()
    try:
        done = subprocess.run(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=RUN_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise CannotMeasure(f"no end after {RUN_LIMIT_S} s: {shlex.join(map(str, argv))}") from error
    return done.returncode, done.stdout


def peak_memory(argv, cwd, sandbox, keeps=False):
    """Peak resident bytes of one run."""
    helper = [sys.executable, "-I", "-S", "-c", PEAK_MEMORY, *map(str, argv)]
    status, out = capture(helper, cwd, sandbox, keeps)
    if status != 0:
        raise CannotMeasure(f"ended with {status}: {shlex.join(map(str, argv))}")
    return int(out)


def read_catalogue(argv, cwd, sandbox):
    """The parsed output of `maestro skills list --json ...`, whatever its exit status."""
    status, out = capture(argv, cwd, sandbox)
    try:
        catalogue = json.loads(out)
    except ValueError as error:
        raise CannotMeasure(f"no JSON (exit status {status}): {shlex.join(map(str, argv))}: {error}") from error
    for key in ("skills", "problems", "shadowed"):
        if not isinstance(catalogue, dict) or not isinstance(catalogue.get(key), list):
            raise CannotMeasure(f"no list of {key} in the output of {shlex.join(map(str, argv))}")
    if not all(isinstance(entry.get("path"), str) for entry in catalogue["skills"] + catalogue["shadowed"]):
        raise CannotMeasure(f"a skill without a path in the output of {shlex.join(map(str, argv))}")
    return catalogue


# ---- the load rate ----


def read_expected(corpus):
    with open(corpus / "expected.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def loaded_by_directory(catalogue):
    """Real path of the skill's directory -> entry, for listed and shadowed skills alike."""
    return {os.path.realpath(entry["path"]): entry for entry in catalogue["skills"] + catalogue["shadowed"]}


def located_errors(problems):
    """Real paths of what has at least one error that says where, what, and how to mend it."""

    def useful(problem):
        line = problem.get("line")
        where = type(line) is int and line >= 1
        return problem.get("severity") == "error" and where and problem.get("message") and problem.get("help")

    return {os.path.realpath(problem["path"]) for problem in problems if problem.get("path") and useful(problem)}


def one_line(text):
    return " ".join(text.split())


def compare_fields(expected, entry, directory):
    """(field, expected, found, differs after normalisation) for each field that differs as it stands."""
    right = {"name": expected["name"] or os.path.basename(directory), "description": expected["description"] or ""}
    for field, want in right.items():
        found = entry.get(field) or ""
        if found != want:
            yield field, want, found, one_line(found) != one_line(want)


def compare_with_expected(expected, corpus, catalogue):
    """Offenders of each target of the load rate, as printable lines; and how many files loaded."""
    loaded, explained = loaded_by_directory(catalogue), located_errors(catalogue["problems"])
    found = {"loaded": 0, "differ": 0, "missing": [], "name": [], "description": [], "unexplained": []}
    for row in expected:
        file = os.path.realpath(corpus / row["path"])
        directory = os.path.dirname(file)
        entry = loaded.get(directory)
        if entry is None:
            if row["codex_loads"]:
                found["missing"].append(row["path"])
            if file not in explained and directory not in explained:
                found["unexplained"].append(row["path"])
            continue
        found["loaded"] += 1
        if row["valid_yaml"]:
            for field, want, got, wrong in compare_fields(row, entry, directory):
                found["differ"] += 1
                if wrong:
                    found[field].append(f"{row['path']}: expected {want[:80]!r}, found {got[:80]!r}")
    return found


def measure_load_rate(report, maestro, corpus, sandbox, work):
    report.section(f"Load rate on {corpus.name}")
    if not (corpus / "expected.jsonl").is_file():
        report.note("skipped: there is no corpus")
        return
    expected = read_expected(corpus)
    catalogue = read_catalogue([maestro, "skills", "list", "--json", "--dir", corpus / "skills"], work, sandbox)
    found = compare_with_expected(expected, corpus, catalogue)
    codex = sum(row["codex_loads"] for row in expected)
    valid = sum(row["valid_yaml"] for row in expected)
    report.note(f"{len(expected)} files, {valid} with valid YAML")
    report.note(f"{found['differ']} names or descriptions differ before whitespace is normalised")
    report.judge("files loaded", found["loaded"], f">= {codex} (Codex)", found["loaded"] >= codex)
    for key, label in (
        ("missing", "loaded by Codex and not by us"),
        ("name", "wrong names"),
        ("description", "wrong descriptions"),
        ("unexplained", "not loaded and no error with line, message, help"),
    ):
        report.judge(label, len(found[key]), "= 0", not found[key])
        report.offenders(found[key])


# ---- the trees ----


def corpus_templates(corpus):
    """(slug, frontmatter, body) of the corpus files that everyone can load and whose name is one line."""
    templates = []
    for row in read_expected(corpus):
        if not (row["valid_yaml"] and row["codex_loads"] and row["name"] and row["description"]):
            continue
        text = (corpus / row["path"]).read_bytes().decode("utf-8", "replace")
        front = FRONTMATTER.match(text)
        if front and len(NAME_LINE.findall(front[0])) == 1:
            templates.append((slug(row["name"]), front[0], text[front.end() :]))
    return templates


def synthetic_templates():
    """The same for invented skills, with descriptions as long as real ones."""
    words = "plan review test deploy data report chart query image audio parse build release audit search draft".split()
    chance = random.Random(1)
    templates = []
    for _ in range(500):
        description = " ".join(chance.choices(words, k=round(35 * chance.lognormvariate(0, 0.6)) + 3))
        front = f"---\nname: skill\ndescription: Use it to {description}.\nmetadata:\n  version: '1.0'\n---\n"
        body = "\n" + " ".join(chance.choices(words, k=90)) + "\n"
        templates.append((slug("-".join(chance.sample(words, 2))), front, body))
    return templates


def slug(name):
    return re.sub("[^a-z0-9]+", "-", name.lower())[:50].strip("-") or "skill"


def grow(body, index):
    """The body repeated up to a realistic length, which depends only on the index."""
    length = min(BODY_MAX, round(random.Random(index).lognormvariate(math.log(BODY_MEDIAN), BODY_SPREAD)))
    unit = body.rstrip() + FILLER
    return (unit * (length // len(unit) + 1))[:length]


def write_tree(tree, count, templates, bodies):
    """A project with `count` skills, each with its own name, which its directory bears too; returns their bytes."""
    skills = tree / ".claude" / "skills"
    skills.mkdir(parents=True)
    total = 0
    for index in range(count):
        base, front, body = templates[index % len(templates)]
        name = f"{base}-{index:05}"
        text = NAME_LINE.sub(f"name: {name}", front) + (grow(body, index) if bodies == "grown" else body)
        (skills / name).mkdir()
        total += (skills / name / "SKILL.md").write_bytes(text.encode())
    (tree / ".agents").mkdir()
    (tree / ".agents" / "skills").symlink_to("../.claude/skills")
    return total


def build_tree(work, count, templates, bodies, report):
    """The tree of `count` skills below `work`; one that an earlier run finished from the same skills is used again."""
    tree, stamp = work / f"tree-{count}-{bodies}", work / f"tree-{count}-{bodies}.json"
    source = {"templates": len(templates), "chars": sum(len(front) + len(body) for _, front, body in templates)}
    known = json.loads(stamp.read_text()) if stamp.is_file() else {}
    if known.get("source") != source:
        stamp.unlink(missing_ok=True)
        shutil.rmtree(tree, ignore_errors=True)
        known = {"source": source, "bytes": write_tree(tree, count, templates, bodies)}
        stamp.write_text(json.dumps(known))
        time.sleep(SETTLED_S)
    report.note(f"tree of {count} skills, {known['bytes']:,} bytes, bodies {bodies}")
    return tree


# ---- scale ----


def install_openskills(work, report):
    """Path of the openskills program, installed below `work` if need be; None if that cannot be done."""
    program = work / "npm" / "node_modules" / ".bin" / "openskills"
    if program.exists():
        return program
    if shutil.which("npm") is None:
        report.note("openskills is left out: npm is not installed")
        return None
    command = ["npm", "install", "--prefix", work / "npm", "--no-audit", "--no-fund", OPENSKILLS]
    if subprocess.run(command, capture_output=True).returncode != 0:
        report.note(f"openskills is left out: npm could not install {OPENSKILLS}")
        return None
    return program


def baseline_commands(tree, openskills):
    skills = shlex.quote(str(tree / ".claude" / "skills"))
    pipeline = f"find {skills} -name SKILL.md -print0 | xargs -0 cat > /dev/null"
    commands = [Command("find | xargs cat", ["sh", "-c", pipeline], tree)]
    if openskills:
        commands.append(Command("openskills list", [openskills, "list"], tree))
    return commands


def maestro_list_commands(maestro, tree):
    return [
        Command("maestro skills list --json", [maestro, "skills", "list", "--json"], tree),
        Command("maestro skills list", [maestro, "skills", "list"], tree),
    ]


def print_timings(report, timings):
    report.note(f"{'milliseconds':<34} {'CPU median':>11} {'CPU best':>11} {'wall median':>12} {'wall best':>11}")
    for label, timing in timings.items():
        cpu, wall = (f"{1000 * timing.median(f):>11.1f} {1000 * timing.best(f):>11.1f}" for f in ("cpu", "wall"))
        report.note(f"{label:<34} {cpu}  {wall}")


def judge_ratio(report, label, above, below, field, target, at_least):
    ratio, best = above.median(field) / below.median(field), above.best(field) / below.best(field)
    passed = ratio >= target if at_least else ratio <= target
    report.judge(label, f"{ratio:.2f} ({best:.2f})", f"{'>=' if at_least else '<='} {target}", passed)


def judge_scale(report, timings):
    """Ratios of medians; in brackets, of the best runs."""
    files, openskills = timings["find | xargs cat"], timings.get("openskills list")
    for label, timing in timings.items():
        if not label.startswith("maestro"):
            continue
        if openskills:
            judge_ratio(report, f"CPU, openskills / {label}", openskills, timing, "cpu", 4, True)
        judge_ratio(report, f"CPU, {label} / cat", timing, files, "cpu", 1.5, False)
        judge_ratio(report, f"wall, {label} / cat", timing, files, "wall", 1.5, False)


def judge_completeness(report, maestro, tree, sandbox):
    """A fast list counts only if it is a whole one: each skill of the tree once, whichever link leads to it."""
    catalogue = read_catalogue([maestro, "skills", "list", "--json"], tree, sandbox)
    inside = os.path.realpath(tree) + os.sep
    paths = [os.path.realpath(skill["path"]) for skill in catalogue["skills"]]
    listed = [path for path in paths if path.startswith(inside)]
    report.judge("skills listed, each once", len(listed), f"= {LARGE}", len(listed) == len(set(listed)) == LARGE)
    counts = {"listed in all": paths, "shadowed": catalogue["shadowed"], "problems": catalogue["problems"]}
    report.note(", ".join(f"{len(items)} {what}" for what, items in counts.items()))


def measure_scale(report, maestro, tree, openskills, runs, sandbox):
    """With no Maestro only the baselines are timed."""
    report.section(f"Scale: {LARGE} skills, {runs} runs each")
    own = maestro_list_commands(maestro, tree) if maestro else []
    if own:
        judge_completeness(report, maestro, tree, sandbox)
    timings = run_interleaved(baseline_commands(tree, openskills) + own, runs, sandbox)
    print_timings(report, timings)
    judge_scale(report, timings)
    for command in own:
        peak = peak_memory(command.argv, command.cwd, sandbox)
        report.judge(f"peak memory, {command.label}", f"{peak / MB:.1f} MB", "< 60 MB", peak < 60 * MB)


def measure_many(report, maestro, tree, runs, sandbox):
    """As many skills as were published when the corpus was made."""
    report.section(f"Scale: {ALL_PUBLISHED} skills, {runs} runs")
    command = Command(f"maestro skills list, {ALL_PUBLISHED} skills", [maestro, "skills", "list"], tree)
    timings = run_interleaved([command], runs, sandbox)
    print_timings(report, timings)
    cpu = timings[command.label].median("cpu")
    report.judge(f"CPU, {command.label}", f"{cpu:.2f} s", "< 0.8 s", cpu < 0.8)


# ---- the index ----


def stat_floor(maestro, tree, runs):
    """The least milliseconds that one pass of the stat calls took; None if its program was not built."""
    program = maestro.parent / "examples" / "stat_floor"
    if not os.access(program, os.X_OK):
        return None
    argv = [program, tree / ".claude" / "skills"]
    return min(float(subprocess.run(argv, check=True, capture_output=True).stdout) for _ in range(runs))


def judge_same_list(report, maestro, tree, sandbox):
    """What is listed from an index, byte for byte as without one; the home is named alike in both."""
    argv = [maestro, "skills", "list", "--json"]
    without = [*argv, "--set", "skills_index=false"]
    lists = [capture(command, tree, sandbox, keeps=True) for command in (argv, argv, without)]
    files = list((sandbox.kept_home / "cache" / "maestro" / "index").iterdir())
    report.note(f"{len(files)} index of {sum(file.stat().st_size for file in files):,} bytes")
    report.judge("lists that differ from one without an index", len(set(lists)) - 1, "= 0", len(set(lists)) == 1)


def measure_index(report, maestro, tree, openskills, runs, sandbox):
    report.section(f"Index: {LARGE} skills, {runs} runs each, after one that leaves an index behind")
    judge_same_list(report, maestro, tree, sandbox)
    names = sorted(entry.name for entry in (tree / ".claude" / "skills").iterdir())
    listed = Command("maestro skills list (index)", [maestro, "skills", "list"], tree, keeps=True)
    as_json = Command("maestro skills list --json (index)", [*listed.argv, "--json"], tree, keeps=True)
    middle = names[len(names) // 2]
    read = Command("maestro skills read NAME (index)", [maestro, "skills", "read", middle], tree, keeps=True)
    rival = [Command("openskills list", [openskills, "list"], tree)] if openskills else []
    timings = run_interleaved([*rival, listed, as_json, read], runs, sandbox)
    print_timings(report, timings)
    floor = stat_floor(maestro, tree, runs)
    report.note(f"the stat calls alone take {floor:.1f} ms at best" if floor else
                "the stat floor is left out: cargo build --release --example stat_floor")
    if rival:
        judge_ratio(report, f"CPU, openskills / {listed.label}", timings[rival[0].label], timings[listed.label],
                    "cpu", 12, True)
    judge_wall(report, timings[read.label], f"{read.label}, {LARGE} skills", 80)
    peak = peak_memory(listed.argv, tree, sandbox, keeps=True)
    report.judge(f"peak memory, {listed.label}", f"{peak / MB:.1f} MB", "< 60 MB", peak < 60 * MB)


# ---- response ----


def judge_wall(report, timing, label, limit_ms):
    wall = 1000 * timing.median("wall")
    report.judge(label, f"{wall:.1f} ms", f"< {limit_ms} ms", wall < limit_ms)


def measure_response(report, maestro, small, large, runs, sandbox):
    report.section("Response, with the start of the process")
    names = sorted(entry.name for entry in (small / ".claude" / "skills").iterdir())
    floor = Command("a process that does nothing", ["true"], small)
    read = Command("maestro skills read NAME", [maestro, "skills", "read", names[len(names) // 2]], small)
    first = Command("the first command of all", read.argv, small, first=True)
    bare = [Command(f"maestro, {n} skills", [maestro], tree) for n, tree in ((SMALL, small), (LARGE, large))]
    timings = run_interleaved([floor, read, first], READ_RUNS, sandbox) | run_interleaved(bare, runs, sandbox)
    print_timings(report, timings)
    judge_wall(report, timings[read.label], f"{read.label}, {SMALL} skills", 15)
    for command in bare:
        judge_wall(report, timings[command.label], command.label, 200)
    size = os.path.getsize(maestro)
    weights = os.path.getsize(ROOT / "crates" / "encoder" / "data" / "encoder.bin")
    report.note(f"the binary is {size / MB:.1f} MB, {weights / MB:.1f} MB of it weights")
    report.judge("binary without weights", f"{(size - weights) / MB:.1f} MB", "< 22 MB", size - weights < 22 * MB)


# ---- selection ----


def selection_alone(maestro, tree):
    """The median of one selection with the catalogue loaded, in milliseconds, if the example is built."""
    program = maestro.parent / "examples" / "selection_speed"
    if not program.exists():
        return None
    done = subprocess.run([program, tree / ".claude" / "skills"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["median_ms"]


def measure_selection(report, maestro, tree, runs, sandbox):
    """Discover, select and render: the prompt for a task among all these skills."""
    report.section(f"Selection: {LARGE} skills, {runs} runs each")
    task = "Migrate the postgres database schema and validate the invoice report"
    cold = Command("maestro prompt TASK", [maestro, "prompt", task], tree)
    warm = Command("maestro prompt TASK (index)", [maestro, "prompt", task], tree, keeps=True)
    timings = run_interleaved([cold, warm], runs, sandbox)
    print_timings(report, timings)
    # A third and a fifth of the 370 ms that an earlier plan loop took for the same.
    judge_wall(report, timings[cold.label], cold.label, 123)
    judge_wall(report, timings[warm.label], warm.label, 74)
    alone = selection_alone(maestro, tree)
    if alone is None:
        report.note("one selection is left out: cargo build --release --example selection_speed")
    else:
        report.judge("one selection, catalogue loaded", f"{alone:.2f} ms", "< 5 ms", alone < 5)


# ---- the whole ----


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maestro", type=Path, default=ROOT / "target" / "release" / "maestro", metavar="PATH")
    parser.add_argument("--corpus", type=Path, default=ROOT.parent / "shared" / "corpus", metavar="DIR")
    parser.add_argument("--work", type=Path, metavar="DIR", help="keeps trees and openskills for the next time")
    parser.add_argument("--runs", type=int, default=7, metavar="N", help="timed runs of each command (default 7)")
    parser.add_argument("--bodies", choices=("grown", "stored"), default="grown", help="length of the skills' bodies")
    parser.add_argument("--baselines", action="store_true", help="time only what Maestro is compared with")
    return parser.parse_args()


def measure(arguments, work, report):
    maestro, corpus, runs = arguments.maestro.resolve(), arguments.corpus.resolve(), arguments.runs
    if arguments.baselines:
        maestro = None
    elif not os.access(maestro, os.X_OK):
        raise CannotMeasure("there is no maestro program; build a release or name one with --maestro")
    sandbox = Sandbox(work)
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"{os.cpu_count()} cores, load average {load}")
    if maestro:
        sandbox.install(maestro)
        measure_load_rate(report, maestro, corpus, sandbox, work)

    report.section("Preparation")
    real = (corpus / "expected.jsonl").is_file()
    report.note("skills of the trees: " + ("from the corpus" if real else "synthetic, there is no corpus"))
    templates = corpus_templates(corpus) if real else synthetic_templates()
    large = build_tree(work, LARGE, templates, arguments.bodies, report)
    openskills = install_openskills(work, report)
    measure_scale(report, maestro, large, openskills, runs, sandbox)
    if maestro:
        measure_many(report, maestro, build_tree(work, ALL_PUBLISHED, templates, arguments.bodies, report), runs, sandbox)
        measure_index(report, maestro, large, openskills, runs, sandbox)
        small = build_tree(work, SMALL, templates, arguments.bodies, report)
        measure_selection(report, maestro, large, runs, sandbox)
        measure_response(report, maestro, small, large, runs, sandbox)


def work_directory(path):
    """The given directory, kept; or a temporary one, removed at the end."""
    if path is None:
        return tempfile.TemporaryDirectory(prefix="maestro-bench-")
    path.mkdir(parents=True, exist_ok=True)
    return contextlib.nullcontext(path)


def main():
    arguments, report = parse_arguments(), Report()
    try:
        with work_directory(arguments.work) as work:
            measure(arguments, Path(work).resolve(), report)
    except CannotMeasure as error:
        print(f"catalogue: {error}", file=sys.stderr)
        return 2
    print(f"\n{report.missed} of {report.judged} targets missed")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
