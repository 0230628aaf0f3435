"""The encoder as PyTorch trains it: a BERT with post-layer norm, mean pooling and a normalised output.

The program's own forward pass (crates/encoder) must give the same vectors; `export.py --goldens` writes what it is held against.
"""
import json

import numpy
import torch
import torch.nn.functional as F
from torch import nn

HEAD = 32


class Layer(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.heads = hidden // HEAD
        self.qkv, self.o = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.f1, self.f2 = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.l1, self.l2 = nn.LayerNorm(hidden, eps=1e-12), nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x, mask, dropout):
        batch, length, hidden = x.shape
        query, key, value = self.qkv(x).view(batch, length, 3, self.heads, HEAD).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout if self.training else 0.0)
        x = self.l1(x + F.dropout(self.o(seen.transpose(1, 2).reshape(batch, length, hidden)), dropout, self.training))
        return self.l2(x + F.dropout(self.f2(F.gelu(self.f1(x))), dropout, self.training))


class Encoder(nn.Module):
    """`width` numbers a word piece, brought to `hidden` where that is more; `out` numbers a text."""

    def __init__(self, pieces, width, hidden, layers, inner, longest, out=None, dropout=0.0):
        super().__init__()
        self.config = {"V": pieces, "e": width, "h": hidden, "L": layers, "ff": inner, "maxpos": longest, "out": out, "heads": hidden // HEAD}
        self.dropout = dropout
        self.tok = nn.Embedding(pieces, width)
        self.up = nn.Linear(width, hidden, bias=False) if width != hidden else None
        self.pos = nn.Parameter(torch.randn(longest, hidden) * 0.01)
        self.ln = nn.LayerNorm(hidden, eps=1e-12)
        self.ls = nn.ModuleList([Layer(hidden, inner) for _ in range(layers)])
        self.out = nn.Linear(hidden, out, bias=False) if out else None

    def forward(self, ids):
        device = ids.device.type
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            there = ids != 0
            x = self.tok(ids)
            if self.up is not None:
                x = self.up(x)
            x = F.dropout(self.ln(x + self.pos[: ids.shape[1]]), self.dropout, self.training)
            mask = there[:, None, None, :].expand(-1, 1, ids.shape[1], -1)
            for layer in self.ls:
                x = layer(x, mask, self.dropout)
        weight = there.unsqueeze(-1).float()
        x = (x.float() * weight).sum(1) / weight.sum(1).clamp(min=1)
        if self.out is not None:
            x = F.linear(x, self.out.weight)
        return F.normalize(x, dim=-1)


def base_model(path, longest=160, dropout=0.1):
    """all-MiniLM-L6-v2, from what prepare.py stored."""
    stored = numpy.load(path)
    whole = lambda name: torch.tensor(stored[name].astype(numpy.float32) * (stored[name + "@s"][:, None] if name + "@s" in stored else 1))
    model = Encoder(30522, 384, 384, 6, 1536, longest, None, dropout)
    with torch.no_grad():
        model.tok.weight.copy_(whole("embeddings.word_embeddings.weight"))
        model.pos.copy_(whole("embeddings.position_embeddings.weight")[:longest] + whole("embeddings.token_type_embeddings.weight")[0])
        model.ln.weight.copy_(whole("embeddings.LayerNorm.weight"))
        model.ln.bias.copy_(whole("embeddings.LayerNorm.bias"))
        for number, layer in enumerate(model.ls):
            part = lambda name: whole(f"encoder.layer.{number}.{name}")
            for kind in ("weight", "bias"):
                getattr(layer.qkv, kind).copy_(torch.cat([part(f"attention.self.{name}.{kind}") for name in ("query", "key", "value")]))
                for own, name in ((layer.o, "attention.output.dense"), (layer.l1, "attention.output.LayerNorm"), (layer.f1, "intermediate.dense"),
                                  (layer.f2, "output.dense"), (layer.l2, "output.LayerNorm")):
                    getattr(own, kind).copy_(part(f"{name}.{kind}"))
    return model


def quantise(model):
    """Every matrix as int8 with a scale for each row, in place; returns what export.py reads."""
    stored = {"cfg": numpy.array(json.dumps(model.config))}
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() == 2 and name != "pos":
                scale = value.abs().amax(1, keepdim=True).clamp(min=1e-8) / 127
                whole = (value / scale).round().clamp(-127, 127)
                value.copy_(whole * scale)
                stored[name] = whole.to(torch.int8).cpu().numpy()
                stored[name + "@s"] = scale[:, 0].float().cpu().numpy()
            else:
                stored[name] = value.float().cpu().numpy()
    return stored
