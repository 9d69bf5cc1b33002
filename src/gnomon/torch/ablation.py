r"""What a model loses without one of its heads, or one of its rotary pairs; for any module.

    a_(l,h) = score(model) - score(model without head h of layer l)

"Without" means that the output of the head, before the projection that mixes the heads, is replaced
by zero, or by its mean over rows and positions, which removes what the head tells and keeps what it
always adds [michel2019]:

    y = W_o [f_1 o_1 + (1 - f_1) m_1; ...; f_H o_H + (1 - f_H) m_H] + b,   f_h = 0, m_h = 0 or E o_h

So a layer has to name one module only: the one that reads all heads side by side (`out_proj`,
`o_proj`, `c_proj`, in BERT `attention.output.dense`), or `nn.MultiheadAttention` as a whole.
Weights are never written: a hook changes what the module reads while the model is used. A published
ablation [gu2025] wrote weights, and left the last head of every layer switched off.

A rotary logit is a sum over pairs k of q_k^T R(w_k lag) k_k. A pair is taken out by scaling the
query by 0 in its two coordinates, before or after they are rotated, in all heads of a layer at
once. So a layer names the module that gives the queries (`q_proj`).

Scores with and without are of the same rows, so a drop has the standard error of the mean of its
rows, smaller than that of either score where the same rows are hard for both [student1908].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import linear

from gnomon.errors import InputError
from gnomon.results import Result

Floats = NDArray[np.float64]
Place = tuple[int, int]
Edit = Callable[[Tensor], Tensor]
LAYOUTS = ("half", "interleaved")


class Removable(Protocol):
    """Parts of a model that can be taken out one by one, at places (layer, number)."""

    @property
    def shape(self) -> Place:
        """Layers, and the most parts that a layer has."""

    def places(self) -> Iterable[Place]:
        """Yield every place that has a part."""

    def without(self, *places: Place) -> Any:
        """Return a context in which the model works without the parts at these places."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ablation(Result):
    """What a model loses without each of its parts; nan where a layer has fewer than another."""

    score: Any
    """Mean score of the whole model."""
    drops: Floats
    """(layers, parts): score lost."""
    errors: Floats
    """(layers, parts): standard error of every drop."""
    rows: int


def ablate(parts: Removable, score: Callable[[], Any]) -> Ablation:
    """Return what is lost without every part; `score()` runs the model and scores it row by row.

    It is called once for the whole model and once for every part. Its last axis are the rows; axes
    before them, for several scores at once, follow layer and part in what is returned.
    """
    whole = _rows_of(score())
    drops = np.full((*parts.shape, *whole.shape[:-1]), np.nan)
    errors = drops.copy()
    for place in parts.places():
        with parts.without(place):
            lost = whole - _rows_of(score())
        drops[place], errors[place] = mean_of_rows(lost)
    mean = whole.mean(axis=-1)
    return Ablation(
        score=float(mean) if whole.ndim == 1 else mean,
        drops=drops,
        errors=errors,
        rows=whole.shape[-1],
    )


def mean_of_rows(values: Floats) -> tuple[Floats, Floats]:
    """Return the mean over the last axis, and its standard error; 0 for a single row.

    >>> [float(found) for found in mean_of_rows(np.array([0.0, 1.0, 0.0, 1.0]))[0:1]]
    [0.5]
    """
    rows = values.shape[-1]
    if rows < 2:
        return values.mean(axis=-1), np.zeros(values.shape[:-1])
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(rows)


def find_heads(model: nn.Module, names: str, *, heads: int | None = None) -> AttentionHeads:
    """Return the heads of the layers whose mixing modules have a name of this pattern.

    `names` may have asterisks, as "encoder.layer.*.attention.output.dense"; layers are in the order
    of the model. `heads` is how many a layer has; `nn.MultiheadAttention` knows.

    >>> model = nn.TransformerEncoderLayer(8, 2, batch_first=True)
    >>> find_heads(model, "self_attn").shape
    (1, 2)
    """
    mixers = _find_modules(model, names)
    known = {one.num_heads for one in mixers if isinstance(one, nn.MultiheadAttention)}
    if heads is None and len(known) != 1:
        raise InputError(
            f"How many heads the modules {names!r} mix cannot be seen; pass heads=... ."
        )
    return AttentionHeads(mixers, known.pop() if heads is None else heads)


def find_rotary_pairs(
    model: nn.Module, names: str, *, heads: int, layout: str = "half", rotated: int | None = None
) -> RotaryPairs:
    """Return the rotary pairs of the layers whose query projections have a name of this pattern.

    In layout *half* pair k of r rotated coordinates is (k, k + r/2), in *interleaved* (2k, 2k + 1);
    `rotated` is r, the whole head where it is not given. The projection gives the queries of all
    heads side by side, and nothing else: none that gives keys and values, too.
    """
    if layout not in LAYOUTS:
        raise InputError(f"The layout is {layout!r}; pass one of: {', '.join(LAYOUTS)}.")
    return RotaryPairs(_find_modules(model, names), heads, layout=layout, rotated=rotated)


class AttentionHeads:
    """The heads of a model, by the module of each layer that reads them side by side."""

    def __init__(self, mixers: Sequence[nn.Module], heads: int, *, means: Any = None) -> None:
        self._mixers, self._heads = tuple(mixers), heads
        self._means = None if means is None else torch.as_tensor(means)

    @property
    def shape(self) -> Place:
        """Layers and heads."""
        return len(self._mixers), self._heads

    def places(self) -> Iterable[Place]:
        """Yield every head of every layer."""
        return np.ndindex(self.shape)

    @contextmanager
    def scale(self, factors: Any) -> Iterator[None]:
        """Multiply outputs of heads by factors (layers, heads); the rest is filled with means."""
        given = torch.as_tensor(factors)
        if tuple(given.shape) != self.shape:
            raise InputError(
                f"The factors have shape {tuple(given.shape)}; pass one for each of "
                f"{self.shape[0]} layers and {self.shape[1]} heads."
            )
        with ExitStack() as hooks:
            for layer, mixer in enumerate(self._mixers):
                fill = None if self._means is None else self._means[layer]
                _hook_input(mixer, self._scale_by(given[layer], fill), hooks)
            yield

    def without(self, *places: Place) -> Any:
        """Return a context in which the model works without these heads."""
        factors = np.ones(self.shape)
        for place in places:
            factors[place] = 0.0
        return self.scale(factors)

    def measure_means(self, run: Callable[[], Any], mask: Tensor | None = None) -> Tensor:
        """Return the mean output of every head while `run()` uses the model, (layers, heads, d).

        With a mask (b, n) means are over the tokens where it is True; what a layer reads of another
        shape, such as a few vectors that read all tokens, has no padding and is averaged whole.
        """
        read: dict[int, Tensor] = {}
        with ExitStack() as hooks:
            for layer, mixer in enumerate(self._mixers):
                _hook_input(mixer, _keep_in(read, layer), hooks)
            with torch.no_grad():
                run()
        means = [_mean_token(read[layer], mask) for layer in range(len(self._mixers))]
        return torch.stack(means).unflatten(-1, (self._heads, -1))

    def fill_with(self, means: Any) -> AttentionHeads:
        """Return these heads, with means (layers, heads, d) in the place of those taken out."""
        return AttentionHeads(self._mixers, self._heads, means=means)

    def _scale_by(self, factors: Tensor, means: Tensor | None) -> Edit:
        def edit(x: Tensor) -> Tensor:
            width = _width_of_heads(x, self._heads)
            each = factors.to(x).repeat_interleave(width)
            return each * x if means is None else each * x + (1 - each) * means.to(x).flatten()

        return edit


class RotaryPairs:
    """The rotary pairs of a model, by the module of each layer that gives the queries."""

    def __init__(
        self, queries: Sequence[nn.Module], heads: int, *, layout: str, rotated: int | None
    ) -> None:
        self._queries, self._heads, self._layout = tuple(queries), heads, layout
        size = rotated or min(_outputs_of(one) // heads for one in self._queries)
        self._pairs = size // 2

    @property
    def shape(self) -> Place:
        """Layers and pairs."""
        return len(self._queries), self._pairs

    def places(self) -> Iterable[Place]:
        """Yield every pair of every layer."""
        return np.ndindex(self.shape)

    @contextmanager
    def without(self, *places: Place) -> Iterator[None]:
        """Take pairs out of the logits of all heads of their layers."""
        with ExitStack() as hooks:
            for layer, query in enumerate(self._queries):
                out = [pair for at, pair in places if at == layer]
                if out:
                    hook = query.register_forward_hook(self._hook(out))
                    hooks.callback(hook.remove)
            yield

    def _hook(self, pairs: Sequence[int]) -> Callable[..., Tensor]:
        coordinates = [one for pair in pairs for one in self._coordinates(pair)]

        def hook(_: nn.Module, __: Any, q: Tensor) -> Tensor:
            factors = q.new_ones(self._heads, _width_of_heads(q, self._heads))
            factors[:, coordinates] = 0.0
            return q * factors.flatten()

        return hook

    def _coordinates(self, pair: int) -> Place:
        return (pair, pair + self._pairs) if self._layout == "half" else (2 * pair, 2 * pair + 1)


def _rows_of(scores: Any) -> Floats:
    given = scores.detach().cpu() if isinstance(scores, Tensor) else scores
    made = np.asarray(given, dtype=np.float64)
    if not made.ndim:
        raise InputError(
            "The score is one number; return one for each row, so that drops have errors."
        )
    return made


def _find_modules(model: nn.Module, names: str) -> tuple[nn.Module, ...]:
    found = tuple(one for name, one in model.named_modules() if fnmatchcase(name, names))
    if not found:
        raise InputError(
            f"The model has no module whose name is {names!r}; look at model.named_modules(), and "
            "write * where layers differ."
        )
    return found


def _width_of_heads(x: Tensor, heads: int) -> int:
    width, rest = divmod(x.shape[-1], heads)
    if rest:
        raise InputError(
            f"A module reads or gives {x.shape[-1]} numbers, which are no {heads} heads side by "
            "side; name the one that does, or pass another number of heads."
        )
    return width


def _outputs_of(module: nn.Module) -> int:
    """Return how many numbers a projection gives; transformers' Conv1D calls them nf."""
    found = getattr(module, "out_features", getattr(module, "nf", None))
    if found is None:
        raise InputError(
            f"How many numbers a {type(module).__name__} gives cannot be seen; pass rotated=... ."
        )
    return int(found)


def _keep_in(read: dict[int, Tensor], layer: int) -> Edit:
    def keep(x: Tensor) -> Tensor:
        read[layer] = x.detach()
        return x

    return keep


def _mean_token(x: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mean of x (b, n, d) over rows and tokens, padding left out."""
    flat = x.flatten(0, -2)[None]
    if mask is None or mask.shape != x.shape[:-1]:
        return flat.mean(dim=1)[0]
    weights = mask.flatten()[None, :, None].to(x.dtype)
    return ((flat * weights).sum(dim=1) / weights.sum(dim=1))[0]


def _hook_input(module: nn.Module, edit: Edit, hooks: ExitStack) -> None:
    """Change what a module reads, until the hooks are closed."""
    if isinstance(module, nn.MultiheadAttention):
        _hook_multihead(module, edit, hooks)
        return
    hook = module.register_forward_pre_hook(lambda _, read: (edit(read[0]), *read[1:]))
    hooks.callback(hook.remove)


def _hook_multihead(module: nn.MultiheadAttention, edit: Edit, hooks: ExitStack) -> None:
    """The same of PyTorch's own attention, which hands its projection over as two tensors.

    For the time of a call the projection is the identity, so that heads come out side by side; then
    it is put back and applied to what the edit makes of them.
    """
    own = module.out_proj
    weight, bias = own.weight, own.bias

    def open_heads(*_: Any) -> None:
        size = weight.shape[0]
        own.weight = nn.Parameter(torch.eye(size).to(weight), requires_grad=False)
        own.bias = (
            None if bias is None else nn.Parameter(torch.zeros_like(bias), requires_grad=False)
        )

    def mix_heads(_: nn.Module, __: Any, made: Any) -> Any:
        own.weight, own.bias = weight, bias
        return None if made is None else (linear(edit(made[0]), weight, bias), *made[1:])

    hooks.callback(module.register_forward_pre_hook(open_heads).remove)
    hooks.callback(module.register_forward_hook(mix_heads, always_call=True).remove)
