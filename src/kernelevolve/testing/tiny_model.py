"""A language model small enough to be trained within a test: a byte-level transformer that knows one answer by heart.

Nothing about it is scripted: it is trained by gradient descent, it samples byte by byte, it ends where it predicts the
end, and at a high temperature it makes mistakes. Served by `OpenAIServer(tiny.turn)` it is an open-weights model behind
an OpenAI-compatible endpoint.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kernelevolve.testing.model_servers import Received, Turn

WINDOW = 32
"""Bytes of the prompt that it sees: the last ones."""
END = 0
"""The byte that ends an answer."""


@contextmanager
def _one_thread() -> Iterator[None]:
    """So little work is slowed down by threads that wait for each other, fifty-fold on a busy machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class TinyModel:
    """Some 80 000 weights for an answer of 230 bytes. `train` raises RuntimeError when it does not learn in time."""

    def __init__(self, answer: str, *, width: int = 64, n_layers: int = 1, seed: int = 0) -> None:
        import torch

        self._answer = answer.encode() + bytes([END])
        self._longest = WINDOW + len(self._answer) + 16
        self._seed = seed
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layer = torch.nn.TransformerEncoderLayer(
                width, nhead=4, dim_feedforward=2 * width, dropout=0.0, batch_first=True, norm_first=True
            )
            self._parts: Any = torch.nn.ModuleDict(
                {
                    "bytes": torch.nn.Embedding(256, width),
                    "places": torch.nn.Embedding(self._longest, width),
                    "body": torch.nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False),
                    "out": torch.nn.Linear(width, 256),
                }
            )

    @property
    def n_weights(self) -> int:
        return sum(weight.numel() for weight in self._parts.parameters())

    def train(self, *, n_steps: int = 600) -> int:
        """Until it says the answer after prompts it has not seen; returns the steps that took."""
        with _one_thread():
            return self._train(n_steps)

    def _train(self, n_steps: int) -> int:
        import torch

        rng = random.Random(self._seed)
        optimiser = torch.optim.AdamW(self._parts.parameters(), lr=5e-3)
        wanted = torch.tensor(list(self._answer))
        self._parts.train()
        for step in range(1, n_steps + 1):
            given = torch.tensor([[*rng.randbytes(WINDOW), *self._answer] for _ in range(4)])
            scores = self._scores(given[:, :-1])[:, WINDOW - 1 :]
            target = wanted.expand(4, -1)
            loss = torch.nn.functional.cross_entropy(scores.reshape(-1, 256), target.reshape(-1))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if float(loss.detach()) < 0.01 and bool((scores.argmax(-1) == target).all()):
                self._parts.eval()
                return step
        raise RuntimeError(f"the tiny model did not learn its answer in {n_steps} steps")

    def generate(self, prompt: str, *, max_tokens: int, temperature: float) -> tuple[bytes, bool]:
        """(what it says, whether it came to its end). A temperature of 0 takes the likeliest byte."""
        import torch

        generator = torch.Generator().manual_seed(self._seed)
        window = prompt.encode()[-WINDOW:].rjust(WINDOW)
        said = bytearray()
        with _one_thread(), torch.no_grad():
            while len(said) < max_tokens:
                scores = self._scores(torch.tensor([[*window, *said]]))[0, -1]
                if temperature > 0:
                    chances = torch.softmax(scores / temperature, dim=-1)
                    byte = int(torch.multinomial(chances, 1, generator=generator))
                else:
                    byte = int(scores.argmax())
                if byte == END:
                    return bytes(said), True
                said.append(byte)
                if WINDOW + len(said) >= self._longest:
                    break
        return bytes(said), False

    def turn(self, request: Received) -> Turn:
        """A script for a server: one token is one byte."""
        said, ended = self.generate(
            str(request.body["messages"][-1]["content"]),
            max_tokens=int(request.body.get("max_tokens") or request.body.get("max_completion_tokens") or 1000),
            temperature=float(request.body.get("temperature") or 0.0),
        )
        return Turn(
            text=said.decode(errors="replace"),
            tokens_in=len(request.prompt.encode()),
            tokens_out=len(said) + int(ended),
            stop="end" if ended else "length",
        )

    def _scores(self, given: Any) -> Any:
        import torch

        length = given.shape[1]
        seen = self._parts["bytes"](given) + self._parts["places"](torch.arange(length))
        mask = torch.nn.Transformer.generate_square_subsequent_mask(length)
        return self._parts["out"](self._parts["body"](seen, mask=mask, is_causal=True))
