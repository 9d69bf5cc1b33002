"""What each scaling does to a real model: perplexity by position on long text, nothing trained.

A causal model with rotary positions reads the middle of several long documents, `factor` times the
L0 tokens it was trained on, once under each scaling (`scaling_lines`). For bins of L0 / 8 positions
the ratio of perplexities

    exp(mean over the tokens of a bin of [loss under the scaling - loss of the cut line])

says what a scaling costs or gains against the model that is never asked beyond L0, on the same
tokens; so what is hard in a text is in both and drops out. A line is the geometric mean over
documents; its 95 % interval is that of Student's t over documents [student1908], which are what is
independent. One document has no interval.

No source has this experiment, so nothing stands as published; the claims are `scaling_claims`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import Progress, folder
from gnomon.errors import InputError
from gnomon.pipeline import provenance
from gnomon.report import with_noun
from gnomon.reproduce.claims import Figure, Published, Reproduction, Row
from gnomon.reproduce.evidence import listed, verdicts
from gnomon.reproduce.samples import Options
from gnomon.reproduce.scaling_claims import judged, ratios
from gnomon.reproduce.scaling_lines import CUT, LINES
from gnomon.reproduce.scaling_model import Reader, reader
from gnomon.reproduce.scaling_run import measured
from gnomon.reproduce.scaling_text import Document, document

TITLE = "perplexity by position under each scaling of a rotary encoding"
BINS_WITHIN = 8
"""Bins up to the trained length."""
ALONE = "one document: nothing to repeat over"
Floats = NDArray[np.float64]
Losses = Mapping[str, NDArray[np.float32]]


def scaling(options: Options, progress: Progress) -> Reproduction:
    """Run a model, given before its texts, over every text under every scaling."""
    if len(options.corpora) < 2:
        raise InputError(
            f"scaling reads a model and texts, and was given {len(options.corpora)} of them; pass "
            "a GGUF file or a folder of transformers, then one text file or more."
        )
    model, *texts = options.corpora
    progress.stage(f"opening {model}")
    read = reader(model)
    length = _length(options, read)
    documents = [document(text, read.tokenizer, length) for text in texts]
    _refuse_twins(documents)
    losses = measured(read, documents, options.factor, progress, folder() / "losses")
    return _reproduction(read, documents, losses, options)


def _length(options: Options, read: Reader) -> int:
    trained = read.trained.length
    length = round(options.factor * trained) if options.length is None else options.length
    if length <= trained:
        raise InputError(
            f"--length is {length:,} and the model was trained on {trained:,}; a scaling is for "
            "more: leave it out, or pass a greater one."
        )
    return length


def _refuse_twins(documents: list[Document]) -> None:
    seen: dict[str, str] = {}
    for one in documents:
        if one.digest in seen:
            raise InputError(f"{one.name} is the same text as {seen[one.digest]}; pass it once.")
        seen[one.digest] = one.name


def _reproduction(
    read: Reader, documents: list[Document], losses: Losses, options: Options
) -> Reproduction:
    trained, length = read.trained.length, len(documents[0].tokens)
    claims = judged(ratios(losses, trained))
    binned = {line: by_bin(found, trained) for line, found in losses.items()}
    return Reproduction(
        name="scaling",
        title=TITLE,
        source="peng2024",
        setting=_setting(read, documents, length, options.factor),
        rows=tuple(_rows(binned, trained, length)),
        verdicts=verdicts({read.name: claims}),
        notes=(
            "ratios are to the line cut: the unscaled model in windows of its trained length.",
            "nothing was trained or tuned; LongRoPE has no factors for this model and is left out.",
        ),
        corpora={
            read.name: {
                "model": _of_model(read),
                "bins": _bins(trained, length),
                "documents": {
                    one.name: _of_document(one, {line: found[k] for line, found in binned.items()})
                    for k, one in enumerate(documents)
                },
                "evidence": listed(claims),
            }
        },
        provenance=provenance(options.seed),
    )


def by_bin(losses: NDArray[np.float32], trained: int) -> Floats:
    """Return the mean loss of each bin, a row for each document; the first lacks its first token.

    >>> by_bin(np.arange(1.0, 24.0, dtype=np.float32)[None], 16).tolist()[0][:3]
    [1.0, 2.5, 4.5]
    """
    width = max(trained // BINS_WITHIN, 1)
    edges = np.arange(width, losses.shape[1] + 1, width) - 1  # losses begin with token 1
    parts = np.split(losses.astype(np.float64), edges, axis=1)
    return np.stack([part.mean(axis=1) for part in parts if part.shape[1]], axis=1)


def _bins(trained: int, length: int) -> list[tuple[int, int]]:
    """Return first and last position of each bin."""
    width = max(trained // BINS_WITHIN, 1)
    return [(first, min(first + width, length) - 1) for first in range(0, length, width)]


def _rows(binned: Mapping[str, Floats], trained: int, length: int) -> Iterator[Row]:
    for k, (first, last) in enumerate(_bins(trained, length)):
        ours: dict[str, Figure] = {"cut perplexity": float(np.exp(binned[CUT][:, k].mean()))}
        reasons = {}
        for line in LINES:
            if line == CUT:
                continue
            mean, interval = geometric(binned[line][:, k] - binned[CUT][:, k])
            ours |= {line: mean, f"{line} interval": interval}
            if interval is None:
                reasons[f"{line} interval"] = ALONE
        yield Row(
            what=f"positions {first:,} to {last:,}",
            published=Published(quantity="ratio", reason="none: no source has this experiment"),
            ours=ours,
            reasons=reasons or None,
        )


def geometric(more: Floats) -> tuple[float, tuple[float, float] | None]:
    """Return exp of a mean over documents, and its 95 % interval by Student's t.

    >>> geometric(np.log([2.0]))
    (2.0, None)
    """
    from scipy.stats import t

    mean = float(more.mean())
    if len(more) < 2:
        return float(np.exp(mean)), None
    half = float(t.ppf(0.975, len(more) - 1) * more.std(ddof=1) / np.sqrt(len(more)))
    return float(np.exp(mean)), (float(np.exp(mean - half)), float(np.exp(mean + half)))


def _setting(read: Reader, documents: list[Document], length: int, factor: float) -> str:
    return (
        f"{read.name}, trained on {read.trained.length:,} positions with base "
        f"{read.trained.base:g}, in float32, reads {length:,} tokens from the middle of "
        f"{with_noun(len(documents), 'document')} at once; factor {factor:g}; "
        "geometric means over documents, 95 % intervals by Student's t over documents"
    )


def _of_model(read: Reader) -> dict[str, Any]:
    return {
        "name": read.name,
        "sha256": read.digest,
        "trained_length": read.trained.length,
        "base": read.trained.base,
        "head_dimension": read.trained.dimension,
        "versions": {name: _version(name) for name in ("torch", "transformers", "gguf")},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _of_document(one: Document, losses: Mapping[str, Floats]) -> dict[str, Any]:
    """Return what a document is, and the mean loss of each bin under each line, in nats."""
    return {
        "sha256": one.digest,
        "first_token": one.first,
        "tokens": len(one.tokens),
        "losses": {line: [round(float(x), 5) for x in found] for line, found in losses.items()},
    }
