#!/usr/bin/env python3
"""Validate the selection set: python3 check.py [-v]. Exits 1 if anything is wrong. Standard library only."""
import collections
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent
BUILT_IN = {"maestro-cli", "maestro-worker", "maestro-orchestrator"}
KINDS = ["single", "paraphrase", "two", "none", "misleading", "hint"]
FIELDS = ["id", "task", "step_kind", "expected", "acceptable", "kind"]
STOP = set("""a an and any are as at be been before but by can could do does for from get has have how if in into is it its
let make may must no not of on one only or our out over same so than that the their them then there they this to two up use
used using was we what when where which while who why will with without you your after all also each every more new now
some such too very about between during through under see say add write read work run set change way well it's don't"""
           .split())
errors, warnings = [], []


def skill(path):
    """Name, description and whether it may only be used when named."""
    front, body = path.read_text(encoding="utf-8").split("\n---\n", 1)
    name = re.search(r"^name: (\S+)$", front, re.M)
    desc = re.search(r"^description: (?:>-\n((?:  .*\n?)+)|\"(.*)\"|(.*))", front, re.M)
    text = " ".join(next(g for g in desc.groups() if g is not None).split())
    lines = len(body.strip().splitlines())
    where = path.parent.name
    if not name or name.group(1) != where or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", where) or len(where) > 64:
        errors.append(f"{where}: bad name")
    if not 120 <= len(text) <= 500:
        errors.append(f"{where}: description has {len(text)} characters")
    if not 15 <= lines <= 60:
        errors.append(f"{where}: body has {lines} lines")
    return where, text, bool(re.search(r"^disable-model-invocation: true$", front, re.M))


def words(text):
    out = set()
    for w in re.findall(r"[a-z][a-z0-9']+", text.lower()):
        if w not in STOP:
            out.add(re.sub(r"(ing|ed|es|s|e)$", "", w) if len(w) > 4 else w)
    return out


skills = {n: (d, m) for n, d, m in map(skill, sorted(ROOT.glob("skills/*/SKILL.md")))}
manual = {n for n, (_, m) in skills.items() if m}
pool = set(skills) | BUILT_IN
if len(skills) != 70:
    errors.append(f"{len(skills)} skills, not 70")
if len(manual) != 5:
    errors.append(f"{len(manual)} manual-only skills, not 5")

ids, tasks, seen = set(), {}, {}
for part, prefix in (("dev", "v"), ("test", "t")):
    seen[part] = set()
    kinds, steps = collections.Counter(), collections.Counter()
    rows = [json.loads(x) for x in (ROOT / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()]
    for r in rows:
        i = r.get("id")

        def bad(why):
            errors.append(f"{part} {i}: {why}")

        if list(r) != FIELDS:
            bad(f"fields {list(r)}")
            continue
        exp, acc, kind, step = r["expected"], r["acceptable"], r["kind"], r["step_kind"]
        kinds[kind] += 1
        steps[step] += 1
        seen[part].update(exp)
        if i in ids or not re.fullmatch(prefix + r"\d{3}", i):
            bad("id not unique or malformed")
        ids.add(i)
        key = " ".join(re.findall(r"\w+", r["task"].lower()))
        if key in tasks:
            bad(f"same task as {tasks[key]}")
        tasks[key] = i
        if kind not in KINDS:
            bad(f"unknown kind {kind}")
        if step not in ("implementation", "review"):
            bad(f"unknown step kind {step}")
        if len(exp) > (1 if step == "review" else 2):
            bad("more expected than the step may have")
        for n in exp + acc:
            if n not in pool:
                bad(f"unknown skill {n}")
        if len(set(exp + acc)) != len(exp + acc):
            bad("a skill is listed twice")
        if set(acc) & manual or (set(exp) & manual and kind != "hint"):
            bad("manual-only skill outside a hint")
        want = {"single": (1, 1), "paraphrase": (1, 1), "two": (2, 2), "none": (0, 0),
                "misleading": (0, 1), "hint": (0, 2)}.get(kind, (0, 2))
        if not want[0] <= len(exp) <= want[1]:
            bad(f"{len(exp)} expected for kind {kind}")
        hinted = set(re.findall(r"(?:^|\s)@([a-z0-9-]+)(?=\s|$)", r["task"]))
        for m in re.findall(r"\(skill: ([^)]*)\)", r["task"]):
            hinted |= {x.strip() for x in m.split(",")}
        if kind == "hint" and set(exp) != hinted & pool:
            bad("expected is not the known part of the hint")
        if kind != "hint" and hinted:
            bad("hint in a line that is not of that kind")
        if kind == "paraphrase" and exp[0] in skills:
            common = words(r["task"]) & words(exp[0].replace("-", " ") + " " + skills[exp[0]][0])
            if common:
                warnings.append(f"{i} shares {sorted(common)} with {exp[0]}")
    if len(rows) < 170:
        errors.append(f"{part}: only {len(rows)} lines")
    for n in sorted(pool - seen[part]):
        errors.append(f"{part}: {n} is never expected")
    print(f"{part}: {len(rows)} lines; " + ", ".join(f"{k} {kinds[k]} ({100 * kinds[k] / len(rows):.0f} %)" for k in KINDS)
          + "; " + ", ".join(f"{k} {steps[k]} ({100 * steps[k] / len(rows):.0f} %)" for k in sorted(steps)))

print(f"skills: {len(skills)} + {len(BUILT_IN)} built in, {len(manual)} manual-only")
print(f"paraphrases that share a content word with name or description: {len(warnings)}")
if "-v" in sys.argv:
    print(*warnings, sep="\n")
print(*errors, sep="\n") if errors else print("ok")
sys.exit(bool(errors))
