#!/usr/bin/env python3
"""Trains the encoder of the skill selector: two teachers, then the small student that the program carries.

usage: train.py DATA_DIR OUT_DIR [--smoke]       (DATA_DIR: what prepare.py made; one GPU, about nine minutes)

1. Teachers: the base model, first on (phrase, card) pairs, then on the labelled lines, then again with the negatives that the
   teacher itself finds hard. An extra option of fixed similarity stands for "no skill": lines that need none must choose it.
2. Student: four layers over a pruned, narrow word table, taught to give the teachers' vectors and similarities, then tuned on
   the lines. The tuned one knows our lines better and strangers' less, so what is kept lies between the two. Matrices are
   rounded to int8.

OUT_DIR gets encoder.npz (for export.py) and figures.json.
"""
import argparse
import copy
import gzip
import json
import math
import os
import pathlib
import random
import time

import numpy
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import nn

from encoder import Encoder, base_model, quantise

TASK_PIECES, CARD_PIECES = 64, 96
NONE_AT = 0.4
"""The similarity of "no skill"."""
TEMPERATURE = 0.05
OUT = 192
TUNED_SHARE = 0.3
"""How far from the distilled to the tuned student the product's weights lie."""
STARTED = time.time()


def say(*words):
    print(f"[{time.time() - STARTED:.0f}]", *words, flush=True)


def pieces_of(tokenizer, texts, most):
    """The word pieces of texts, a row each, filled up with zeros."""
    rows = numpy.zeros((len(texts), most), numpy.int32)
    end = tokenizer.token_to_id("[SEP]")
    for start in range(0, len(texts), 50000):
        for place, encoded in enumerate(tokenizer.encode_batch(texts[start : start + 50000])):
            ids = encoded.ids if len(encoded.ids) <= most else encoded.ids[: most - 1] + [end]
            rows[start + place, : len(ids)] = ids
    return torch.tensor(rows)


def trimmed(ids):
    """Rows without the columns that only hold filling, to a multiple of eight."""
    longest = int((ids != 0).sum(1).max())
    return ids[:, : max(8, min(ids.shape[1], -(-longest // 8) * 8))]


def card_variants(text, rng):
    """A card whole, without headings, and twice with sentences and headings left out at random."""
    name, _, rest = text.partition(": ")
    description, _, headings = rest.partition(" | ")
    sentences, parts = description.split(". "), [part for part in headings.split("; ") if part]
    variants = [text, f"{name}: {description}"]
    for _ in range(2):
        kept = [part for part in sentences if rng.random() < 0.7] or [rng.choice(sentences)]
        some = [part for part in parts if rng.random() < 0.5]
        rng.shuffle(some)
        start = f"{name}: " if rng.random() < 0.7 else ""
        variants.append(start + ". ".join(kept) + (f" | {'; '.join(some)}" if some else ""))
    return variants


def varied(task, rng, others, words):
    """A line as it might also have been typed: words left out, cut, replaced, or joined to another line."""
    parts, kind = task.split(), rng.random()
    if kind < 0.25:
        parts = [part for part in parts if rng.random() > 0.15] or parts
    elif kind < 0.4 and len(parts) > 6:
        length = rng.randint(4, len(parts) - 1)
        start = rng.randrange(0, len(parts) - length + 1)
        parts = parts[start : start + length]
    elif kind < 0.7:
        parts = [rng.choice(words) if rng.random() < 0.12 else part for part in parts]
    elif kind < 0.95:
        other = rng.choice(others).split()
        parts = (parts[: rng.randint(3, max(3, len(parts)))] + rng.choice(["and", "then", ".", "also"]).split() + other)[:48]
    else:
        parts = rng.sample(parts, len(parts))
    return " ".join(parts)


class TrainingData:
    """What prepare.py made, as word pieces of one tokenizer."""

    def __init__(self, data, tokenizer, variants):
        self.skills = list(data["skills"])
        self.place = {key: number for number, key in enumerate(self.skills)}
        self.variants = 4
        self.cards = pieces_of(tokenizer, [text for row in variants for text in row], CARD_PIECES)
        counts = torch.zeros(tokenizer.get_vocab_size())
        for row in self.cards[:: self.variants]:
            counts[torch.unique(row).long()] += 1
        self.common = counts > 0.12 * len(self.skills)
        self.tasks = pieces_of(tokenizer, [row["task"] for row in data["train"]], TASK_PIECES)
        self.owned = {}
        for number, pair in enumerate(data["pairs"]):
            self.owned.setdefault(pair[1].partition(":")[0], []).append(number)
        self.owners = list(self.owned)
        self.phrases = pieces_of(tokenizer, [pair[0] for pair in data["pairs"]], 48)
        self.pair_cards = pieces_of(tokenizer, [pair[1] for pair in data["pairs"]], CARD_PIECES)
        self.sets = {name: (pieces_of(tokenizer, labelled["cards"], CARD_PIECES),
                            pieces_of(tokenizer, [row["task"] for row in labelled["tasks"]], TASK_PIECES),
                            [row["expected"] for row in labelled["tasks"]]) for name, labelled in data["sets"].items()}


    def some_pairs(self, most, rng):
        """Pairs of different skills, one each."""
        return [rng.choice(self.owned[owner]) for owner in rng.sample(self.owners, min(most, len(self.owners)))]


@torch.no_grad()
def vectors(model, ids, device, batch=2048):
    model.eval()
    order = torch.argsort((ids != 0).sum(1))
    found = None
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        made = model(trimmed(ids[rows]).to(device).long())
        if found is None:
            found = torch.empty(len(ids), made.shape[1], device=device)
        found[rows.to(device)] = made
    return found


def figures(model, data, device):
    """For each labelled set: how often the right card is nearest, and how well the nearest tells whether any fits."""
    told = {}
    for name, (cards, tasks, expected) in data.sets.items():
        near = vectors(model, tasks, device) @ vectors(model, cards, device).T
        best, place = near.max(1)
        best, place = best.cpu().numpy(), place.tolist()
        needs = numpy.array([bool(right) for right in expected])
        hits = [place[row] in right for row, right in enumerate(expected) if right]
        eight = near.topk(min(8, near.shape[1]), 1).indices.tolist()
        listed = [any(card in right for card in eight[row]) for row, right in enumerate(expected) if right]
        told[name] = {"nearest": round(float(numpy.mean(hits)), 3), "first_eight": round(float(numpy.mean(listed)), 3),
                      "tells_none": round(float((best[needs][:, None] > best[~needs][None]).mean()), 3)}
    return told


class Learner:
    """A model with its optimiser and a learning rate that rises shortly and then falls."""

    def __init__(self, model, rate, steps):
        self.model = model.train()
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimiser, rate, total_steps=steps + 2, pct_start=0.1)

    def learn(self, loss):
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.schedule.step()


def without_some(ids, share=0.12):
    """Half of the rows lose some of their pieces."""
    return packed(ids, (torch.rand(ids.shape) < share) & (ids > 103) & (torch.rand(len(ids), 1) < 0.5))


def packed(ids, lost):
    """Rows without the lost pieces; a row that would keep fewer than five stays as it is."""
    kept = (ids != 0) & ~lost
    few = kept.sum(1) < 5
    kept[few] = (ids != 0)[few]
    order = torch.argsort((~kept).to(torch.int8), dim=1, stable=True)
    return ids.gather(1, order) * kept.gather(1, order)


def without_shared(ids, cards, common, share):
    """Some rows lose most of the pieces that their card has too, so that meaning has to decide."""
    shared = (ids[:, :, None] == cards[:, None, :]).any(-1) & ~common[ids.long()]
    return packed(ids, shared & (torch.rand(ids.shape) < 0.7) & (torch.rand(len(ids), 1) < share))


def learn_pairs(model, data, device, steps, rate, rng, batch=1024):
    learner = Learner(model, rate, steps)
    for _ in range(steps):
        rows = data.some_pairs(batch, rng)
        near = model(trimmed(data.phrases[rows]).to(device).long()) @ model(trimmed(data.pair_cards[rows]).to(device).long()).T
        learner.learn(F.cross_entropy(near / TEMPERATURE, torch.arange(len(rows), device=device)))


def learn_lines(model, data, rows, negatives, device, epochs, rate, seed, beside=512, teacher=None, unshared=0.0, batch=256, hard=3):
    """On the labelled lines. `beside` pairs in each batch keep what the first stage taught and are further wrong answers;
    `teacher` holds vectors of (lines, cards) whose similarities are to be met as well; `unshared` is the share of lines that lose the words of their card."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    needing = [number for number, row in enumerate(rows) if row["right"]]
    needing_none = [number for number, row in enumerate(rows) if not row["right"]]
    steps = math.ceil(len(needing) / batch)
    learner = Learner(model, rate, epochs * steps)
    share = max(1, len(needing_none) // steps)
    loss = torch.zeros(())
    for _ in range(epochs):
        rng.shuffle(needing)
        rng.shuffle(needing_none)
        for step in range(steps):
            some, none = needing[step * batch : (step + 1) * batch], needing_none[step * share : (step + 1) * share]
            right = [rng.choice(rows[number]["right"]) for number in some]
            wrong = [key for number in some for key in rng.sample(negatives[number], min(hard, len(negatives[number])))]
            wrong += [rows[number]["wrong"][0] for number in none if rows[number]["wrong"]]
            keys = list(dict.fromkeys(right + wrong))
            column = {key: number for number, key in enumerate(keys)}
            chosen = [data.place[key] * data.variants + rng.choice((0, 0, 1, 2, 3)) for key in keys]
            asked = some + none
            typed = data.tasks[asked]
            if unshared:
                own = data.cards[[data.place[key] * data.variants for key in right]]
                typed = torch.cat([without_shared(typed[: len(some)], own, data.common, unshared), typed[len(some) :]])
            task = model(trimmed(without_some(typed)).to(device).long())
            near = task @ model(trimmed(data.cards[chosen]).to(device).long()).T
            also_right = torch.zeros(near.shape, dtype=torch.bool)
            for row, number in enumerate(some):
                for key in rows[number]["right"]:
                    if key in column and key != right[row]:
                        also_right[row, column[key]] = True
            options = (near / TEMPERATURE).masked_fill(also_right.to(device), -1e4)
            pairs = data.some_pairs(beside, rng)
            phrases = model(trimmed(data.phrases[pairs]).to(device).long())
            cards = model(trimmed(data.pair_cards[pairs]).to(device).long())
            beside_loss = F.cross_entropy(phrases @ cards.T / TEMPERATURE, torch.arange(len(pairs), device=device))
            options = torch.cat([options, task @ cards.T / TEMPERATURE, torch.full((len(near), 1), NONE_AT / TEMPERATURE, device=device)], 1)
            answers = torch.tensor([column[key] for key in right] + [options.shape[1] - 1] * len(none), device=device)
            loss = F.cross_entropy(options, answers) + 0.5 * beside_loss
            if teacher is not None:
                with torch.no_grad():
                    wanted = teacher[0][asked] @ teacher[1][chosen].T
                loss = loss + 0.5 * (F.kl_div(F.log_softmax(near / TEMPERATURE, 1), F.log_softmax(wanted / TEMPERATURE, 1), log_target=True,
                                              reduction="batchmean") + 20 * F.mse_loss(near, wanted))
            learner.learn(loss)
    model.eval()
    say("lines:", epochs, "epochs, loss", round(loss.item(), 3))


def first_negatives(rows):
    return {number: row["wrong"] for number, row in enumerate(rows)}


def hard_negatives(rows, data, tasks, cards, skip=2, most=16):
    """The cards nearest to each line that are not right, without the two nearest: those may be right and unlabelled."""
    whole = cards[torch.arange(len(data.skills), device=cards.device) * data.variants]
    nearest = (tasks @ whole.T).topk(min(most, len(data.skills)), 1).indices.tolist()
    found = {}
    for number, row in enumerate(rows):
        near = [data.skills[place] for place in nearest[number] if data.skills[place] not in row["right"]]
        found[number] = list(dict.fromkeys(row["wrong"][: row["must_differ"]] + near[skip:12] + row["wrong"][:4]))
    return found


def train_teacher(data, rows, folder, device, seed, rates, unshared, smoke):
    torch.manual_seed(seed)
    rng = random.Random(seed)
    model = base_model(folder / "base.npz").to(device)
    learn_pairs(model, data, device, 1 if smoke else 400, 1e-4, rng, 32 if smoke else 1024)
    learn_lines(model, data, rows, first_negatives(rows), device, 1 if smoke else 8, rates[0], seed, unshared=unshared)
    hard = hard_negatives(rows, data, vectors(model, data.tasks, device), vectors(model, data.cards, device))
    learn_lines(model, data, rows, hard, device, 1 if smoke else 6, rates[1], seed + 50, unshared=unshared)
    say("teacher", seed, json.dumps(figures(model, data, device)))
    return model


class TaughtTexts:
    """Texts of all kinds with the vectors that the teachers give them, and the pairs among them that belong together."""

    def __init__(self, teachers, texts, whole, device):
        joined = lambda ids: torch.cat([vectors(model, ids, device) for model in teachers], 1) / len(teachers) ** 0.5
        self.texts = joined(texts).half()
        self.cards = torch.cat([joined(whole.cards), joined(whole.pair_cards)]).half()
        self.lines = joined(whole.tasks)
        some = torch.cat([self.cards.float(), self.texts[torch.randperm(len(self.texts), device=device)[:60000]].float(), self.lines])
        _, strength, directions = torch.linalg.svd((some.T @ some).double())
        self.directions = directions[:OUT].T.float()
        say("the first", OUT, "directions hold", round((strength[:OUT].sum() / strength.sum()).item(), 3))

    def shortened(self, vectors_):
        return F.normalize(vectors_.float() @ self.directions, dim=-1)


def new_student(teacher, kept, taught, width=256, layers=(0, 1, 3, 5)):
    """Four of the teacher's layers over its word table, cut to the kept pieces and to `width` directions."""
    hidden = 384
    model = Encoder(len(kept), width, hidden, len(layers), 1536, CARD_PIECES, OUT).to(teacher.pos.device)
    with torch.no_grad():
        left, strength, right = torch.linalg.svd(teacher.tok.weight[kept].float(), full_matrices=False)
        model.tok.weight.copy_(left[:, :width] * strength[:width])
        model.up.weight.copy_(right[:width].T)
        model.pos.copy_(teacher.pos[:CARD_PIECES])
        model.ln.load_state_dict(teacher.ln.state_dict())
        for own, number in zip(model.ls, layers):
            own.load_state_dict(teacher.ls[number].state_dict())
        model.out.weight.copy_(taught.directions[:hidden].T)
    return model


def distil(model, taught, small, texts, belongs, lines, device, steps, rate=6e-4):
    """Towards the teachers: their vectors, and their similarities of texts to cards and to each other.

    `belongs` is (text, card) for texts that have a card of their own."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    ids = texts.to(device)
    cards = torch.cat([small.cards, small.pair_cards]).to(device)
    belongs = torch.tensor(belongs, device=device)
    length = (ids != 0).sum(1)
    short, long = torch.nonzero(length <= 24).squeeze(1), torch.nonzero(length > 24).squeeze(1)
    short_lines = torch.tensor(lines, device=device)
    short_lines = short_lines[length[short_lines] <= 24]
    pick = lambda among, count: among[torch.randint(len(among), (count,), device=device)]
    own_cards = torch.arange(len(small.cards), device=device)
    model.train()
    began = time.time()
    for step in range(steps):
        done = step / steps
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, done / 0.04 + 0.01) * (0.5 * (1 + math.cos(math.pi * done)) + 0.01)
        together = pick(belongs, 512)
        chosen = torch.cat([together[:256, 1], pick(own_cards, 128)])
        brief = torch.cat([pick(short, 512), pick(short_lines, 512)])
        wide = torch.cat([together[:, 0], pick(long, 320)])
        made = torch.cat([model(ids[brief][:, :24].long()), model(ids[wide].long())])
        made_cards = model(cards[chosen].long())
        asked = torch.cat([brief, wide])
        aim = torch.cat([taught.shortened(taught.texts[asked]), taught.shortened(taught.cards[chosen])])
        apart = 1 - (torch.cat([made, made_cards]) * aim).sum(1).mean()
        wanted, near = taught.texts[asked].float() @ taught.cards[chosen].float().T, made @ made_cards.T
        unlike = F.kl_div(F.log_softmax(near / TEMPERATURE, 1), F.log_softmax(wanted / TEMPERATURE, 1), log_target=True, reduction="batchmean")
        some = torch.randperm(len(asked), device=device)[:768]
        among = taught.texts[asked[some]].float()
        square = F.mse_loss(near, wanted) + F.mse_loss(made[some] @ made[some].T, among @ among.T)
        loss = apart + 0.5 * unlike + 10 * square
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 1000 == 999:
            say("distilled", step + 1, f"apart {apart.item():.4f} unlike {unlike.item():.4f} square {square.item():.5f}", f"{(step + 1) / (time.time() - began):.0f} steps/s")
    model.eval()


def between(distilled, tuned):
    """The weights of two students, mixed and rounded again."""
    mixed = {"cfg": distilled["cfg"]}
    whole = lambda stored, name: stored[name].astype(numpy.float32) * (stored[name + "@s"][:, None] if name + "@s" in stored else 1)
    for name in distilled:
        if name == "cfg" or name.endswith("@s"):
            continue
        value = (1 - TUNED_SHARE) * whole(distilled, name) + TUNED_SHARE * whole(tuned, name)
        if name + "@s" in distilled:
            scale = numpy.abs(value).max(1, keepdims=True) / 127
            mixed[name], mixed[name + "@s"] = numpy.round(value / scale).astype(numpy.int8), scale[:, 0].astype(numpy.float32)
        else:
            mixed[name] = value
    return mixed


def distillation_texts(data, rng):
    """Every text to learn from, which of them are lines, and which belong to which card (numbered as TaughtTexts does)."""
    words = sorted({word for row in data["train"] for word in row["task"].split() if word.isalpha()})
    tasks = [row["task"] for row in data["train"]]
    texts, belongs = [], []
    for number, pair in enumerate(data["pairs"]):
        belongs.append((len(texts), len(data["skills"]) * 4 + number))
        texts.append(pair[0])
    place = {key: number for number, key in enumerate(data["skills"])}
    first = len(texts)
    for row in data["train"]:
        for key in row["right"]:
            belongs.append((len(texts), place[key] * 4))
        texts.append(row["task"])
        texts.extend(varied(row["task"], rng, tasks, words) for _ in range(12))
    lines = list(range(first, len(texts)))
    texts.extend(data["sentences"])
    return texts, lines, belongs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--smoke", action="store_true", help="a few steps of everything, on the processor")
    parser.add_argument("--steps", type=int, default=9000, help="steps of the distillation")
    given = parser.parse_args()
    device = "cpu" if given.smoke else "cuda"
    torch.backends.cuda.matmul.allow_tf32 = True
    with gzip.open(given.data / "train.json.gz", "rt") as file:
        data = json.load(file)
    if given.smoke:
        keys = set(list(data["skills"])[:80])
        data["skills"] = {key: text for key, text in data["skills"].items() if key in keys}
        data["train"] = [{**row, "right": row["right"], "wrong": [key for key in row["wrong"] if key in keys]} for row in data["train"] if set(row["right"]) <= keys][:150]
        data["train"] = [row for row in data["train"] if row["wrong"]]
        data["pairs"], data["sentences"] = data["pairs"][:300], data["sentences"][:300]
        data["sets"] = {"own dev": data["sets"]["own dev"]}
    rng = random.Random(5)
    variants = [card_variants(text, rng) for text in data["skills"].values()]
    base = Tokenizer.from_file(str(given.data / "tokenizer-base.json"))
    small_tokenizer = Tokenizer.from_file(str(given.data / "tokenizer.json"))
    whole = TrainingData(data, base, variants)
    say(len(data["train"]), "lines,", len(data["skills"]), "skills")
    rows = data["train"]
    teachers = [train_teacher(whole, rows, given.data, device, seed, rates, unshared, given.smoke)
                for seed, rates, unshared in ((17, (8e-5, 4e-5), 0.0), (31, (1e-4, 5e-5), 0.25))]
    texts, lines, belongs = distillation_texts(data, rng)
    taught = TaughtTexts(teachers, pieces_of(base, texts, TASK_PIECES), whole, device)
    small = TrainingData(data, small_tokenizer, variants)
    kept = torch.tensor(numpy.load(given.data / "kept.npy").astype(numpy.int64), device=device)
    model = new_student(teachers[0], kept, taught)
    say("student", model.config, f"{sum(value.numel() for value in model.parameters()) / 1e6:.2f} M parameters")
    torch.manual_seed(7)
    distil(model, taught, small, pieces_of(small_tokenizer, texts, TASK_PIECES), belongs, lines, device, 2 if given.smoke else given.steps)
    told = {"distilled": figures(model, small, device)}
    say("distilled", json.dumps(told["distilled"]))
    given.out.mkdir(parents=True, exist_ok=True)
    distilled = quantise(copy.deepcopy(model))
    hard = hard_negatives(rows, whole, taught.lines, taught.cards[: len(whole.cards)].float())
    learn_lines(model, small, rows, hard, device, 1 if given.smoke else 8, 2e-4, 7, 384, (taught.lines, taught.cards[: len(whole.cards)].float()))
    tuned = quantise(model)
    told["tuned"] = figures(model, small, device)
    say("tuned, as int8", json.dumps(told["tuned"]))
    numpy.savez_compressed(given.out / "encoder.npz", **between(distilled, tuned))
    (given.out / "figures.json").write_text(json.dumps({**told, "config": model.config, "lines": len(rows), "steps": given.steps}, indent=1))
    say("encoder.npz", round(os.path.getsize(given.out / "encoder.npz") / 1e6, 2), "MB")


if __name__ == "__main__":
    main()
