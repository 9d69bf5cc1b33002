"""Tables of position vectors: given, learned, random, or read from a file from anywhere.

*table*: p_i = row first_row + i, i = 0 ... rows - 1, such as a model has learned. In many models
the first rows are of no token's position: BERT's row 0 is that of [CLS], RoBERTa and OPT begin at
row 2. `first_row` says how many are left out, and `rows` counts those that remain.

*learned*: p_i = row i of a table that is trained with the model. It starts from N(0, sigma^2), BERT
from sigma = 0.02 [devlin2019 app. A]; the start is that of the encoding `random` with the same
seed, so it is the same on every machine and in every library.

*random*: independent normal coordinates, p_i[k] ~ N(0, sigma^2), as learned tables start from. Row
i is the same whatever other rows are asked for: coordinate k of position i is the k-th draw of a
stream that starts at a hash of (seed, i) (`gnomon.encodings.starting`). In high dimension all
distances tend to sigma sqrt(2 d), the regular simplex. Raw stress of a random table is a statement
about sigma, so sigma stands in its parameters: BERT starts from 0.02 [devlin2019], the published
comparison from 1 [cirrincione2026].

A table ends: positions past its end are refused.

Files are `.npy`, a member of `.npz`, or a tensor of `.safetensors`, and nothing is ever loaded by
pickle, so that a file can hold numbers and nothing else. `.npy` is mapped, so a header that
promises more than the file holds is caught before memory is taken. `.safetensors` is read through
its own header: eight bytes of length, a JSON object, data. bfloat16, which NumPy lacks, is the
upper half of a float32.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import ORACLE, Card, Row, catalogued, in_words, proofs_of
from gnomon.encodings.starting import GOLDEN, mix, normal_rows
from gnomon.errors import EncodingError, nearest
from gnomon.files import PICKLED, say_converting
from gnomon.numeric import checks
from gnomon.numeric import uint64 as words
from gnomon.numeric.arrays import or_nan, row_numbers, seen_whole, take, whole_parts
from gnomon.reading import ArchiveError, UnreadableError, load_array, open_archive

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gnomon.numeric.arrays import Array, Coordinates, Namespace


@dataclass(frozen=True, kw_only=True, eq=False)
class Table(Encoding):
    """The rows of `values`, found in `source` from its row `first_row` on.

    >>> Table(values=np.eye(2)).vectors([1])
    array([[0., 1.]])
    """

    kinds: ClassVar[tuple[str, ...]] = ("vectors",)
    on_grids: ClassVar[bool] = False
    whole_only: ClassVar[bool] = True
    SUFFIXES: ClassVar[tuple[str, ...]] = (".npy", ".npz", ".safetensors")
    """How the names of files end that are read."""
    values: NDArray[np.float64] = field(repr=False)
    source: str = "array"
    first_row: int = 0
    """Which row of the source is that of position 0."""

    @staticmethod
    def is_named(name: str) -> bool:
        """Say whether a name is that of a file of numbers, with or without a member.

        >>> Table.is_named("model.safetensors:embed.weight"), Table.is_named("rope")
        (True, False)
        """
        suffix = _split(name, None)[0].suffix
        return (
            suffix in Table.SUFFIXES or suffix.lower() in PICKLED
        )  # the latter to be refused in words

    def __post_init__(self) -> None:
        checked = _check_table(self.values, self.source)
        checked.flags.writeable = False
        object.__setattr__(self, "values", checked)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return where the table came from and its shape."""
        rows, dimension = self.values.shape
        found = {"source": self.source, "rows": rows, "dimension": dimension}
        return found | {"first_row": self.first_row}

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a row."""
        return int(self.values.shape[1])

    @property
    def query_width(self) -> int:
        """Return the number of coordinates of a row."""
        return self.dimension

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Return how many positions there are."""
        return (len(self.values),)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the rows."""
        return {"values": self.values}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the rows."""
        return ("values",)

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the rows at whole positions, shape (..., dimension)."""
        return _table_rows(coordinates, numbers["values"], what=f"the table {self.source}", xp=xp)


def _table_rows(coordinates: Coordinates, values: Array, *, what: str, xp: Namespace) -> Array:
    """Return the rows of a table at coordinates (..., 1); a position outside is refused, or NaN."""
    last = values.shape[0] - 1
    whole = seen_whole(coordinates, what=what)
    rows, there = row_numbers(coordinates, (last + 1,), xp=xp)
    if whole is None:
        return or_nan(take(values, rows, xp=xp), there, xp=xp)
    outside = (whole < 0) | (whole > last)
    if outside.any():
        raise EncodingError(
            f"Position {whole[outside].flat[0]} is not in {what}, which has rows 0 to {last}; ask "
            "for positions within it."
        )
    return take(values, rows, xp=xp)


def _check_table(values: Any, source: str) -> NDArray[np.float64]:
    """Return a copy in float64, or say why the array is no table of position vectors."""
    array = checks.array(source, values)
    if array.ndim != 2 or 0 in array.shape:
        raise EncodingError(
            f"{source} has shape {array.shape}; a table of positions has two axes, "
            "(positions, dimension), and at least one row."
        )
    if array.dtype.kind not in "iuf":
        raise EncodingError(f"{source} holds {array.dtype}; pass a table of real numbers.")
    table = array.astype(np.float64)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise EncodingError(
            f"{source} holds {table[row, column]} at row {row}, column {column}; "
            "pass a table of finite numbers."
        )
    return table


@catalogued(
    Card(
        name="learned",
        family="additive",
        kind=("vectors",),
        formula="p_i = row i of a learned table, which starts from N(0, sigma^2)",
        source="devlin2019",
        level=in_words("L6"),
        relative=False,
        learnable=True,
        extrapolation="none: positions past the table are refused",
        proofs=proofs_of(
            ORACLE,
            (
                "torch.nn.Embedding",
                "agreement/test_additive_peers.py",
                "test_learned_rows_and_their_gradients_equal_those_of_an_embedding_of_torch",
            ),
        ),
    ),
    examples=({"rows": 64, "dimension": 8, "seed": 1},),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Learned(Encoding):
    """A table of `rows` vectors; `values` are what was learned, if anything was.

    >>> Learned(rows=2, dimension=2, values=np.eye(2)).vectors([1])
    array([[0., 1.]])
    """

    kinds: ClassVar[tuple[str, ...]] = ("vectors",)
    on_grids: ClassVar[bool] = False
    whole_only: ClassVar[bool] = True
    rows: int
    dimension: int
    sigma: float = 0.02
    seed: int = 0
    values: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("learned", self.axes)
        checks.whole("rows", self.rows, least=1)
        checks.whole("dimension", self.dimension, least=1)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)
        if self.values is not None:
            object.__setattr__(
                self, "values", given_table(self.values, (self.rows, self.dimension))
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Return how many positions there are."""
        return (self.rows,)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Return how many positions there are."""
        return (self.rows,)

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """Return the rows: those that were learned, or those that training starts from."""
        if self.values is not None:
            return np.asarray(self.values)
        positions = np.arange(self.rows)[:, None]
        rows = self.sigma * normal_rows(positions, self.dimension, int(self.seed) % 2**64)
        rows.flags.writeable = False  # it is kept, and is the definition
        return rows

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the rows."""
        return {"values": self.table}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the rows."""
        return ("values",)

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the rows at whole positions, shape (..., dimension)."""
        return _table_rows(coordinates, numbers["values"], what="the learned table", xp=xp)


def given_table(values: Any, shape: tuple[int, ...], name: str = "values") -> NDArray[np.float64]:
    """Return learned numbers, read-only, or say why they do not fit."""
    table = _check_table(values, name)
    if table.shape != shape:
        raise EncodingError(
            f"{name} has shape {table.shape} and this encoding has {shape}; pass numbers of that "
            "shape."
        )
    table.flags.writeable = False
    return table


@catalogued(
    Card(
        name="random",
        family="additive",
        kind=("vectors",),
        formula="p_i[k] ~ N(0, sigma^2), a function of (seed, i, k) alone",
        source="devlin2019",
        level=in_words("L6"),
        relative=False,
        proofs=proofs_of(
            ORACLE,
            (
                "the normal law (Kolmogorov-Smirnov)",
                "encodings/test_encoding_random.py",
                "test_coordinates_are_normal_with_the_stated_sigma",
            ),
        ),
    ),
    examples=({"dimension": 8},),
    surveyed=(  # unit normals, and as BERT starts its own table
        Row(parameters={"sigma": 1.0}, label="random, sigma 1", pairs=False, known=False),
        Row(parameters={"sigma": 0.02}, label="random, sigma 0.02", pairs=False, known=False),
    ),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Random(Encoding):
    """Normal vectors of `dimension` coordinates with standard deviation `sigma`."""

    kinds: ClassVar[tuple[str, ...]] = ("vectors",)
    whole_only: ClassVar[bool] = True
    dimension: int
    sigma: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        checks.whole("axes", self.axes, least=1)
        checks.whole("dimension", self.dimension, least=1)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return where the stream of the seed starts and its steps, in 16-bit digits (4, ...)."""
        steps = np.arange(1, 2 * ((self.dimension + 1) // 2) + 1, dtype=np.uint64) * GOLDEN
        start = mix(np.full(1, self.seed % 2**64, dtype=np.uint64) + GOLDEN)
        digits: dict[str, Any] = {"start": words.digits_of(start), "steps": words.digits_of(steps)}
        return digits

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return one vector per whole position, shape (..., dimension)."""
        whole = seen_whole(coordinates, what="a random table")
        if xp is np and whole is not None:  # NumPy has 64-bit words of its own
            return self.sigma * normal_rows(whole, self.dimension, int(self.seed) % 2**64)
        places, fits = whole_parts(coordinates, xp=xp)
        made = self.sigma * _drawn_rows(places, numbers, xp=xp)[..., : self.dimension]
        return made if whole is not None else or_nan(made, xp.all(fits, axis=-1), xp=xp)


def _drawn_rows(whole: Array, numbers: Numbers, *, xp: Namespace) -> Array:
    """Return what `normal_rows` returns, in a library without 64-bit words."""
    narrow = whole.dtype == xp.int32
    word = words.as_word(numbers["start"][:, 0], xp=xp)
    golden = words.as_word(numbers["steps"][:, 0], xp=xp)
    for axis in range(whole.shape[-1]):
        here = words.word_of_whole(whole[..., axis], xp=xp)
        word = words.mixed(words.add(words.xor(word, here), golden))
    steps = words.as_word(numbers["steps"], xp=xp)
    word = words.mixed(words.add([digit[..., None] for digit in word], steps))
    dtype = xp.float32 if narrow else xp.float64
    uniform, rest = words.unit_interval(word, xp=xp, dtype=dtype)
    pairs = uniform.shape[-1] // 2
    near_one = xp.log1p(-rest[..., :pairs])  # the logarithm of u, without 1 - u being lost
    logarithm = xp.where(uniform[..., :pairs] > 0.5, near_one, xp.log(uniform[..., :pairs]))
    radius, angle = xp.sqrt(-2.0 * logarithm), (2.0 * np.pi) * uniform[..., pairs:]
    return xp.concat([radius * xp.cos(angle), radius * xp.sin(angle)], axis=-1)


_PLAIN = {"F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"}


@catalogued(
    Card(
        name="table",
        family="additive",
        kind=("vectors",),
        formula="p_i = row i of a table",
        source="devlin2019",
        level=in_words("L6"),
        relative=False,
        learnable=True,
        proofs=proofs_of(
            (
                "the rows of the file",
                "encodings/test_encoding_table.py",
                "test_every_format_gives_the_same_rows",
            ),
        ),
    ),
    makes=Table,
)
def open_table(
    path: str | os.PathLike[str] | Any, *, member: str | None = None, first_row: int = 0
) -> Encoding:
    """Return the table in a file, or of an array; `member` names one of several tensors.

    A file is also found as `FILE:MEMBER`. Position 0 has the row `first_row`; rows before it are
    left out. The file of an encoding, which knows what its numbers are for, is read as that.
    """
    checks.whole("first_row", first_row, least=0)
    if not isinstance(path, (str, os.PathLike)):
        return _begin_at(path, "array", first_row)
    file, member = _split(os.fspath(path), member)
    if not file.is_file():
        what = f"{file} is no regular file" if file.exists() else f"There is no file {file}"
        raise EncodingError(f"{what}; check the path of the table.")
    readers = {".npy": _from_npy, ".npz": _from_npz, ".safetensors": _from_safetensors}
    reader = readers.get(file.suffix)
    if reader is None and file.suffix.lower() in PICKLED:
        raise EncodingError(
            f"{file} holds its numbers as a pickle, which can run code and is not opened; "
            f"{say_converting(file)}, and pass that."
        )
    if reader is None:
        raise EncodingError(
            f"{file} is no table that can be read; pass one of: {', '.join(Table.SUFFIXES)}."
        )
    if file.suffix == ".safetensors" and member is None:
        from gnomon.encodings.files import open_encoding

        stored = open_encoding(file)
        if stored is not None:
            if first_row:
                raise EncodingError(
                    f"{file} holds the encoding {stored.name!r}, which knows the rows of its "
                    f"positions; leave first_row {first_row} out."
                )
            return stored
    values, name = reader(file, member)
    source = file.name if name is None else f"{file.name}:{name}"
    return _begin_at(values, source, first_row)


def _begin_at(values: Any, source: str, first_row: int) -> Table:
    """Return the table whose position 0 is a given row of the values."""
    if not first_row:
        return Table(values=values, source=source)
    whole = _check_table(values, source)
    if first_row >= len(whole):
        raise EncodingError(
            f"first_row is {first_row}, and {source} has rows 0 to {len(whole) - 1}; choose one of "
            "them."
        )
    return Table(values=whole[first_row:], source=source, first_row=first_row)


def _split(path: str, member: str | None) -> tuple[Path, str | None]:
    head, colon, tail = path.rpartition(":")
    if member is None and colon and head.endswith((*Table.SUFFIXES, *PICKLED)):
        return Path(head), tail
    return Path(path), member


def _from_npy(file: Path, member: str | None) -> tuple[Any, str | None]:
    if member is not None:
        raise EncodingError(f"{file} holds one array without a name; leave out {member!r}.")
    try:
        return load_array(file, mapped=True), None
    except ArchiveError as error:
        raise EncodingError(
            f"{file} is an archive of arrays, not one; name it {file.stem}.npz."
        ) from error
    except (OSError, UnreadableError) as error:
        raise _unreadable(file, ".npy", error) from error


def _from_npz(file: Path, member: str | None) -> tuple[Any, str]:
    try:
        with open_archive(file) as archive:
            name = _chosen(file, member, archive)
            return archive[name], name
    except (OSError, UnreadableError) as error:
        raise _unreadable(file, ".npz", error) from error


def _from_safetensors(file: Path, member: str | None) -> tuple[Any, str]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(file), framework="np") as tensors:
            name = _chosen(file, member, tensors.keys())
            dtype = tensors.get_slice(name).get_dtype()
            if dtype == "BF16":
                return _bfloat16(file, name), name
            _check_dtype(file, name, dtype)
            return tensors.get_tensor(name), name
    except EncodingError:
        raise
    except (OSError, SafetensorError, TypeError, ValueError, AttributeError, KeyError) as error:
        raise _unreadable(file, ".safetensors", error) from error


def _check_dtype(file: Path, name: str, dtype: str) -> None:
    """Refuse eight-bit floats and their like, for which NumPy has no type."""
    if dtype not in _PLAIN:
        raise EncodingError(
            f"{file} holds {name!r} as {dtype}, which NumPy has no type for; convert it to F32, "
            "F16 or BF16 and save it again."
        )


def _bfloat16(file: Path, name: str) -> Any:
    """Read one tensor by the header, which the library has checked before."""
    import json

    with file.open("rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
        entry = json.loads(handle.read(length))[name]
        begin, end = entry["data_offsets"]
        handle.seek(8 + length + begin)
        halves = np.frombuffer(handle.read(end - begin), dtype="<u2")
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(entry["shape"])


def _chosen(file: Path, member: str | None, names: Iterable[str]) -> str:
    known = list(names)
    if member is None and len(known) == 1:
        return known[0]
    if member is None:
        raise EncodingError(
            f"{file} holds {len(known)} arrays; name one as {file.name}:NAME. "
            f"Known: {', '.join(sorted(known)[:20])}."
        )
    if member not in known:
        raise EncodingError(f"{file} holds no array {member!r}: {nearest(member, known)}.")
    return member


def _unreadable(file: Path, suffix: str, error: Exception) -> EncodingError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return EncodingError(
        f"{file} cannot be read as {suffix} ({reason[:120]}); pass a whole file of plain numbers."
    )
