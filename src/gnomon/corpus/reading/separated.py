"""Plain text that is a table: what its lines look like, and which column would fit.

Lines are taken for a table where all of them hold the same number of one separator. That decides
nothing: it only words the advice after a document could not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

_SEPARATORS = {"csv": (",", "commas"), "tsv": ("\t", "tabs")}
_SAMPLE = 50


def table_advice(texts: Sequence[str], letters: Callable[[str], int | None]) -> str | None:
    """Return how to read the lines as a table whose column `letters` knows; None if they are none.

    `letters` gives the number of letters of a value, None where one of them is unknown. The
    column with most letters is named; the first line may differ, since it may be a header.

    >>> table_advice(["EI, a-1, ACGT", "IE, b-2, GGTT"], lambda v: None if "-" in v else len(v))
    'its lines look like 3 columns separated by commas, so pass --format csv --column 2'
    """
    lines = [text for text in texts if text and not text.isspace()][:_SAMPLE]
    for name, (separator, words) in _SEPARATORS.items():
        rows = [line.split(separator) for line in lines]
        widths = {len(row) for row in rows}
        if len(widths) != 1 or widths == {1} or not rows:
            continue
        columns = list(zip(*rows, strict=True))
        known = [_letters(column[1:] or column, letters) for column in columns]
        best = known.index(max(known))
        if known[best]:
            header = letters(rows[0][best]) is None
            column = f'"{rows[0][best]}"' if header else str(best)
            return (
                f"its lines look like {len(columns)} columns separated by {words}, so pass "
                f"--format {name} --column {column}"
            )
    return None


def _letters(values: Sequence[str], letters: Callable[[str], int | None]) -> int:
    """Return how many letters all values have; 0 where one value holds an unknown one."""
    found = [letters(value) for value in values]
    return 0 if None in found else sum(count for count in found if count is not None)
