#!/usr/bin/env python3
"""Write the encoder's weights file from a trained model, and the texts that the program's encoder is tested with.

  python3 model/export.py WEIGHTS.npz TOKENIZER.json            writes crates/encoder/data/encoder.bin
  python3 model/export.py WEIGHTS.npz TOKENIZER.json --goldens  writes crates/encoder/tests/it/goldens.json as well

WEIGHTS.npz     int8 matrices with one float per row (`NAME` and `NAME@s`), float vectors, and `cfg`, a JSON text.
TOKENIZER.json  word pieces and their numbers, at `model.vocab`.
The form of the file is documented at `TextEncoder::parse` in crates/encoder/src/encoder.rs. Needs numpy only.
After new weights: run with --goldens, then `UPDATE_VECTORS=1 cargo nextest run -p maestro-skills builtin_vectors`.
"""

import argparse
import hashlib
import json
import math
import struct
import unicodedata
from pathlib import Path

import numpy as np

REPO = Path(__file__).resolve().parent.parent
WEIGHTS = REPO / "crates/encoder/data/encoder.bin"
GOLDENS = REPO / "crates/encoder/tests/it/goldens.json"
MOST_BYTES = 12_000_000
TASK_TOKENS, CARD_TOKENS = 64, 96

# The model reads mostly English; the other languages and the hostile texts must be encoded alike all the same.
TEXTS = [
    ("task", "Merge the signed PDF forms into one file"),
    ("task", "Write the Kubernetes manifests for the payment service, with probes and limits"),
    ("task", "Why does the login page take nine seconds on Mondays?"),
    ("task", "Bump the version to 0.4.2"),
    ("task", "Could a blind guest finish a booking on the new form, without a mouse?"),
    ("task", "cargo-fuzz the header parser until it is quiet for an hour"),
    ("task", "parseHeader() returns null for an empty frontmatter; xUnit shows it"),
    ("task", "Migrate the orders table without stopping the service"),
    ("task", "Translate the settings page into German and Japanese"),
    ("task", "rotate the API keys (all of them!) & tell ops@example.org"),
    ("task", "Fasse die drei Berichte zusammen und schreibe eine Übersicht für die Geschäftsführung"),
    ("task", "Écris des tests de bout en bout pour le formulaire de réservation, déjà validé à Genève"),
    ("task", "Escribe una migración que añada la columna «año» sin detener el servicio"),
    ("task", "Напиши тесты для модуля оплаты и исправь ошибку"),
    ("task", "为支付模块编写测试并修复错误"),
    ("task", "支払いモジュールのテストを書いてください"),
    ("task", "결제 모듈에 대한 테스트를 작성하세요"),
    ("task", "اكتب اختبارات لوحدة الدفع"),
    ("task", "כתוב בדיקות למודול התשלומים"),
    ("task", "भुगतान मॉड्यूल के लिए परीक्षण लिखें"),
    ("task", "Γράψε δοκιμές για τη μονάδα πληρωμών, ΟΔΟΣ ΤΕΛΟΣ"),
    ("task", "İstanbul ofisi için TIRNAK testi yaz"),
    ("task", ""),
    ("task", "   \t\n  "),
    ("task", "?"),
    ("task", "\u0000\u0001\u0002 control\u0007 characters \u001b[31mred\u001b[0m \u001c file \u001f unit \u0085 next"),
    ("task", "🚀 ship it 👩\u200d💻🏳️\u200d🌈 now 🎉🎉"),
    ("task", "zero\u200bwidth soft\u00adhyphen \ufeff bom \u202e override"),
    ("task", "a" * 101 + " " + "b" * 100 + " antidisestablishmentarianism"),
    ("task", "x" * 5000),
    ("task", "e\u0301\u0302\u0303\u0304 " * 40),
    ("task", "!?.,;:()[]{}<>\"'`~@#$%^&*-_=+|\\/" * 4),
    ("task", "ﬁne ligature, Ⅷ roman, ½ half, № 5, x² ± 1, naïve café"),
    ("task", "1234567890 3.14159 0x7fffffff 2024-05-02T08:11:43.120Z 10.0.4.9:7001"),
    ("task", "the quick brown fox jumps over the lazy dog " * 30),
    ("task", "MEGABYTE"),
    ("card", "pdf forms: Fill in and flatten PDF forms, and merge PDF files into one. | Merge; Fill; Flatten; Limits"),
    ("card", "a11y audit: Check that pages can be used with a keyboard and a screen reader, and that contrast suffices."),
    ("card", "release notes: " + "Turn a history into notes for the people who use the program. " * 12),
    ("card", ": "),
]


def read_model(path):
    """Every tensor as it is stored, and the configuration."""
    archive = np.load(path)
    tensors = {name: archive[name] for name in archive.files if name != "cfg"}
    return tensors, json.loads(str(archive["cfg"]))


def sorted_pieces(path):
    """The pieces sorted by their bytes, and for each the number it had."""
    vocabulary = json.loads(Path(path).read_text(encoding="utf-8"))["model"]["vocab"]
    pieces = sorted(vocabulary.items(), key=lambda item: item[0].encode())
    return [piece.encode() for piece, _ in pieces], [number for _, number in pieces]


def weights_file(tensors, config, pieces, order):
    def matrix(name, rows=None):
        values, scales = tensors[name], tensors[name + "@s"]
        assert values.dtype == np.int8, name
        if rows is not None:
            values, scales = values[rows], scales[rows]
        return values.tobytes() + floats(scales)

    def floats(values):
        return np.ascontiguousarray(values, dtype="<f4").tobytes()

    def linear(name):
        return matrix(name + ".weight") + floats(tensors[name + ".bias"])

    def norm(name):
        return floats(tensors[name + ".weight"]) + floats(tensors[name + ".bias"])

    sizes = [config[key] for key in ("V", "e", "h", "L", "ff", "maxpos", "out", "heads")]
    assert len(pieces) == config["V"] == len(order)
    body = struct.pack("<10I", *sizes, min(TASK_TOKENS, config["maxpos"]), min(CARD_TOKENS, config["maxpos"]))
    body += struct.pack("<3I", *(pieces.index(piece) for piece in (b"[CLS]", b"[SEP]", b"[UNK]")))
    body += bytes(len(piece) for piece in pieces) + b"".join(pieces)
    body += matrix("tok.weight", np.array(order))
    if config["e"] != config["h"]:
        body += matrix("up.weight")
    body += floats(tensors["pos"]) + norm("ln")
    for layer in range(config["L"]):
        name = f"ls.{layer}."
        body += linear(name + "qkv") + linear(name + "o") + norm(name + "l1")
        body += linear(name + "f1") + linear(name + "f2") + norm(name + "l2")
    body += matrix("out.weight")
    return b"maestenc" + struct.pack("<I", 1) + hashlib.sha256(body).digest()[:16] + body


def words(text):
    """The words of a text as the tokenizer splits them."""
    found, word = [], ""
    for char in unicodedata.normalize("NFD", text.lower()):
        category, code = unicodedata.category(char), ord(char)
        if category == "Mn":
            continue
        is_sign = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
        if char.isspace() or category[0] == "Z":
            found, word = found + [word], ""
        elif category[0] == "C":
            continue
        elif category[0] == "P" or is_sign or 0x4E00 <= code <= 0x9FFF:
            found, word = found + [word, char], ""
        else:
            word += char
    return [word for word in found + [word] if word]


def tokens(text, numbers, most):
    ids = [numbers["[CLS]"]]
    for word in words(text[: 40 * most * 100]):
        if len(ids) >= most:
            break
        start, pieces = 0, []
        while start < len(word) <= 100:
            end = len(word)
            prefix = "##" if start else ""
            while end > start and prefix + word[start:end] not in numbers:
                end -= 1
            if end == start:
                pieces = []
                break
            pieces.append(numbers[prefix + word[start:end]])
            start = end
        ids += pieces or [numbers["[UNK]"]]
    return ids[: most - 1] + [numbers["[SEP]"]]


class Reference:
    """The model in floats, as training evaluates it."""

    def __init__(self, tensors, config):
        self.config = config
        self.weights = {}
        for name, values in tensors.items():
            if not name.endswith("@s"):
                scales = tensors.get(name + "@s")
                values = values.astype(np.float32)
                self.weights[name] = values if scales is None else values * scales[:, None]

    def linear(self, rows, name):
        return rows @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, rows, name):
        mean, variance = rows.mean(-1, keepdims=True), rows.var(-1, keepdims=True)
        scaled = (rows - mean) / np.sqrt(variance + 1e-12)
        return scaled * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def encode(self, ids):
        hidden, heads, count = self.config["h"], self.config["heads"], len(ids)
        size = hidden // heads
        erf = np.vectorize(math.erf)
        rows = self.weights["tok.weight"][ids]
        if "up.weight" in self.weights:
            rows = rows @ self.weights["up.weight"].T
        rows = self.norm(rows + self.weights["pos"][:count], "ln")
        for layer in range(self.config["L"]):
            name = f"ls.{layer}."
            projected = self.linear(rows, name + "qkv")
            query, key, value = (
                projected[:, part * hidden : (part + 1) * hidden].reshape(count, heads, size).transpose(1, 0, 2)
                for part in range(3)
            )
            scores = query @ key.transpose(0, 2, 1) / math.sqrt(size)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            gathered = (shares @ value).transpose(1, 0, 2).reshape(count, hidden)
            rows = self.norm(rows + self.linear(gathered, name + "o"), name + "l1")
            inner = self.linear(rows, name + "f1")
            inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
            rows = self.norm(rows + self.linear(inner, name + "f2"), name + "l2")
        vector = rows.mean(0) @ self.weights["out.weight"].T
        return vector / np.linalg.norm(vector)


def goldens(tensors, config, pieces, order):
    """For each text its tokens, by their place among the sorted pieces, and its vector."""
    reference, numbers = Reference(tensors, config), {}
    for piece, number in zip(pieces, order):
        numbers[piece.decode()] = number
    place = {number: at for at, number in enumerate(order)}
    lines = []
    for kind, text in TEXTS:
        whole = "merge the invoices and check every page; " * 26_000 if text == "MEGABYTE" else text
        most = min(TASK_TOKENS if kind == "task" else CARD_TOKENS, config["maxpos"])
        ids = tokens(whole, numbers, most)
        vector = [round(float(value), 5) for value in reference.encode(ids)]
        line = {"kind": kind, "text": text, "tokens": [place[number] for number in ids], "vector": vector}
        lines.append(json.dumps(line, ensure_ascii=True))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", metavar="WEIGHTS.npz")
    parser.add_argument("tokenizer", metavar="TOKENIZER.json")
    parser.add_argument("--goldens", action="store_true", help="write the texts for the encoder's test as well")
    options = parser.parse_args()
    tensors, config = read_model(options.weights)
    pieces, order = sorted_pieces(options.tokenizer)
    data = weights_file(tensors, config, pieces, order)
    if len(data) > MOST_BYTES:
        raise SystemExit(f"{len(data)} bytes are more than {MOST_BYTES}")
    WEIGHTS.parent.mkdir(parents=True, exist_ok=True)
    WEIGHTS.write_bytes(data)
    print(f"{WEIGHTS.relative_to(REPO)}: {len(data)} bytes, model {data[12:28].hex()}")
    if options.goldens:
        GOLDENS.write_text(goldens(tensors, config, pieces, order), encoding="ascii")
        print(f"{GOLDENS.relative_to(REPO)}: {len(TEXTS)} texts")


if __name__ == "__main__":
    main()
