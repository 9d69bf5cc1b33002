r"""Words and punctuation marks, as Unicode has them: a vocabulary that grows while reading.

A word is a run of letters, digits, underscores and the marks that combine with them (without the
marks, Hindi and Thai words would fall to pieces); every other character that is not white space is
a token of its own. Nothing is lower-cased. Ids are given in order of meeting, hence provisional:
whoever needs ids that do not depend on the order of reading sorts the vocabulary at the end.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import defaultdict
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from gnomon.corpus.surrogates import Errors, without_surrogates
from gnomon.corpus.tokenizing.alphabets import offsets_of
from gnomon.corpus.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gnomon.corpus.documents import Ids, Offsets

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
