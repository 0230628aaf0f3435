#!/usr/bin/env python3
"""Makes the training data of the encoder: what train.py reads, in one folder.

usage: prepare.py SELECTION_DIR BASE_DIR OUT_DIR [--corpus DIR] [--matching DIR] [--hold-back SHARE]

SELECTION_DIR  skills.jsonl, pairs.jsonl.gz and sentences.txt.gz: public skills and text made from them (not in this repository)
BASE_DIR       model.safetensors and tokenizer.json of all-MiniLM-L6-v2
--corpus       a folder of public skills, for further (phrase, card) pairs; skills of the sets that are measured are left out
--matching     a labelled set (queries.jsonl, skills/) that train.py prints figures for; never trained on

--hold-back    the share of skills that are left out with their lines, to measure on skills that the encoder never saw

The labelled lines are lines.tsv and more-lines.tsv beside this file. Nothing here is random but by the fixed seed, so that the same input gives the same data.
"""
import argparse
import collections
import gzip
import json
import math
import pathlib
import random
import re

import numpy
from safetensors.numpy import load_file
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent
SEED = 1
NEGATIVES = 18
KEPT_WITHIN = 9000
"""Words of the base vocabulary that are common in English are kept even where our texts don't use them."""
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def card(name, description, headings):
    """What the encoder reads of a skill. The program makes the same text: crates/skills, `card`."""
    return f"{name.replace('-', ' ')}: {description[:420]} | {'; '.join(headings)[:260]}"


def headings_of(body):
    return [found.strip("# ").strip() for found in re.findall(r"^#{1,3} .+$", body, re.M)][:14]


def read_lines():
    """The labelled lines: (kind, skill ids, task)."""
    rows = []
    for path in (HERE / "lines.tsv", HERE / "more-lines.tsv"):
        for line in path.read_text().split("\n"):
            if not line or line.startswith("kind\t"):
                continue
            kind, ids, task = line.split("\t")
            rows.append((kind, [] if ids == "-" else ids.split(","), task.replace("\\n", "\n")))
    return rows


class WordIndex:
    """The nearest cards by common words: the hard negatives of the first rounds."""

    def __init__(self, cards):
        counts = {key: collections.Counter(self.words(text)) for key, text in cards.items()}
        df = collections.Counter(word for count in counts.values() for word in count)
        self.idf = {word: math.log(len(cards) / number) for word, number in df.items()}
        self.postings = collections.defaultdict(list)
        for key, count in counts.items():
            weights = {word: math.log1p(number) * self.idf[word] for word, number in count.items()}
            norm = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
            for word, weight in weights.items():
                self.postings[word].append((key, weight / norm))

    @staticmethod
    def words(text):
        return re.findall(r"[a-z0-9]{2,}", text.lower())

    def nearest(self, task, most):
        scores = collections.Counter()
        for word in set(self.words(task)):
            for key, weight in self.postings.get(word, ()):
                scores[key] += weight * self.idf[word]
        return [key for key, _ in scores.most_common(most)]


def split(rows, skills, share, rng):
    """Lines to train on, and lines of skills that are held back."""
    held = set(rng.sample(sorted(skills), int(share * len(skills))))
    index = WordIndex({key: value for key, value in skills.items() if key not in held})
    train, unseen = [], []
    for kind, ids, task in rows:
        ids = [key for key in ids if key in skills]
        right = ids if kind in ("direct", "paraphrase", "two") else []
        if ids and all(key in held for key in ids) or not ids and rng.random() < share:
            unseen.append({"task": task, "expected": right})
        elif not any(key in held for key in ids):
            near = [key for key in index.nearest(task, NEGATIVES + 6) if key not in ids][:NEGATIVES]
            wrong = ids if kind == "misleading" else []
            train.append({"task": task, "right": right, "wrong": list(dict.fromkeys(wrong + near)), "must_differ": len(wrong)})
    return train, unseen, held


def quantised(folder):
    """The base model with its matrices as int8, a scale for each row: a quarter of the size, and fine to start from."""
    stored = {}
    for name, value in load_file(folder / "model.safetensors").items():
        if name.startswith("pooler") or "position_ids" in name:
            continue
        value = value.astype(numpy.float32)
        if value.ndim == 2 and value.shape[0] > 64:
            scale = numpy.abs(value).max(1, keepdims=True) / 127
            scale[scale == 0] = 1
            stored[name] = numpy.round(value / scale).astype(numpy.int8)
            stored[name + "@s"] = scale[:, 0].astype(numpy.float32)
        else:
            stored[name] = value
    return stored


def pruned_tokenizer(path, texts):
    """The base tokenizer without the pieces that no text of ours needs, and which pieces were kept."""
    whole = json.loads(path.read_text())
    whole["truncation"] = whole["padding"] = None
    tokenizer = Tokenizer.from_str(json.dumps(whole))
    used = collections.Counter()
    for start in range(0, len(texts), 20000):
        for encoded in tokenizer.encode_batch(texts[start : start + 20000], add_special_tokens=False):
            used.update(set(encoded.ids))
    by_id = {number: piece for piece, number in whole["model"]["vocab"].items()}
    kept = [whole["model"]["vocab"][piece] for piece in SPECIAL]
    for number in range(len(by_id)):
        piece = by_id[number]
        if piece in SPECIAL or piece == "[MASK]" or piece.startswith("[unused"):
            continue
        core = piece.removeprefix("##")
        common = number < KEPT_WITHIN and core.isalpha() and core.isascii()
        if len(core) == 1 and core.isascii() or used[number] >= 3 or common:
            kept.append(number)
    numbers = {by_id[old]: new for new, old in enumerate(kept)}
    small = json.loads(json.dumps(whole))
    small["model"]["vocab"] = numbers
    small["added_tokens"] = [{**token, "id": numbers[token["content"]]} for token in whole["added_tokens"] if token["content"] in numbers]
    for piece, value in small["post_processor"].get("special_tokens", {}).items():
        value["ids"] = [numbers[piece]]
    for side in ("sep", "cls"):
        if side in small["post_processor"]:
            piece = small["post_processor"][side][0]
            small["post_processor"][side] = [piece, numbers[piece]]
    return whole, small, kept


def labelled_set(queries, skills):
    """A set to measure on: its cards, and its tasks with the numbers of the right cards."""
    names = sorted(skills)
    place = {name: number for number, name in enumerate(names)}
    tasks = [{"task": query["task"], "expected": [place[name] for name in query["expected"] + query.get("acceptable", []) if name in place]}
             for query in queries if "@" not in query["task"] and "skill:" not in query["task"]]
    return {"cards": [skills[name] for name in names], "tasks": tasks}


def phrases_of(description, body, rng, most=32):
    """What somebody who needs a skill might say, from the skill's own text: examples, uses, items, headings, sentences."""
    plain = re.sub(r"```.*?```", " ", body, flags=re.S)
    clean = lambda text: re.sub(r"\s+", " ", re.sub(r"[*_`#|>]+", " ", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))).strip()
    first = re.findall(r"[\"\u201c]([^\"\u201d\n]{10,110})[\"\u201d]", description + "\n" + body)[:8]
    first += re.findall(r"(?:[Uu]se (?:this skill |this )?(?:when|for|to|if)|when the user) ([^.;]{12,150})", description)
    first += [part for part in re.split(r"[.;]\s+|, (?:and|or) ", description) if 12 < len(part) < 160]
    rest = re.findall(r"^\s*(?:[-*+]|\d+\.)\s+(.{12,170})$", plain, re.M) + re.findall(r"^#{2,4} (.{10,90})$", body, re.M)
    rest += [part for part in re.split(r"(?<=[.!?:])\s+|\n\n+", plain) if 25 < len(part) < 260]
    rng.shuffle(rest)
    found = [clean(text) for text in first + rest[:most]]
    english = lambda text: len(text) > 8 and sum(letter.isascii() for letter in text) > 0.95 * len(text)
    return [text for text in dict.fromkeys(found) if english(text)][:most]


def corpus_pairs(folder, skip, rng):
    """(phrase, card without it) for the skills of a folder."""
    pairs = []
    for name, description, body in described_skills(folder):
        if name in skip or len(description) < 20:
            continue
        whole = card(name, description, headings_of(body))
        pairs += [[phrase, whole.replace(phrase, " ")] for phrase in phrases_of(description, body, rng)]
    return pairs


def described_skills(folder):
    """The skills of a folder: name, description, body."""
    for path in sorted(folder.glob("**/SKILL.md")):
        text = path.read_text(errors="replace")
        match = re.match(r"---\n(.*?)\n---\n(.*)", text, re.S)
        if not match:
            continue
        found = re.search(r"^description:\s*(?:[>|]-?\s*\n)?((?:.|\n(?=\s))*)", match[1], re.M)
        description = re.sub(r"\s+", " ", found[1]).strip().strip("'\"") if found else ""
        yield path.parent.name, description, match[2]


def read_skills(folder):
    """The cards of a folder of skills, by name."""
    return {name: card(name, description, headings_of(body)) for name, description, body in described_skills(folder)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("selection", type=pathlib.Path)
    parser.add_argument("base", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--corpus", type=pathlib.Path)
    parser.add_argument("--matching", type=pathlib.Path)
    parser.add_argument("--hold-back", type=float, default=0.0)
    given = parser.parse_args()
    rng = random.Random(SEED)
    skills = {}
    for line in (given.selection / "skills.jsonl").open():
        skill = json.loads(line)
        skills[skill["id"]] = card(skill["name"], skill["description"], skill["headings"])
    train, unseen, held = split(read_lines(), skills, given.hold_back, rng)
    pairs = [json.loads(line) for line in gzip.open(given.selection / "pairs.jsonl.gz", "rt")]
    sentences = [line.rstrip("\n") for line in gzip.open(given.selection / "sentences.txt.gz", "rt")]
    own = HERE.parent / "bench" / "selection"
    measured = set(read_skills(own / "skills")) | set(read_skills(given.matching / "skills") if given.matching else ())
    if given.corpus:
        pairs += corpus_pairs(given.corpus, measured, rng)
    number = {key: place for place, key in enumerate(skills)}
    sets = {}
    if unseen:
        sets["unseen"] = {"cards": list(skills.values()), "tasks": [{**row, "expected": [number[key] for key in row["expected"]]} for row in unseen]}
    read = lambda path: [json.loads(line) for line in path.open() if line.strip()]
    sets["own dev"] = labelled_set(read(own / "dev.jsonl"), read_skills(own / "skills"))
    if given.matching:
        sets["matching"] = labelled_set(read(given.matching / "queries.jsonl"), read_skills(given.matching / "skills"))
    texts = list(skills.values()) + sentences + [row["task"] for row in train] + [pair[1] for pair in pairs]
    whole, small, kept = pruned_tokenizer(given.base / "tokenizer.json", texts)
    given.out.mkdir(parents=True, exist_ok=True)
    numpy.savez(given.out / "base.npz", **quantised(given.base))
    numpy.save(given.out / "kept.npy", numpy.array(kept, numpy.int32))
    (given.out / "tokenizer-base.json").write_text(json.dumps(whole))
    (given.out / "tokenizer.json").write_text(json.dumps(small))
    data = {"skills": {key: value for key, value in skills.items() if key not in held}, "train": train, "pairs": pairs, "sentences": sentences, "sets": sets}
    with gzip.open(given.out / "train.json.gz", "wt") as file:
        json.dump(data, file)
    print(f"{len(train)} lines to train on, {len(unseen)} of {len(held)} skills held back; {len(pairs)} pairs, {len(sentences)} sentences, {len(kept)} pieces")


if __name__ == "__main__":
    main()
