"""What each scaling does to a real model: perplexity by position on long text, nothing trained.

A causal model with rotary positions reads the middle of several long documents, `factor` times the
L0 tokens it was trained on, once under each scaling. For bins of L0 / 8 positions
the ratio of perplexities

    exp(mean over the tokens of a bin of [loss under the scaling - loss of the cut line])

says what a scaling costs or gains against the model that is never asked beyond L0, on the same
tokens; so what is hard in a text is in both and drops out. A line is the geometric mean over
documents; its 95 % interval is that of Student's t over documents [student1908], which are what is
independent. One document has no interval.

No source has this experiment, so nothing stands as published; the claims are what the
sources of each scaling lead one to expect, and each is held to the models that were run.

Numbers are ratios of perplexity, exp(mean loss of a line - mean loss of the cut line) over the same
tokens of one document: 1 is what the model has where it never reads more than L0 tokens. *Within*
is up to L0, *beyond* from there on. Each document is one reading of a claim.

The cut-offs were written down before any model was run: a model fails where perplexity doubles; it
is harmed where it grows by 5 %; a scaling extends the context where it stays within 10 % of the cut
line; it costs nothing where it stays within 1 %.

- Beyond L0 an unscaled model fails [chen2023].
- Linear interpolation comes with fine-tuning [chen2023], since it crowds neighbours [bloc972023].
- NTK-aware and dynamic scaling are said to do without [bloc972023; emozilla2023].
- YaRN refines them [peng2024]; users expect it to be the best without fine-tuning, too.
- That a scaling costs nothing within L0, and that a longer context helps, users expect as well.

Runs a model over documents, line by line, and keeps what is done: a run resumes where it ended.

What is kept of a line on a document is the loss of every token, in a file whose name follows from
the weights, the tokens and the encoding; nothing else can make it be taken for another.

A causal model read from files, and the loss of every token of a text under a rotary encoding.

The loss of token i is -ln p(token i | tokens before it in the window), in nats; its exponential,
averaged in the logarithm over tokens, is perplexity. Hidden states of a whole window are computed
at once, logits in slices, since those of 16,384 tokens over 49,152 types would take 3 GB.

Frequencies are those of our encoding in float32, in the order of operations of transformers
[wolf2020], put in place by `gnomon.hf.install`; so the unscaled model is itself, bit for bit.

The lines of the experiment on scalings: how one model reads the same tokens several ways.

A model with rotary positions was trained on L0 of them. Each line but one replaces its frequencies
and reads all tokens at once, s L0 of them by default; nothing is fine-tuned:

    unscaled   the model as it is [su2021]
    linear     frequencies divided by s [chen2023]
    ntk        base times s^(r/(r-2)) [bloc972023]
    dynamic    the base that follows from the length read [emozilla2023]
    yarn       by turns within L0, with its attention factor [peng2024]
    llama3     by wavelength, low 1 and high 4 [grattafiori2024]

The line *cut* is what they are held against: the unscaled model never reads more than L0 tokens.
Up to L0 it is the unscaled line; later tokens are read in windows of L0 that advance by L0 / 2, so
that every one of them is predicted from L0 / 2 tokens before it or more.

Left out: LongRoPE, whose factors are found by a search for each model, and none was made for this
one; the proportional kind, which is a way to train and no scaling of a trained model.

Long texts for a model: the middle of each file, as tokens.

Of a Project Gutenberg file the words before its line `*** START OF ...` and after `*** END OF ...`
are its licence, and left out. What remains is read as it is, line breaks included. The tokens in
the middle are taken, so that no title page or index is among them; a text that is shorter than the
length asked for is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import Progress, folder
from gnomon.encodings import Encoding, Rope, encoding
from gnomon.errors import GnomonError, InputError, MissingExtraError
from gnomon.files import write_with
from gnomon.pipeline import provenance
from gnomon.reading import load_array
from gnomon.report import with_noun
from gnomon.reproduce.claims import (
    Evidence,
    Figure,
    Judged,
    Published,
    Relation,
    Reproduction,
    Row,
    compare,
    join_by_claim,
    list_evidence,
    spread,
)
from gnomon.reproduce.subjects import Options

TITLE = "perplexity by position under each scaling of a rotary encoding"
BINS_WITHIN = 8
"""Bins up to the trained length."""
ALONE = "one document: nothing to repeat over"
Floats = NDArray[np.float64]
Losses = Mapping[str, NDArray[np.float32]]


def make(options: Options, progress: Progress) -> Reproduction:
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
    losses = measure_losses(read, documents, options.factor, progress, folder() / "losses")
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
    claims = judge(ratios(losses, trained))
    binned = {line: by_bin(found, trained) for line, found in losses.items()}
    return Reproduction(
        name="scaling",
        title=TITLE,
        source="peng2024",
        setting=_describe_setting(read, documents, length, options.factor),
        rows=tuple(_rows(binned, trained, length)),
        verdicts=join_by_claim({read.name: claims}),
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
                "evidence": list_evidence(claims),
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


def _describe_setting(read: Reader, documents: list[Document], length: int, factor: float) -> str:
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


FAILS, HARMED, EXTENDS, FREE = 2.0, 1.05, 1.10, 1.01


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratios:
    """Ratios of perplexity of one line to the cut line, one for each document."""

    within: Floats
    beyond: Floats


def ratios(losses: Mapping[str, NDArray[np.float32]], trained: int) -> dict[str, Ratios]:
    """Return the ratios of every line but the cut one; `losses` begin with those of token 1."""
    base = losses[CUT].astype(np.float64)
    found = {}
    for line, own in losses.items():
        if line != CUT:
            more = own.astype(np.float64) - base
            found[line] = Ratios(
                within=np.exp(more[:, : trained - 1].mean(axis=1)),
                beyond=np.exp(more[:, trained - 1 :].mean(axis=1)),
            )
    return found


def judge(found: Mapping[str, Ratios]) -> list[Judged]:
    """Return every claim with its evidence."""
    made = [
        _fails(found),
        _harms(found),
        *_extends(found),
        _best(found),
        _free(found),
        _gain(found),
    ]
    return [replace(one, over="documents") for one in made]


def _fails(found: Mapping[str, Ratios]) -> Judged:
    beyond = found[UNSCALED].beyond
    return Judged(
        claim=f"beyond its trained length an unscaled model fails (perplexity times {FAILS:g} or "
        "more)",
        evidence=compare("unscaled, beyond", beyond, ">=", FAILS),
        reason=f"its perplexity is {_words(beyond)} times that of the model cut to its trained "
        "length.",
    )


def _harms(found: Mapping[str, Ratios]) -> Judged:
    within = found["linear"].within
    return Judged(
        claim="linear interpolation without fine-tuning harms positions within the trained length "
        f"({_percent(HARMED)} or more)",
        evidence=compare("linear, within", within, ">=", HARMED),
        reason=f"within the trained length perplexity is {_words(within)} times that of the "
        "unscaled model.",
    )


def _extends(found: Mapping[str, Ratios]) -> list[Judged]:
    named = {"ntk": "NTK-aware", "dynamic": "dynamic NTK"}
    return [
        Judged(
            claim=f"{words} scaling extends the context without fine-tuning (within "
            f"{_percent(EXTENDS)} of the model cut to its trained length)",
            evidence=compare(f"{line}, beyond", found[line].beyond, "<=", EXTENDS),
            reason=f"beyond the trained length perplexity is {_words(found[line].beyond)} times "
            "that of the cut model.",
        )
        for line, words in named.items()
    ]


def _best(found: Mapping[str, Ratios]) -> Judged:
    others = [line for line in SCALED if line != "yarn"]
    rival = np.min([found[line].beyond for line in others], axis=0)
    each = ", ".join(f"{line} {_words(found[line].beyond)}" for line in SCALED)
    return Judged(
        claim="without fine-tuning YaRN is the best scaling beyond the trained length",
        evidence=compare("yarn against the best other, beyond", found["yarn"].beyond, "<", rival),
        reason=f"beyond the trained length: {each}.",
    )


def _free(found: Mapping[str, Ratios]) -> Judged:
    each = ", ".join(f"{line} {_words(found[line].within)}" for line in SCALED)
    return Judged(
        claim="a scaling costs nothing within the trained length (at most "
        f"{_percent(FREE)} of perplexity)",
        evidence=_all(found, "within", "<=", FREE),
        reason=f"within the trained length: {each}.",
    )


def _gain(found: Mapping[str, Ratios]) -> Judged:
    each = ", ".join(f"{line} {_words(found[line].beyond)}" for line in SCALED)
    return Judged(
        claim="a longer context by scaling alone is better than cutting it to the trained length",
        evidence=_all(found, "beyond", "<", 1.0),
        reason=f"beyond the trained length, against the cut model: {each}.",
    )


def _all(
    found: Mapping[str, Ratios], where: str, relation: Relation, bound: float
) -> tuple[Evidence, ...]:
    return tuple(
        piece
        for line in SCALED
        for piece in compare(f"{line}, {where}", getattr(found[line], where), relation, bound)
    )


def _words(values: Floats) -> str:
    return str(spread(values.tolist(), over="documents"))


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):.0f} %"


LossesByLine = NDArray[np.float32]
VERSION = 2
"""Of what a kept file holds; a change of the way losses are computed raises it."""


def measure_losses(
    read: Reader,
    documents: Sequence[Document],
    factor: float,
    progress: Progress,
    folder: Path,
) -> dict[str, NDArray[np.float32]]:
    """Return the losses of each line, one row for each document; document by document."""
    found: dict[str, list[LossesByLine]] = {line: [] for line in LINES}
    for document in documents:
        for line in LINES:
            done = sum(map(len, found.values()))
            progress.stage(f"{document.name}, {line} ({done + 1} of {len(documents) * len(LINES)})")
            found[line].append(_read_or_measure(read, document, line, factor, folder))
    inside = read.trained.length - 1  # losses begin with token 1
    joined = [
        np.concatenate([u[:inside], c]) for u, c in zip(found[UNSCALED], found[CUT], strict=True)
    ]
    return {line: np.stack(rows) for line, rows in (found | {CUT: joined}).items()}


def _read_or_measure(
    read: Reader, document: Document, line: str, factor: float, folder: Path
) -> LossesByLine:
    """Return the losses of one line on one document, computed only if they are not kept yet."""
    length = len(document.tokens)
    made = encoding_of(line, read.trained, factor, length)
    cut = windows(line, read.trained.length, length)
    path = folder / f"{_key(read, document, repr(made.parameters), cut)}.npy"
    kept = _open_cache(path)
    if kept is not None and len(kept) == sum(end - max(k, 1) for _, end, k in cut):
        return kept
    parts = [
        losses(read, made, document.tokens[first:end])[max(counted - first - 1, 0) :]
        for first, end, counted in cut
    ]
    found = np.concatenate(parts)
    write_with(path, lambda stream: np.save(stream, found))
    return found


def _open_cache(path: Path) -> LossesByLine | None:
    """Return what a file holds; None where it is not there, or damaged and to be made again."""
    try:
        return np.asarray(load_array(path), dtype=np.float32)
    except (OSError, ValueError):
        return None


def _key(read: Reader, document: Document, encoding: str, cut: Any) -> str:
    tokens = hashlib.sha256(document.tokens.tobytes()).hexdigest()
    what = json.dumps([VERSION, read.digest, tokens, encoding, cut], sort_keys=True)
    return hashlib.sha256(what.encode()).hexdigest()[:24]


SLICE = 1024
"""Tokens whose logits are in memory at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reader:
    """A causal model with its tokenizer, and what it was trained with."""

    model: Any
    tokenizer: Any
    trained: Trained
    name: str
    digest: str
    """SHA-256 of its weights as stored."""


def reader(path: str | Path) -> Reader:
    """Read a model with rotary positions from a GGUF file, or from a folder of transformers."""
    path = Path(path)
    if not path.exists():
        raise InputError(
            f"There is no model at {path}; pass a GGUF file, or a folder that transformers wrote."
        )
    model, tokenizer = _load(path)
    return Reader(
        model=model.eval(),
        tokenizer=tokenizer,
        trained=_length_trained(model, path),
        name=path.stem if path.is_file() else path.name,
        digest=_digest(path),
    )


def _load(path: Path) -> tuple[Any, Any]:
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingExtraError(
            "This experiment runs a model by transformers in PyTorch, and one of them is not "
            "installed; run `pip install gnomon[gguf]`."
        ) from error
    from gnomon.hf import SAFELY, check_weights, open_config

    where: dict[str, Any] = {"local_files_only": True}
    if path.is_file():
        where |= {"gguf_file": path.name}
    folder = path.parent if path.is_file() else path
    try:
        if (folder / "config.json").is_file() and path.is_dir():
            check_weights(path, open_config(path, **where))
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **SAFELY, **where)
        return model, AutoTokenizer.from_pretrained(folder, trust_remote_code=False, **where)
    except GnomonError:
        raise
    except ImportError as error:
        raise MissingExtraError(
            f"{path} cannot be read without a package that is not installed; run "
            "`pip install gnomon[gguf]`."
        ) from error
    except (OSError, ValueError, KeyError) as error:
        first = str(error).strip().partition("\n")[0]
        raise InputError(
            f"transformers cannot read {path} ({first}); pass a GGUF file of a causal model, or a "
            "folder with its config, weights and tokenizer."
        ) from error


def _length_trained(model: Any, path: Path) -> Trained:
    """Read length, dimension and base off a model; refuse one that is not plainly rotary."""
    from gnomon.hf import read

    length = getattr(model.config, "max_position_embeddings", None)
    try:
        own = read(model)
    except GnomonError as error:
        raise InputError(f"{path} holds a model whose positions are not known: {error}") from error
    plain = isinstance(own, Rope) and own.scaling.name == "unscaled" and own.fraction == 1.0
    if not isinstance(own, Rope) or not plain or length is None:
        raise InputError(
            f"{path} holds a model with the encoding {own.name!r}, and scalings are compared on "
            "plain rotary positions; pass a Llama-type model that was not scaled yet."
        )
    return Trained(length=int(length), dimension=own.dimension, base=own.base)


def _digest(path: Path) -> str:
    files = [path] if path.is_file() else sorted(path.glob("*.safetensors"))
    made = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                made.update(block)
    return made.hexdigest()


def losses(read: Reader, encoding: Encoding, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the loss of tokens 1, 2, ... of one window: one number less than tokens."""
    import torch

    from gnomon.hf import install, uninstall

    install(read.model, encoding)
    try:
        with torch.no_grad():
            ids = torch.from_numpy(tokens)
            body = read.model.get_decoder()
            hidden = body(ids[None], use_cache=False).last_hidden_state[0, :-1]
            parts = [
                torch.nn.functional.cross_entropy(
                    read.model.lm_head(hidden[k : k + SLICE]),
                    ids[k + 1 : k + 1 + SLICE],
                    reduction="none",
                )
                for k in range(0, len(hidden), SLICE)
            ]
    finally:
        uninstall(read.model)
    return np.asarray(torch.cat(parts).numpy(), dtype=np.float32)


CUT, UNSCALED = "cut", "unscaled"
SCALED = ("linear", "ntk", "dynamic", "yarn", "llama3")
LINES = (UNSCALED, CUT, *SCALED)
"""In the order in which they are run."""


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What a model was trained with: the length, and the rotary encoding of its heads."""

    length: int
    dimension: int
    base: float


def encoding_of(line: str, trained: Trained, factor: float, length: int) -> Encoding:
    """Return the rotary encoding of a line, for `length` tokens read at once.

    >>> trained = Trained(length=8192, dimension=64, base=1e5)
    >>> encoding_of("linear", trained, 2.0, 16384).frequencies[0]
    array([0.5])
    """
    own: dict[str, Any] = {
        "dimension": trained.dimension,
        "base": trained.base,
        "layout": "half",
    }
    if line in (CUT, UNSCALED):
        return encoding("rope", **own)
    own["factor"] = factor
    if line not in ("linear", "ntk"):
        own["original_length"] = trained.length
    if line == "dynamic":
        own["length"] = length
    if line == "llama3":
        own |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    return encoding(f"rope-{line}", **own)


def windows(line: str, trained: int, length: int) -> list[tuple[int, int, int]]:
    """Return first token, end and the first token that counts, of each window a line reads.

    >>> windows("cut", 8, 16)
    [(4, 12, 8), (8, 16, 12)]
    >>> windows("yarn", 8, 16)
    [(0, 16, 0)]
    """
    if line != CUT:
        return [(0, length, 0)]
    ends = [min(k + trained // 2, length) for k in range(trained, length, trained // 2)]
    starts = range(trained, length, trained // 2)
    return [(end - trained, end, start) for start, end in zip(starts, ends, strict=True)]


_START = re.compile(r"^\*\*\* ?START OF .*$", re.MULTILINE)
_END = re.compile(r"^\*\*\* ?END OF .*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, eq=False)
class Document:
    """Tokens from the middle of one file."""

    name: str
    tokens: NDArray[np.int64]
    first: int
    """Which token of the file is the first one here."""
    digest: str
    """SHA-256 of the file."""


def document(path: str | Path, tokenizer: Any, length: int) -> Document:
    """Read `length` tokens from the middle of a text file."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no text at {path}; pass plain text files in UTF-8.")
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start}); convert it first.") from error
    found = np.array(tokenizer(body(text), verbose=False)["input_ids"], dtype=np.int64)
    if len(found) < length:
        raise InputError(
            f"{path} has {len(found):,} tokens and {length:,} are read; pass a longer text, or a "
            "smaller --length."
        )
    first = (len(found) - length) // 2
    return Document(
        name=path.stem,
        tokens=found[first : first + length],
        first=first,
        digest=hashlib.sha256(data).hexdigest(),
    )


def body(text: str) -> str:
    r"""Return a text without the licence around it, its line breaks as \n.

    >>> body("Licence\r\n*** START OF THIS BOOK ***\r\nCall me.\r\n*** END OF IT ***\r\nMore")
    'Call me.'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    start, end = _START.search(text), _END.search(text)
    return text[start.end() if start else 0 : end.start() if end else None].strip()
