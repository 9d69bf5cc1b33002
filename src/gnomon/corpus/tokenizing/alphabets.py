"""Tokenizers that need no model: characters, bytes, and the alphabets of DNA and protein.

Characters and bytes are their own ids. A fixed alphabet is one look-up in a table of 256 codes:
nucleotides A C G T N (U is read as T, the other IUPAC ambiguity letters as N) and the twenty
amino acids, X for any (B, Z, J, U, O are read as X) and `*` for the end of translation; case and
white space do not count. Letters as in IUPAC-IUB 1984 (nucleic acids) and 1983 (amino acids).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gnomon.corpus.surrogates import Errors, without_surrogates
from gnomon.corpus.vocabulary import Vocabulary
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.corpus.documents import Ids, Offsets

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


def offsets_of(lengths: list[int] | NDArray[np.int64] | NDArray[np.bool_]) -> Offsets:
    """Return where each document begins, and where the last one ends.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


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
