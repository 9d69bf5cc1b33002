"""Documents of one word each: what that mostly means, and what to do instead.

Sequences of letters (DNA, protein) have no spaces, so the tokenizer of words sees one position
and nothing to compare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.corpus.tokenizing.alphabets import dna, protein
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from gnomon.corpus.counts import PositionCounts

_SAMPLE = 1000
_LONG = 10
"""Letters in a word that is more likely a sequence than a word."""


def check_words(counts: PositionCounts) -> None:
    """Refuse counts of words where every document was a single one."""
    if counts.tokenizer != "words" or counts.axes != (1,) or counts.rows < 2:
        return
    raise CorpusError(
        f"each of the {counts.rows:,} documents of {counts.source} is at most one word, so there "
        f"is one position and no distance; {_advice(counts.vocabulary.tokens or ())}."
    )


def _advice(words: tuple[str, ...]) -> str:
    sample = words[:_SAMPLE]
    if sample and sum(map(len, sample)) >= _LONG * len(sample):
        for alphabet in (dna(), protein()):
            if all(alphabet.letters(word) is not None for word in sample):
                return (
                    f"if this is {_called(alphabet.name)}, as it looks, pass --tokenizer "
                    f"{alphabet.name} (or characters)"
                )
    return (
        "pass --tokenizer characters to read letters, or say what a document is (--unit, "
        "--column, --format)"
    )


def _called(name: str) -> str:
    return "DNA" if name == "dna" else name
