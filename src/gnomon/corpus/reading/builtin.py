"""Corpora that need no download: their names, what they are, and how they are made.

- `three-regimes`: the synthetic corpus of the source document (initial, medial, terminal law).
- `python-stdlib`: functions and classes of the standard library that runs this program.
- `digits`: 8 x 8 images of digits with 17 grey levels, a grid corpus.

Images of digits, 8 x 8, in 17 grey levels: real ones where scikit-learn is, else drawn.

The real ones (Alpaydin and Kaynak 1998) were scanned at 32 x 32 and reduced by counting the dark
points of every 4 x 4 block, which gives the levels 0..16. The drawn ones are made the same way:
strokes of a seven-segment display, with jitter, on a 32 x 32 raster.

Python source as documents: every top-level function or class, grouped by its file.

The borders come from Python's own parser, decorators included, so a string that looks like code
is not taken for it. A file that this Python cannot parse is left out.
"""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
import warnings
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from gnomon.corpus.documents import TextBatch
from gnomon.corpus.reading.ids import MemoryIds, array_batches
from gnomon.corpus.reading.streams import id_batch, nonempty, rebatch_texts
from gnomon.errors import CorpusError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gnomon.corpus.documents import IdBatch, Source

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class BuiltIn:
    """A corpus that ships with Gnomon: `make(seed)` opens it."""

    description: str
    make: Callable[[int], Source]


def three_regimes(
    rows: int = 2000,
    length: int = 32,
    vocabulary: int = 200,
    concentration: float = 0.2,
    seed: int = 0,
) -> MemoryIds:
    """Return documents whose token law changes at n/3 and 2n/3.

    Three laws are drawn from a symmetric Dirichlet with the given concentration; the token at
    position i is drawn from law floor(3 i / n), independently. The population geometry therefore
    has rank 2, whatever its sample shows.
    """
    for name, value in (("rows", rows), ("length", length), ("vocabulary", vocabulary)):
        if value < 1:
            raise InputError(f"{name} is {value}; three_regimes needs at least 1.")
    if not concentration > 0:
        raise InputError(f"concentration is {concentration}; it must be positive.")
    laws = _stream(seed, 0).dirichlet(np.full(vocabulary, concentration), size=3)
    regimes = 3 * np.arange(length) // length

    def pieces() -> Iterator[IdBatch]:
        for start in range(0, rows, _ROWS_AT_ONCE):
            count = min(_ROWS_AT_ONCE, rows - start)
            batch = _drawn(laws, regimes, count, _stream(seed, 1 + start // _ROWS_AT_ONCE))
            yield replace(batch, bytes_read=4 * length * (start + count))

    return MemoryIds("three-regimes", pieces, vocabulary_size=vocabulary, size=4 * rows * length)


def _stream(seed: int, part: int) -> np.random.Generator:
    """Return the random stream of one part, so that no part depends on how others were drawn."""
    return np.random.default_rng([seed, part])


def _drawn(laws: np.ndarray, regimes: np.ndarray, rows: int, rng: np.random.Generator) -> IdBatch:
    values = np.empty((rows, len(regimes)), np.int32)
    for regime, law in enumerate(laws):
        where = regimes == regime
        values[:, where] = rng.choice(len(law), size=(rows, int(where.sum())), p=law)
    offsets = np.arange(rows + 1, dtype=np.int64) * len(regimes)
    return id_batch(values.reshape(-1), offsets)


def python_stdlib() -> ModulesSource:
    """Return the standard library of this Python as documents: its top-level functions and classes.

    A document is one top-level function or class, since a survey needs thousands of documents and
    the library has only hundreds of files; what is independent is the file, so each document's
    group is its file. Tests, tables of codecs, vendored packages and
    files above 100 kB are left out, so that reading takes a second or two.
    """
    folder = Path(sysconfig.get_paths()["stdlib"])
    version = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    if not (folder / "abc.py").is_file():
        raise CorpusError(
            f"the standard library of this Python has no source files in {folder}; choose another "
            "built-in corpus or pass your own."
        )
    return ModulesSource(f"python-stdlib ({version})", folder)


def digits(seed: int = 0) -> MemoryIds:
    """Return images of digits as a grid of 8 x 8 grey levels 0..16, real ones where possible."""
    images = real_digits()
    name = "digits (scikit-learn)"
    if images is None:
        images, name = drawn_digits(DIGITS, _stream(seed, 0)), "digits (drawn)"
    return MemoryIds(
        name,
        lambda: array_batches(images, name, size=images.nbytes),
        axes=(8, 8),
        vocabulary_size=17,
        size=images.nbytes,
    )


BUILTIN: dict[str, BuiltIn] = {
    "three-regimes": BuiltIn(
        "2,000 documents of 32 tokens; the law of tokens changes at one and two thirds",
        lambda seed: three_regimes(seed=seed),
    ),
    "python-stdlib": BuiltIn(
        "functions and classes of the standard library of this Python, grouped by file",
        lambda _: python_stdlib(),
    ),
    "digits": BuiltIn(
        "images of digits, 8 x 8 with 17 grey levels: a corpus with two position axes",
        digits,
    ),
}


DIGITS = 1797
_RASTER = 32
# Ends of the seven strokes, x to the right and y down, on the unit square of the display.
_CORNERS = np.array(
    [
        [0, 0, 1, 0],
        [1, 0, 1, 1],
        [1, 1, 1, 2],
        [0, 2, 1, 2],
        [0, 1, 0, 2],
        [0, 0, 0, 1],
        [0, 1, 1, 1],
    ],
    dtype=np.float64,
).reshape(7, 2, 2)
# Which strokes each digit lights: top, upper and lower right, bottom, lower and upper left, middle.
LIT = ("012345", "12", "01346", "01236", "1256", "02356", "023456", "012", "0123456", "012356")


def real_digits() -> NDArray[np.int32] | None:
    """Return scikit-learn's digit images as int32 (rows, 8, 8), or None where it is missing."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return None
    return load_digits().images.astype(np.int32)


def drawn_digits(rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw `rows` images (rows, 8, 8) of digits in turn, each with its own jitter."""
    return np.stack([_drawn_images(row % 10, rng) for row in range(rows)])


def _drawn_images(digit: int, rng: np.random.Generator) -> NDArray[np.int32]:
    strokes = _CORNERS[[int(lit) for lit in LIT[digit]]]
    size = rng.uniform(9.0, 12.0)
    slant = rng.uniform(-0.15, 0.15)
    corner = np.array([_RASTER / 2 - size / 2, _RASTER / 2 - size]) + rng.normal(0.0, 1.0, 2)
    points = strokes * size + corner + rng.normal(0.0, 0.5, strokes.shape)
    points[..., 0] -= slant * (points[..., 1] - _RASTER / 2)
    dark = _distance_to_strokes(points) < rng.uniform(1.5, 2.5)
    blocks = dark.reshape(8, 4, 8, 4).sum(axis=(1, 3))
    return blocks.astype(np.int32)


def _distance_to_strokes(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of every raster point (y, x) to the nearest stroke."""
    y, x = np.mgrid[0:_RASTER, 0:_RASTER] + 0.5
    start, along = points[:, 0], points[:, 1] - points[:, 0]
    away = np.stack([x, y], axis=-1)[:, :, None, :] - start
    part = np.clip((away * along).sum(-1) / (along**2).sum(-1), 0.0, 1.0)
    return np.linalg.norm(away - part[..., None] * along, axis=-1).min(axis=-1)


LARGEST_FILE = 100_000
EXCLUDED = frozenset(
    {"__pycache__", "dist-packages", "distutils", "encodings", "ensurepip", "idlelib", "lib2to3"}
    | {"pydoc_data", "site-packages", "test", "tests", "turtledemo"}
)


@dataclass(frozen=True)
class ModulesSource:
    """Functions and classes of the Python files below a folder."""

    name: str
    folder: Path
    kind: ClassVar[Literal["text"]] = "text"
    axes: ClassVar[None] = None
    vocabulary_size: ClassVar[None] = None

    def files(self) -> list[Path]:
        """Return the files that are read, sorted by their path."""
        found: list[Path] = []
        for parent, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name not in EXCLUDED]
            found += [Path(parent, name) for name in names if name.endswith(".py")]
        return sorted(path for path in found if path.stat().st_size <= LARGEST_FILE)

    @property
    def size(self) -> int:
        """Bytes of all files that are read."""
        return sum(path.stat().st_size for path in self.files())

    def fingerprint(self) -> str:
        """Return the digest of all files and their places."""
        digest = blake2b(b"modules", digest_size=16)
        for path in self.files():
            data = path.read_bytes()
            name = path.relative_to(self.folder).as_posix()
            digest.update(f"|{name}|{len(data)}|".encode() + data)
        return digest.hexdigest()

    def batches(self) -> Iterator[TextBatch]:
        """Give the documents file by file."""
        return nonempty(rebatch_texts(self._pieces()), self.name)

    def _pieces(self) -> Iterator[TextBatch]:
        read = 0
        for path in self.files():
            data = path.read_bytes()
            read += len(data)
            blocks = top_level_blocks(data.decode("utf-8", "replace"))
            group = path.relative_to(self.folder).as_posix()
            yield TextBatch(texts=blocks, groups=[group] * len(blocks), bytes_read=read)


def top_level_blocks(source: str) -> list[str]:
    r"""Return the source of every top-level function and class.

    >>> top_level_blocks("x = 1\n@wraps\ndef f():\n    return x\n")
    ['@wraps\ndef f():\n    return x']
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in strings are not our business
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    # Line numbers of the parser count \n, \r\n and \r, which str.splitlines would exceed.
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    blocks = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            blocks.append("\n".join(lines[first - 1 : node.end_lineno]))
    return blocks
