"""A corpus -> counts of tokens by position and fold, in bounded memory.

`count` reads text, tables, sequences, grids, events or token ids through a tokenizer and a cache;
`PositionCounts` is what comes out, with folds of documents that belong together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.corpus.cache import clear as clear
    from gnomon.corpus.cache import entries as entries
    from gnomon.corpus.cache import folder as folder
    from gnomon.corpus.cache import limit_bytes as limit_bytes
    from gnomon.corpus.cache import total_bytes as total_bytes
    from gnomon.corpus.counting import Progress as Progress
    from gnomon.corpus.counting import Silence as Silence
    from gnomon.corpus.counting import check_words as check_words
    from gnomon.corpus.counting import count as count
    from gnomon.corpus.counting import count_with as count_with
    from gnomon.corpus.counting import open_corpus as open_corpus
    from gnomon.corpus.counting import tokenizer_for as tokenizer_for
    from gnomon.corpus.counts import PositionCounts as PositionCounts
    from gnomon.corpus.counts import load_counts as load_counts
    from gnomon.corpus.counts import renamed as renamed
    from gnomon.corpus.counts import store_counts as store_counts
    from gnomon.corpus.documents import ROWS as ROWS
    from gnomon.corpus.documents import IdBatch as IdBatch
    from gnomon.corpus.documents import Keys as Keys
    from gnomon.corpus.documents import TextBatch as TextBatch
    from gnomon.corpus.documents import fold_of as fold_of
    from gnomon.corpus.documents import mix as mix
    from gnomon.corpus.documents import text_keys as text_keys
    from gnomon.corpus.grouping import HEADS as HEADS
    from gnomon.corpus.grouping import HELD_TOGETHER as HELD_TOGETHER
    from gnomon.corpus.grouping import IN_PLACE as IN_PLACE
    from gnomon.corpus.grouping import LONGEST as LONGEST
    from gnomon.corpus.grouping import NearCopies as NearCopies
    from gnomon.corpus.grouping import equal_by_chance as equal_by_chance
    from gnomon.corpus.options import DEFAULT_LENGTH as DEFAULT_LENGTH
    from gnomon.corpus.options import CountOptions as CountOptions
    from gnomon.corpus.options import Limits as Limits
    from gnomon.corpus.reading.builtin import BUILTIN as BUILTIN
    from gnomon.corpus.reading.builtin import DIGITS as DIGITS
    from gnomon.corpus.reading.builtin import drawn_digits as drawn_digits
    from gnomon.corpus.reading.builtin import python_stdlib as python_stdlib
    from gnomon.corpus.reading.builtin import real_digits as real_digits
    from gnomon.corpus.reading.builtin import three_regimes as three_regimes
    from gnomon.corpus.reading.resolve import open_source as open_source
    from gnomon.corpus.shuffling import deal_folds as deal_folds
    from gnomon.corpus.shuffling import shuffled_counts as shuffled_counts
    from gnomon.corpus.shuffling import why_not_shuffled as why_not_shuffled
    from gnomon.corpus.tokenizers import open_tokenizer as open_tokenizer
    from gnomon.corpus.tokens import FromCache as FromCache
    from gnomon.corpus.tokens import open_tokens as open_tokens

__getattr__, __dir__ = front(
    __name__,
    {
        "cache": ("clear", "entries", "folder", "limit_bytes", "total_bytes"),
        "counting": (
            "Progress",
            "Silence",
            "check_words",
            "count",
            "count_with",
            "open_corpus",
            "tokenizer_for",
        ),
        "counts": ("PositionCounts", "load_counts", "renamed", "store_counts"),
        "documents": ("IdBatch", "Keys", "ROWS", "TextBatch", "fold_of", "mix", "text_keys"),
        "grouping": (
            "HEADS",
            "HELD_TOGETHER",
            "IN_PLACE",
            "LONGEST",
            "NearCopies",
            "equal_by_chance",
        ),
        "options": ("CountOptions", "DEFAULT_LENGTH", "Limits"),
        "reading.builtin": (
            "BUILTIN",
            "DIGITS",
            "drawn_digits",
            "python_stdlib",
            "real_digits",
            "three_regimes",
        ),
        "reading.resolve": ("open_source",),
        "shuffling": ("deal_folds", "shuffled_counts", "why_not_shuffled"),
        "tokenizers": ("open_tokenizer",),
        "tokens": ("FromCache", "open_tokens"),
    },
)
