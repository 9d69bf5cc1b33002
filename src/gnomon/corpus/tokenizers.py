r"""From texts to token ids: what every tokenizer does, and how one is opened by name or by file.

*Words*, as Unicode has them: a vocabulary that grows while reading. A word is a run of letters,
digits, underscores and the marks that combine with them (without the marks, Hindi and Thai words
would fall to pieces); every other character that is not white space is a token of its own. Nothing
is lower-cased. Ids are given in order of meeting, hence provisional: whoever needs ids that do not
depend on the order of reading sorts the vocabulary at the end.

*Alphabets* need no model. Characters and bytes are their own ids. A fixed alphabet is one look-up
in a table of 256 codes: nucleotides A C G T N (U is read as T, the other IUPAC ambiguity letters as
N) and the twenty amino acids, X for any (B, Z, J, U, O are read as X) and `*` for the end of
translation; case and white space do not count. Letters as in IUPAC-IUB 1984 (nucleic acids) and
1983 (amino acids).

*Pieces* come from any `tokenizer.json` of the library `tokenizers`. Only content is counted.
Truncation and padding written in the file are switched off, the template that adds special tokens
is not applied, and special tokens that stand literally in a text are left out; the model's unknown
token stays, because it stands for something that was there.

A Python string may hold a lone surrogate (JSON's `"\ud800"` makes one), but no UTF can encode it.
It is refused with its place, or becomes U+FFFD with `--errors replace`.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from gnomon.corpus.counts import Vocabulary
from gnomon.corpus.documents import offsets_of
from gnomon.corpus.options import Limits
from gnomon.errors import CorpusError, TokenizerError, nearest
from gnomon.reading import UnreadableError, check_no_device, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from gnomon.corpus.documents import Ids, Offsets


class Tokenizer(Protocol):
    """Turns texts into ids of one vocabulary."""

    @property
    def name(self) -> str:
        """What the user wrote; for a file, its last part."""

    @property
    def digest(self) -> str:
        """A string that changes whenever something changes that decides ids."""

    @property
    def grows(self) -> bool:
        """Whether ids are provisional while reading (words), to be sorted at the end."""

    def encode(self, texts: list[str], first: int = 0) -> tuple[Ids, Offsets]:
        """Return the ids of all texts in one array, and where each text begins and ends in it.

        `first` is the number of documents before these, so that a message names the right one.
        """

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary; of a growing one, what was met so far in order of meeting."""


def open_tokenizer(
    name_or_path: str | os.PathLike[str],
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen, so sharing one default is harmless
    errors: Errors = "strict",
) -> Tokenizer:
    """Open a built-in tokenizer by name, or a `tokenizer.json` by its path or its folder's.

    >>> open_tokenizer("dna").encode(["ACgu", "N"])[0].tolist()
    [0, 1, 2, 3, 4]
    """
    if isinstance(name_or_path, str) and name_or_path in BUILT_IN:
        return BUILT_IN[name_or_path](errors)
    path = Path(name_or_path)
    if path.is_dir():
        path = path / FILE_NAME
        if not path.is_file():
            raise TokenizerError(f"the folder {path.parent} holds no {FILE_NAME}; pass its path.")
    if not path.exists():
        raise _absent(name_or_path)
    return Pieces(path, limits=limits, errors=errors)


def _absent(name_or_path: str | os.PathLike[str]) -> TokenizerError:
    written = os.fspath(name_or_path)
    if not isinstance(name_or_path, str) or written != Path(written).name or Path(written).suffix:
        return TokenizerError(
            f"there is no tokenizer file {written}; check the path, or choose one of "
            f"{', '.join(sorted(BUILT_IN))}."
        )
    return TokenizerError(
        f"there is no tokenizer {written!r} ({nearest(written, BUILT_IN)}); "
        "choose one of these, or pass the path of a tokenizer.json."
    )


# The same as the other on ASCII, faster; ASCII's own idea of white space lacks four separators.
_ASCII = re.compile(r"\w+|[^\w\s\x1c-\x1f]", re.ASCII)
_JOINERS = "\u200c\u200d"
# All combining marks lie in these ranges: planes 0 and 1, and the variation selectors of plane 14.
_PLACES = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))


class Words:
    """Splits at white space and around punctuation, and remembers every word it met."""

    name = "words"
    grows = True

    def __init__(self, errors: Errors = "strict") -> None:
        self.errors: Errors = errors
        self.digest = f"words-1-unicode-{unicodedata.unidata_version}-{errors}"
        self._lock = threading.Lock()
        # A missing word gets the number of words met before it.
        self._ids: defaultdict[str, int] = defaultdict()
        self._ids.default_factory = self._ids.__len__

    def encode(self, texts: list[str], first: int = 0) -> tuple[Ids, Offsets]:
        """Return provisional ids, in order of meeting."""
        if not _encodable(texts):
            texts = without_surrogates(texts, self.errors, first)
        found = [_split(text) for text in texts]
        offsets = offsets_of([len(words) for words in found])
        with self._lock:  # counting and storing a new word must not be torn apart
            ids = map(self._ids.__getitem__, chain.from_iterable(found))
            values = np.fromiter(ids, dtype=np.int32, count=int(offsets[-1]))
        return values, offsets

    def vocabulary(self) -> Vocabulary:
        """Return what was met so far, in order of meeting."""
        with self._lock:
            return Vocabulary.of(tuple(self._ids), grows=True)


def _encodable(texts: list[str]) -> bool:
    try:
        for text in texts:
            if not text.isascii():
                text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _split(text: str) -> list[str]:
    return (_ASCII if text.isascii() else _unicode()).findall(text)


@lru_cache(maxsize=1)
def _unicode() -> re.Pattern[str]:
    marks = (chr(c) for places in _PLACES for c in places if unicodedata.category(chr(c))[0] == "M")
    joined = _JOINERS + "".join(marks)
    # No mark lies below U+0300: saying so first spares most words the search in a long list.
    return re.compile(rf"\w+(?:(?![\x00-\u02ff])[{joined}]+\w*)*|[^\w\s]")


_UNICODE_SIZE = 0x110000
_BAD = 255
_BLANK = 254
_MANY = 0.05
"""A greater share of unknown letters is not bad luck but another kind of text."""


class LetterError(CorpusError):
    """A letter that an alphabet does not have: what was found, and what to do."""

    def __init__(self, found: str, advice: str) -> None:
        self.found = found
        super().__init__(f"{found}; {advice}.")


@dataclass
class Tally:
    """How many letters were encoded, and how many of them as the unknown one."""

    letters: int = 0
    replaced: int = 0

    def clear(self) -> None:
        """Begin anew."""
        self.letters = self.replaced = 0


@dataclass(frozen=True)
class Characters:
    """Every Unicode character is a token; its id is its code point."""

    errors: Errors = "strict"
    name: str = "characters"
    grows: bool = False

    @property
    def digest(self) -> str:
        """What decides the ids."""
        return f"characters-1-{self.errors}"

    def encode(self, texts: list[str], first: int = 0) -> tuple[Ids, Offsets]:
        """Return code points, through UTF-32."""
        try:
            encoded = "".join(texts).encode("utf-32-le")
        except UnicodeEncodeError:
            return self.encode(without_surrogates(texts, self.errors, first))
        return np.frombuffer(encoded, dtype="<i4"), offsets_of([len(t) for t in texts])

    def vocabulary(self) -> Vocabulary:
        """All code points; their names are not listed."""
        return Vocabulary(size=_UNICODE_SIZE, digest="characters")


@dataclass(frozen=True)
class Bytes:
    """Every byte of the UTF-8 text is a token."""

    errors: Errors = "strict"
    name: str = "bytes"
    grows: bool = False

    @property
    def digest(self) -> str:
        """What decides the ids."""
        return f"bytes-1-{self.errors}"

    def encode(self, texts: list[str], first: int = 0) -> tuple[Ids, Offsets]:
        """Return the bytes of the texts."""
        try:
            encoded = [text.encode("utf-8") for text in texts]
        except UnicodeEncodeError:
            return self.encode(without_surrogates(texts, self.errors, first))
        values = np.frombuffer(b"".join(encoded), dtype=np.uint8).astype(np.int32)
        return values, offsets_of([len(e) for e in encoded])

    def vocabulary(self) -> Vocabulary:
        """The 256 bytes, by their hexadecimal names."""
        return Vocabulary.of(tuple(f"{byte:02x}" for byte in range(256)))


@dataclass(frozen=True)
class Alphabet:
    """A fixed alphabet: `symbols`, and letters that are read as one of them.

    `tally` counts what was encoded, so that letters replaced under `errors="replace"` are known.
    """

    name: str
    symbols: str
    read_as: dict[str, str]
    unknown: str
    errors: Errors = "strict"
    grows: bool = False
    table: NDArray[np.uint8] = field(init=False, repr=False, compare=False)
    tally: Tally = field(init=False, repr=False, compare=False, default_factory=Tally)

    def __post_init__(self) -> None:
        """Write the look-up table of 256 codes."""
        table = np.full(256, _BAD, dtype=np.uint8)
        letters = {s: s for s in self.symbols} | self.read_as
        for letter, symbol in letters.items():
            for case in (letter.upper(), letter.lower()):
                table[ord(case)] = self.symbols.index(symbol)
        for blank in " \t\n\r\v\f\xa0":
            table[ord(blank)] = _BLANK
        object.__setattr__(self, "table", table)

    @property
    def digest(self) -> str:
        """What decides the ids."""
        return f"{self.name}-2-{self.errors}"

    def encode(self, texts: list[str], first: int = 0) -> tuple[Ids, Offsets]:
        """Return symbols by their place in the alphabet; white space is left out."""
        codes = self._codes("".join(texts))
        offsets = offsets_of([len(t) for t in texts])
        bad = codes == _BAD
        if bad.any():
            if self.errors == "strict":
                raise self._refusal(texts, offsets, int(bad.argmax()), first)
            codes[bad] = self.symbols.index(self.unknown)
            self.tally.replaced += int(np.count_nonzero(bad))
        kept = codes != _BLANK
        if not kept.all():
            offsets = offsets_of(kept)[offsets]
            codes = codes[kept]
        self.tally.letters += len(codes)
        return codes.astype(np.int32), offsets

    def vocabulary(self) -> Vocabulary:
        """The symbols."""
        return Vocabulary.of(tuple(self.symbols))

    def letters(self, text: str) -> int | None:
        """Return how many letters a text has beside white space; None where one is unknown."""
        codes = self._codes(text)
        return None if (codes == _BAD).any() else int(np.count_nonzero(codes != _BLANK))

    def notes(self) -> tuple[str, ...]:
        """Say how many letters were replaced since the tally was cleared, if any were."""
        letters, replaced = self.tally.letters, self.tally.replaced
        if not replaced:
            return ()
        share = replaced / letters
        shown = f"{100 * share:.1f} %" if share >= 0.001 else "under 0.1 %"
        note = (
            f"{replaced:,} of {letters:,} letters ({shown}) are not in the alphabet {self.name!r} "
            f"and were replaced by {self.unknown}"
        )
        doubt = ", so this is probably the wrong --tokenizer, --format or --column"
        return (f"{note}{doubt if share > _MANY else ''}",)

    def _codes(self, text: str) -> NDArray[np.uint8]:
        # latin-1 gives one byte a character; what it lacks becomes "?", in no alphabet of ours
        return self.table[np.frombuffer(text.encode("latin-1", "replace"), dtype=np.uint8)]

    def _refusal(self, texts: list[str], offsets: Offsets, at: int, first: int) -> LetterError:
        row = int(np.searchsorted(offsets, at, side="right")) - 1
        column = at - int(offsets[row])
        return LetterError(
            f"document {first + row + 1} holds {texts[row][column]!r} as its character "
            f"{column + 1}, which is not in the alphabet {self.name!r} ({self.symbols})",
            f"choose another --tokenizer, or pass --errors replace to read it as {self.unknown}",
        )


def dna(errors: Errors = "strict") -> Alphabet:
    """Return the nucleotides."""
    read_as = {"U": "T"} | dict.fromkeys("RYSWKMBDHV", "N")
    return Alphabet("dna", "ACGTN", read_as, "N", errors)


def protein(errors: Errors = "strict") -> Alphabet:
    """Return the amino acids."""
    return Alphabet("protein", "ACDEFGHIKLMNPQRSTVWYX*", dict.fromkeys("BZJUO", "X"), "X", errors)


_PARALLEL = "TOKENIZERS_PARALLELISM"
FILE_NAME = "tokenizer.json"
_MOST_IDS = 2**24


class Pieces:
    """A tokenizer read from a file."""

    grows = False

    def __init__(self, path: Path, *, limits: Limits, errors: Errors = "strict") -> None:
        stored = _read(path, limits)
        self.name = path.name
        self.errors: Errors = errors
        self._path = path
        self._stored = stored
        self._model = _parse(stored, path)
        self.digest = _digest(stored, errors)
        self._encode_batch = getattr(self._model, "encode_batch_fast", self._model.encode_batch)

    def encode(self, texts: list[str], first: int = 0) -> tuple[Ids, Offsets]:
        """Return the ids of the texts' own pieces."""
        try:
            encoded = self._run(texts)
        except TypeError:  # how the library refuses a lone surrogate
            encoded = self._run(without_surrogates(texts, self.errors, first))
        return self._flatten([encoding.ids for encoding in encoded])

    def vocabulary(self) -> Vocabulary:
        """Return the tokens by id; ids that no token has are called by their number."""
        return self._vocabulary

    # What follows is made when it is first needed: where the token cache has the ids, never.

    @cached_property
    def _ids(self) -> dict[str, int]:
        return _check_ids(self._model.get_vocab(with_added_tokens=True), self._path)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        names = [f"[id {i}]" for i in range(_size(self._ids))]
        for token, i in self._ids.items():
            names[i] = token
        return Vocabulary.of(tuple(names))

    @cached_property
    def _left_out(self) -> NDArray[np.bool_]:
        try:
            described = parse_json(self._stored)
            return _left_out(self._model, described, _size(self._ids))
        except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
            raise TokenizerError(
                f"{self._path} is a tokenizer file that cannot be used ({_first_line(error)}); "
                "save it again with the library tokenizers."
            ) from None

    def _run(self, texts: list[str]) -> Any:
        try:
            return self._encode_batch(texts, add_special_tokens=False)
        except (TypeError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a Rust panic is no Exception
            raise TokenizerError(
                f"the tokenizer {self._path} failed on a text ({_first_line(error)}); "
                "choose another --tokenizer."
            ) from None

    def _flatten(self, rows: list[list[int]]) -> tuple[Ids, Offsets]:
        offsets = offsets_of([len(row) for row in rows])
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(offsets[-1]))
        special = self._left_out.take(flat)
        if special.any():
            return flat[~special], offsets_of(~special)[offsets]
        return flat, offsets


def _read(path: Path, limits: Limits) -> bytes:
    try:
        check_no_device(path)
        with path.open("rb") as handle:
            stored = handle.read(limits.tokenizer_bytes + 1)
    except (OSError, UnreadableError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TokenizerError(
            f"the tokenizer {path} cannot be read ({reason}); check the path."
        ) from None
    if len(stored) > limits.tokenizer_bytes:
        raise TokenizerError(
            f"the tokenizer {path} is larger than {limits.tokenizer_bytes:,} bytes; "
            "raise --limit-tokenizer if you trust it."
        )
    return stored


def _parse(stored: bytes, path: Path) -> Any:
    _be_parallel()
    from tokenizers import Tokenizer

    try:
        model = Tokenizer.from_buffer(stored)
        model.no_truncation()
        model.no_padding()
        if getattr(model.model, "dropout", None) is not None:
            model.model.dropout = None  # merges dropped at random are for training
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a Rust panic is no Exception
        raise TokenizerError(
            f"{path} is not a tokenizer file ({_first_line(error)}); pass a tokenizer.json, or one "
            "of words, characters, bytes, dna, protein."
        ) from None
    return model


def _be_parallel() -> None:
    """Use all cores, and keep the library from warning about it when the process forks.

    After a fork the library's threads are gone, so a child must do without them.
    """
    if _PARALLEL in os.environ:
        return
    os.environ[_PARALLEL] = "true"
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: os.environ.__setitem__(_PARALLEL, "false"))


def _digest(stored: bytes, errors: Errors) -> str:
    import tokenizers

    seed = f"pieces-1 {tokenizers.__version__} {errors} ".encode()
    return blake2b(seed + stored, digest_size=16).hexdigest()


def _size(ids: dict[str, int]) -> int:
    """Return the largest id + 1, which may exceed the number of tokens."""
    return max(ids.values(), default=-1) + 1


def _check_ids(ids: dict[str, int], path: Path) -> dict[str, int]:
    """Refuse ids so large that a table of them would fill the memory."""
    if _size(ids) > _MOST_IDS:
        raise TokenizerError(
            f"the tokenizer {path} has a token with id {_size(ids) - 1:,}; a vocabulary may have "
            f"{_MOST_IDS:,} ids, so choose another --tokenizer."
        )
    return ids


def _left_out(model: Any, description: dict[str, Any], size: int) -> NDArray[np.bool_]:
    """Return, for every id, whether it is special (or padding) and not the unknown token."""
    special = [i for i, token in model.get_added_tokens_decoder().items() if token.special]
    table = np.zeros(size, dtype=np.bool_)
    table[special] = True
    table[list(_padding_ids(model, description))] = True
    table[list(_unknown_ids(model, description["model"]))] = False
    return table


def _padding_ids(model: Any, description: dict[str, Any]) -> Iterable[int]:
    name = (description.get("padding") or {}).get("pad_token")
    found = None if name is None else model.token_to_id(name)
    return () if found is None else (found,)


def _unknown_ids(model: Any, description: dict[str, Any]) -> Iterable[int]:
    name = description.get("unk_token")
    named = None if name is None else model.token_to_id(name)
    return (i for i in (named, description.get("unk_id")) if i is not None)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


Errors = Literal["strict", "replace"]

_LONE = re.compile("[\ud800-\udfff]")


def without_surrogates(texts: list[str], errors: Errors, first: int = 0) -> list[str]:
    r"""Return the texts, with lone surrogates replaced by U+FFFD where that was asked for.

    `first` is the number of documents read before these; it makes the message name the document.

    >>> without_surrogates(["a\ud800b"], "replace") == ["a\ufffdb"]
    True
    """
    if errors == "replace":
        return [_LONE.sub("\ufffd", text) for text in texts]
    for row, text in enumerate(texts):
        found = _LONE.search(text)
        if found:
            raise CorpusError(
                f"document {first + row + 1} holds half a surrogate pair "
                f"(U+{ord(found.group()):04X}) as its character {found.start() + 1}, which is no "
                "text; correct it, or pass --errors replace."
            )
    return texts


BUILT_IN: dict[str, Callable[[Errors], Tokenizer]] = {
    "words": Words,
    "characters": Characters,
    "bytes": Bytes,
    "dna": dna,
    "protein": protein,
}
