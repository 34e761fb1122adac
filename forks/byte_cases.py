"""Draw models, workers and memory that a release can be asked about; every case is legal by construction.

Case `number` of a seed depends on nothing else, so that a difference is replayed by its two numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..spec.attention import (
    Attention,
    ChunkedLocal,
    FullAttention,
    HiddenState,
    MLAAttention,
    RequestWindow,
    SinkAttention,
    SlidingWindow,
    SlidingWindowMLA,
)
from ..spec.deployment import Deployment
from ..spec.design import Design
from ..spec.errors import RefusedError
from ..spec.fitting import Start, Worker
from ..spec.grouping import Model, grouped
from ..spec.layers import Layer, StateStorage, Storage, known_page, settled, unpadded_bytes
from ..spec.layouts import Layout
from ..spec.memory import block_bytes, bytes_required
from ..spec.planning import Planning
from ..spec.shared import projected
from ..spec.states import CircularBuffer, CrossAttention, MambaAlign, MambaAll, MambaNone

_LATENT = ("mla", "sliding_window_mla", "hidden")
_PACKED = {"mla": (656, 584), "sliding_window_mla": (584,)}
_WEIGHTS = {"full": 6, "sliding_window": 5, "mla": 3, "chunked_local": 2, "sliding_window_mla": 2}


def drawn(design: Design, seed: int, number: int) -> Start:
    """Draw one case for a design's release."""
    return _Draw(random.Random(f"{seed}:{number}"), design).start()  # noqa: S311 - nothing secret is drawn


class _Draw:
    """Draw the parts of one case; sizes that several layers share are drawn once."""

    def __init__(self, rng: random.Random, design: Design) -> None:
        self.rng = rng
        self.design = design
        self.planning: Planning = design.planning
        self.steadiness = rng.choice((1.0, 1.0, 0.95, 0.7))
        self.block = rng.choice((1, 8, 16, 16, 16, 32, 48, 64, 128))
        self.heads = rng.choice((1, 2, 4, 8))
        self.head_size = rng.choice((16, 64, 80, 128, 192, 256))
        self.latent_size = rng.choice((64, 512, 576))
        self.alignment = rng.choice((None, None, 64, 576, 1024)) if self.planning.compressed else None
        self.packed = self.planning.compressed and rng.random() < 0.4
        self.compressed = self.planning.compressed and not self.planning.packs_by_name and rng.random() < 0.5
        self.dtype = rng.choice(("bfloat16", "float16", "float32", "float8_e4m3fn"))
        self.window = rng.choice((1, 16, 100, 128, 512, 1024))
        self.chunk = rng.choice((1, 32, 100, 512))
        self.encoder = rng.choice((1, 100, 1500))
        self.speculative = rng.choice((0, 0, 0, 1, 3))
        self.extra = rng.choice((0, 0, 0, 2)) if design.in_flight_budget else 0

    def start(self) -> Start:
        """Draw a model, its lengths, its workers, and memory near what they need."""
        model = self.model()
        deployment = self.deployment()
        shares = self.shares(list(model.layers))
        override = self.rng.choice((*[None] * 14, 1, *(self.rng.randint(1, 400) for _ in range(3))))
        fit = self.planning.auto_fits and self.rng.random() < 0.35
        workers = tuple(Worker(share, self.memory(model, share, deployment)) for share in shares)
        return Start(model, workers, deployment, override, fit)

    def deployment(self) -> Deployment:
        """Draw lengths and budgets."""
        rng = self.rng
        return Deployment(
            groups=(),
            max_model_len=rng.choice((1, rng.randint(1, 64), rng.randint(1, 1024), rng.randint(1, 20_000))),
            max_num_batched_tokens=rng.choice((1, rng.randint(1, 64), rng.randint(1, 2048), 8192)),
            max_concurrent_batches=rng.choice((1, 1, 2)),
            context_parallel=rng.choices((1, 2, 4), (18, 1, 1))[0],
            lookahead=self.extra + 1 if self.extra else 0,
        )

    def model(self) -> Model:
        """Draw one to four sorts of layers, in a repeated or a random pattern."""
        sorts = [self.layer(kind) for kind in self.kinds()]
        if self.rng.random() < 0.3:
            sorts.append(self.variant(self.rng.choice(sorts)))
        count = self.rng.choice((1, 2, 3, 6, 8, 12, 17, 24))
        pattern = [self.rng.randrange(len(sorts)) for _ in range(self.rng.randint(1, 7))]
        chosen = [sorts[pattern[i % len(pattern)]] for i in range(count)]
        if self.rng.random() < 0.5:
            chosen = [*sorts, *chosen]
        if self.rng.random() < 0.02:
            chosen = []
        layers = {f"layers.{i}.attn": layer for i, layer in enumerate(chosen)}
        layout = self.rng.choice(list(Layout)) if self.planning.layouts and self.rng.random() < 0.6 else Layout.LBHNC
        return Model(layers, hybrid=self.rng.random() < 0.75, layout=layout)

    def kinds(self) -> list[str]:
        """Draw the kinds of the sorts: recurrent layers of a model share their mode."""
        states = [kind for kind in self.planning.kinds if kind.startswith("mamba_")]
        mode = self.rng.choice(states)
        allowed = [kind for kind in self.planning.kinds if kind not in states] + [mode, mode]
        if self.rng.random() < 0.6:
            latent = self.rng.random() < 0.35
            allowed = [kind for kind in allowed if (kind in _LATENT) is latent]
        first = self.rng.choices(allowed, [_WEIGHTS.get(kind, 1) for kind in allowed])[0]
        more = self.rng.choice((0, 1, 1, 2, 2, 3))
        kinds = [first] + [self.rng.choice([first, *allowed, *allowed]) for _ in range(more)]
        if self.rng.random() < 0.3 and "sliding_window_mla" in allowed and "mla" in allowed:
            kinds = ["mla", *self.rng.choices(("mla", "sliding_window_mla"), k=3)]
        return kinds

    def layer(self, kind: str) -> Layer:
        """Draw one sort of layers, most sizes being the model's own."""
        if kind.startswith("mamba_"):
            return self.recurrent(kind)
        block = self.near(self.block, (1, 2, 4))
        layer = Layer(self.cache(kind, block), self.storage(kind))
        if kind in ("full", "sink") and self.rng.random() < 0.1:
            layer = replace(layer, computed_window=self.near(self.window, (2, 3)))
        return self.padded(settled(layer))

    def variant(self, layer: Layer) -> Layer:
        """Change one size of a sort, so that what tells two sorts apart is drawn on purpose."""
        kind, storage, options = layer.cache.kind, layer.storage, []
        if kind != "hidden":
            options.append(replace(layer, cache=replace(layer.cache, block_size=layer.cache.block_size * 2)))
        if isinstance(layer.cache, SlidingWindow):
            options.append(replace(layer, cache=replace(layer.cache, window=layer.cache.window * 2)))
        if isinstance(storage, Storage):
            options.append(replace(layer, storage=replace(storage, **self.change(kind, storage))))
        return settled(self.rng.choice(options or [layer]))

    def change(self, kind: str, storage: Storage) -> dict[str, Any]:
        """Choose what to change of a storage, among what the release can describe."""
        sizes = {"head_size": storage.head_size * 2}
        if kind not in _LATENT and kind not in self.planning.value_sizes:
            sizes["value_size"] = sizes["head_size"]
        options: list[dict[str, Any]] = [sizes, {"heads": storage.heads * 3}]
        if kind in self.planning.value_sizes:
            options += [{"value_size": storage.value_size * 2}] * 2
        if kind not in _LATENT and self.planning.scales:
            options.append({"scale_bytes": 8 - storage.scale_bytes})
        if self.planning.strided:
            options.append({"strided": not storage.strided})
        return self.rng.choice(options) if storage.padded is None and storage.token_bytes is None else {}

    def cache(self, kind: str, block: int) -> Attention:
        """Draw the sizes of a cache in tokens."""
        makers: dict[str, Callable[[], Attention]] = {
            "full": lambda: FullAttention(block),
            "mla": lambda: MLAAttention(block),
            "hidden": lambda: HiddenState(block),
            "sink": lambda: SinkAttention(block, self.rng.choice((16, 32))),
            "request_window": lambda: RequestWindow(block, self.near(self.window, (2,))),
            "sliding_window": lambda: SlidingWindow(block, self.near(self.window, (2, 3)), self.extra),
            "sliding_window_mla": lambda: SlidingWindowMLA(block, self.near(self.window, (2, 3)), self.extra),
            "chunked_local": lambda: ChunkedLocal(block, self.near(self.chunk, (2,))),
            "cross": lambda: CrossAttention(block, self.encoder),
            "circular": lambda: CircularBuffer(block),
        }
        return makers[kind]()

    def storage(self, kind: str) -> Storage:
        """Draw what an attention layer stores for each token."""
        if kind in _LATENT:
            return self.latent(kind)
        size = self.near(self.head_size, (2, 3))
        other = self.near(size, (2,)) if kind in self.planning.value_sizes else size
        dtype = (
            self.dtype
            if self.rng.random() < (1 + self.steadiness) / 2
            else self.rng.choice(("bfloat16", "uint8", "float32"))
        )
        scales = 8 if self.planning.scales and self.rng.random() < 0.08 else 0
        strided = self.planning.strided and self.rng.random() < 0.3
        return Storage(self.near(self.heads, (2, 4)), size, other, dtype, scale_bytes=scales, strided=strided)

    def latent(self, kind: str) -> Storage:
        """Draw what a latent layer stores: one vector per token, or per several where the release compresses."""
        if kind == "hidden":
            return Storage(1, self.rng.choice((64, 512, 4096)), 0, self.dtype)
        size = self.latent_size if self.steady() else self.rng.choice((64, 128, 576))
        storage = Storage(1, size, 0, self.dtype, alignment=self.alignment if self.steady() else None)
        if self.packed and self.steady():
            storage = replace(storage, token_bytes=self.rng.choice(_PACKED[kind]))
        if self.compressed and storage.token_bytes != 656:
            ratios = [n for n in (1, 2, 4) if self.block % n == 0]
            storage = replace(storage, tokens_per_state=self.rng.choice(ratios))
        return storage

    def recurrent(self, kind: str) -> Layer:
        """Draw a recurrent layer, often with a page that is padded to an attention layer's."""
        classes: dict[str, type[MambaNone]] = {
            "mamba_none": MambaNone,
            "mamba_align": MambaAlign,
            "mamba_all": MambaAll,
        }
        cache = classes[kind](self.near(self.block, (2, 4)), self.speculative)
        if isinstance(cache, MambaAlign) and "circular" in self.planning.kinds:
            cache = replace(cache, checkpoint=self.rng.choice((0, 0, 1)))
        attention = 2 * self.block * self.heads * self.head_size
        states = (
            (self.rng.choice((attention, attention // 2, 4096, 1000)), self.dtype),
            (self.rng.choice((0, 64)), "float32"),
        )
        layer = Layer(cache, StateStorage(tuple(state for state in states if state[0])))
        held = known_page(layer)
        target = known_page(
            Layer(FullAttention(self.block), Storage(self.heads, self.head_size, self.head_size, self.dtype))
        )
        if target >= held and self.rng.random() < 0.6:
            layer = replace(layer, storage=replace(layer.storage, padded=target))
        return layer

    def padded(self, layer: Layer) -> Layer:
        """Pad a page now and then, where the release lets an operator's backend do so."""
        if not self.planning.padded or layer.storage.padded is not None or self.rng.random() > 0.08:
            return layer
        held = unpadded_bytes(layer)
        page = held * 2 if self.rng.random() < 0.5 else held + 64
        return settled(replace(layer, storage=replace(layer.storage, padded=page)))

    def near(self, size: int, factors: Sequence[int]) -> int:
        """Keep a size mostly, else multiply it."""
        return size if self.steady() else size * self.rng.choice(factors)

    def steady(self) -> bool:
        """Tell whether the next size is the model's own; in most models nearly all are."""
        return self.rng.random() < self.steadiness

    def shares(self, names: list[str]) -> list[tuple[str, ...]]:
        """Deal layers to workers: one, several with all layers, or stages; a stage may be left without a layer."""
        roll = self.rng.random()
        if roll < 0.55 or not names:
            return [tuple(names)]
        if roll < 0.8:
            return [tuple(names)] * self.rng.randint(2, 3)
        if self.rng.random() < 0.1:
            return [tuple(names), ()]
        cut = self.rng.randint(1, max(1, len(names) - 1))
        return [tuple(names[:cut]), tuple(names[cut:])] if cut < len(names) else [tuple(names)]

    def memory(self, model: Model, share: tuple[str, ...], deployment: Deployment) -> int:
        """Draw memory around what a worker needs: the borders of acceptance, and of one block more or less."""
        needed, block = self.needed(model, share, deployment)
        exact = (needed, needed - 1, needed + block, needed + block - 1, needed + 2 * block, needed + 3 * block + 1)
        wide = (
            self.rng.randint(needed, 4 * needed + 1),
            self.rng.randint(0, needed + 1),
            needed + block * self.rng.randint(1, 400),
            10 * needed + 7,
        )
        return self.rng.choice((*exact, *wide, *wide, self.rng.choice((0, -5, 1))))

    def needed(self, model: Model, share: tuple[str, ...], deployment: Deployment) -> tuple[int, int]:
        """Ask what a worker needs and what a block takes, or make numbers up where the model is refused."""
        try:
            groups = grouped(model, self.design)
            stage = [projected(group, frozenset(share), self.design) for group in groups]
            needed, block = bytes_required(stage, deployment, self.design), block_bytes(stage, self.design)
        except RefusedError:
            return self.rng.randint(1, 10**8), 4096
        if not (isinstance(needed, int) and isinstance(block, int)):
            raise TypeError("memory is drawn around known numbers only")
        return needed, block
