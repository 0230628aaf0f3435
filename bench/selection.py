#!/usr/bin/env python3
"""Measure how well skills are selected for task lines, and how fast.

Sets   bench/selection/{dev,test}.jsonl over bench/selection/skills and the built-in pack, alone and among 1,700 others;
       and, where they are there, SHARED/matching/dev with 5 to 139+1,700 skills installed, and the pasted prompts of
       SHARED/selection/student/long30.json. Small pools hold a line's own skills and others drawn at random with a
       fixed seed; large ones are filled up from SHARED/corpus.
Score  mean over lines of F1 between chosen and expected; a line that needs nothing counts 1 if nothing wrong was
       chosen, else 0. An acceptable skill never hurts. Only the first two (review: one) count. The interval is the
       95 % of a bootstrap over lines. `listed`: of the lines that need a skill, how many have it among the chosen or
       the first six that came close. `words`: the score where words alone decide.

Needs the release examples `select_lines` (maestro-skills) and, for --speed, `selection_speed` and `encode_speed`:
  cargo build --release --examples -p maestro-skills -p maestro-encoder
Exits with 1 if a target is missed, 2 if something needed is not there. Nothing is written outside a temporary directory.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
TARGETS = {"own test": 0.79, "shared dev, 10": 0.94, "shared dev, 139": 0.90}
ABSTAIN = 0.97
LISTED = 6
KINDS = ("single", "paraphrase", "two", "none", "misleading", "hint", "pasted")


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def f1(line, chosen):
    """The score of one line: F1 against what was expected, acceptable ones counting as right."""
    room = 1 if line["step_kind"] == "review" else 2
    chosen = list(dict.fromkeys(chosen))[:room]
    right = [name for name in chosen if name in line["expected"] or name in line["acceptable"]]
    wrong = len(chosen) - len(right)
    if not line["expected"]:
        return 1.0 if wrong == 0 else 0.0
    hits = min(len(line["expected"]), len(right))
    missing = len(line["expected"]) - hits
    return 2 * hits / (2 * hits + wrong + missing) if hits else 0.0


def select(program, vectors, lines, roots, *options):
    """What the program says of each line."""
    asked = [
        json.dumps({"task": line["task"], "step_kind": line["step_kind"], "roots": root})
        for line, root in zip(lines, roots)
    ]
    command = [str(program), str(vectors), *options]
    done = subprocess.run(command, input="\n".join(asked) + "\n", capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{' '.join(command)} failed: {done.stderr}", file=sys.stderr)
        sys.exit(2)
    return [json.loads(line) for line in done.stdout.splitlines()]


def chosen(record):
    return [skill["name"] for skill in record["skills"]]


def is_listed(line, record):
    """Whether a line's skill is chosen, or among those that came close."""
    names = chosen(record)
    names += [ranked["name"] for ranked in record["detail"]["ranking"] if ranked["name"] not in names][:LISTED]
    return any(name in names for name in line["expected"] + line["acceptable"])


def interval(scores):
    """The 95 % interval of the mean."""
    draw = random.Random(1)
    means = sorted(statistics.mean(draw.choices(scores, k=len(scores))) for _ in range(1000))
    return means[25], means[974]


class Report:
    def __init__(self, program, vectors):
        self.program, self.vectors, self.met = program, vectors, True
        print(f"  {'set':22} {'score':7} {'95 %':13} words   none    listed  kinds")

    def measure(self, name, lines, roots):
        records = select(self.program, self.vectors, lines, roots)
        words = select(self.program, self.vectors, lines, roots, "--words")
        scores = [f1(line, chosen(record)) for line, record in zip(lines, records)]
        by_words = statistics.mean(f1(line, chosen(record)) for line, record in zip(lines, words))
        nothing = [score for score, line in zip(scores, lines) if not line["expected"]]
        needs = [is_listed(line, record) for line, record in zip(lines, records) if line["expected"]]
        low, high = interval(scores)
        score, abstain = statistics.mean(scores), statistics.mean(nothing)
        kinds = []
        for kind in KINDS:
            of_kind = [score for score, line in zip(scores, lines) if line["kind"] == kind]
            kinds += [f"{kind} {statistics.mean(of_kind):.2f}"] if of_kind else []
        row = f"  {name:22} {score:.3f}   {low:.3f}–{high:.3f}   {by_words:.3f}   {abstain:.3f}   "
        row += f"{statistics.mean(needs):.3f}   {' '.join(kinds)}"
        if name in TARGETS:
            met = score >= TARGETS[name] and abstain >= ABSTAIN
            self.met &= met
            row += f"   target {TARGETS[name]:.2f}/{ABSTAIN:.2f} {'PASS' if met else 'FAIL'}"
        print(row, flush=True)


def corpus_skills(shared, taken):
    """Directories of other people's skills whose names are not taken, in a fixed random order."""
    found = []
    for entry in read_lines(shared / "corpus/expected.jsonl"):
        if entry["codex_loads"] and entry["valid_yaml"] and entry["name"] and entry["name"] not in taken:
            taken.add(entry["name"])
            found.append((shared / "corpus" / entry["path"]).parent)
    random.Random(7).shuffle(found)
    return found


def copy_skills(directories, target):
    for number, directory in enumerate(directories):
        shutil.copytree(directory, target / f"{number:05}" / directory.name)


def small_pool(line, pool, size, number, target):
    """A line's own skills, filled up with others."""
    own = [name for name in line["expected"] + line["acceptable"] if name in pool]
    others = sorted(set(pool) - set(own))
    random.Random(1000 * size + number).shuffle(others)
    for name in own + others[: max(0, size - len(own))]:
        shutil.copytree(pool[name], target / name)


def measure_own(report, shared, work):
    own = [str(REPO / "bench/selection/skills"), str(REPO / "skills")]
    many = work / "own-many"
    if shared:
        names = {path.name for path in (REPO / "bench/selection/skills").iterdir()}
        copy_skills(corpus_skills(shared, names)[:1700], many)
    for part in ("dev", "test"):
        lines = read_lines(REPO / f"bench/selection/{part}.jsonl")
        report.measure(f"own {part}", lines, [own] * len(lines))
        if shared:
            report.measure(f"own {part}, +1700", lines, [own + [str(many)]] * len(lines))


def measure_shared(report, shared, work):
    lines = read_lines(shared / "matching/dev/queries.jsonl")
    skills = shared / "matching/dev/skills"
    pool = {path.name: path for path in skills.iterdir()}
    corpus = corpus_skills(shared, set(pool))
    for size in (5, 10, 40):
        roots = []
        for number, line in enumerate(lines):
            directory = work / f"pool-{size}" / f"{number:03}"
            directory.mkdir(parents=True)
            small_pool(line, pool, size, number, directory)
            roots.append([str(directory)])
        report.measure(f"shared dev, {size}", lines, roots)
    for more in (0, 500, 1700):
        directory = work / f"more-{more}"
        directory.mkdir()
        copy_skills(corpus[:more], directory)
        name = f"shared dev, {len(pool)}" + (f"+{more}" if more else "")
        report.measure(name, lines, [[str(skills), str(directory)]] * len(lines))
    pasted = shared / "selection/student/long30.json"
    if pasted.exists():
        prompts = json.loads(pasted.read_text(encoding="utf-8"))
        for part, root in (("own", [str(REPO / "bench/selection/skills"), str(REPO / "skills")]), ("dev", [str(skills)])):
            lines = [
                {"task": prompt["task"], "step_kind": "implementation", "kind": "pasted",
                 "expected": prompt[part][:1], "acceptable": prompt[part][1:]}
                for prompt in prompts
            ]
            report.measure(f"pasted, {part}", lines, [root] * len(lines))


def measure_speed(shared, work, vectors):
    """The figures of the release examples, one line each."""
    examples = REPO / "target/release/examples"
    commands = [[examples / "encode_speed", REPO / "crates/encoder/data/encoder.bin"]]
    commands += [[examples / "selection_speed", work / "more-1700", vectors]] if shared else []
    for command in commands:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        print(f"  {command[0].name}\n    " + "\n    ".join((done.stdout or done.stderr).splitlines()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=REPO / "target/release/examples/select_lines", metavar="PATH")
    parser.add_argument("--shared", type=Path, default=REPO.parent / "shared", metavar="DIR")
    parser.add_argument("--speed", action="store_true", help="measure the speed as well")
    options = parser.parse_args()
    if not options.program.exists():
        print("build it: cargo build --release --example select_lines -p maestro-skills", file=sys.stderr)
        sys.exit(2)
    shared = options.shared if (options.shared / "matching/dev").is_dir() else None
    started = time.time()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        report = Report(options.program, work / "skills.vectors")
        measure_own(report, shared, work)
        if shared:
            measure_shared(report, shared, work)
        else:
            print("  the shared sets are not there and were left out")
        if options.speed:
            measure_speed(shared, work, report.vectors)
    print(f"  in {time.time() - started:.0f} s")
    sys.exit(0 if report.met else 1)


if __name__ == "__main__":
    main()
