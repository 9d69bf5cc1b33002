r"""Lines of a byte stream, in blocks, with universal newlines and a limit.

A line ends with \n, \r\n or \r. A line that never ends is refused at the limit: no more than the
limit and one block is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.corpus.reading.decoding import BYTE_ORDER_MARK
from gnomon.corpus.reading.opening import BLOCK, StoredFile
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.limits import Limits


@dataclass(frozen=True)
class LineBlock:
    """Consecutive lines without their ends; the first of them has number `first`, from 1."""

    lines: list[bytes]
    first: int
    stored: int


def line_blocks(file: StoredFile, limits: Limits) -> Iterator[LineBlock]:
    """Yield all lines of a file, about a mebibyte at a time."""
    first, held = 1, 0
    pieces: list[bytes] = []
    with file.stream(limits) as stream:
        if stream.peek(3)[:3] == BYTE_ORDER_MARK:
            stream.read(3)
        while block := stream.read(BLOCK):
            cut = _after_last_end(block)
            if cut:
                lines = b"".join([*pieces, block[:cut]]).splitlines()
                _check(lines, file.path, first, limits)
                yield LineBlock(lines, first, stream.stored)
                first, pieces, held = first + len(lines), [], 0
            pieces.append(block[cut:])
            held += len(block) - cut
            if held > limits.line_bytes:
                raise too_long(f"{file.path}, line {first}", limits)
        lines = b"".join(pieces).splitlines()
        _check(lines, file.path, first, limits)
        if lines:
            yield LineBlock(lines, first, stream.stored)


def _after_last_end(block: bytes) -> int:
    r"""Return where the last whole line ends; a \r at the very end may be half of \r\n."""
    return max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1


def _check(lines: list[bytes], path: str, first: int, limits: Limits) -> None:
    if lines and max(map(len, lines)) > limits.line_bytes:
        index = next(i for i, line in enumerate(lines) if len(line) > limits.line_bytes)
        raise too_long(f"{path}, line {first + index}", limits)


def too_long(place: str, limits: Limits) -> CorpusError:
    """Return the sentence for a line, field or document beyond the limit."""
    return CorpusError(
        f"{place} is longer than {limits.line_bytes} bytes; if you trust it, raise --limit-line."
    )
