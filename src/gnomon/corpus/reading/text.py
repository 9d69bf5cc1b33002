"""Plain text: a document per line, per file, or per block between blank lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from gnomon.corpus.documents import TextBatch
from gnomon.corpus.reading.decoding import BYTE_ORDER_MARK, decode, numbered
from gnomon.corpus.reading.lines import LineBlock, line_blocks, too_long
from gnomon.corpus.reading.opening import BLOCK, StoredFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.reading.options import ReadingOptions


@dataclass(frozen=True)
class TextReader:
    """Reads plain text by the unit that the options name."""

    options: ReadingOptions
    kind: ClassVar[Literal["text"]] = "text"
    axes: ClassVar[None] = None

    def read(self, file: StoredFile) -> Iterator[TextBatch]:
        """Yield the documents of one file."""
        if self.options.unit == "file":
            return self._whole(file)
        if self.options.unit == "block":
            return self._blocks(file)
        return self._lines(file)

    def _lines(self, file: StoredFile) -> Iterator[TextBatch]:
        for block in line_blocks(file, self.options.limits):
            yield TextBatch(texts=self._decode(block, file.path), bytes_read=block.stored)

    def _decode(self, block: LineBlock, path: str) -> list[str]:
        return decode(block.lines, self.options.errors, numbered(path, "line", block.first))

    def _blocks(self, file: StoredFile) -> Iterator[TextBatch]:
        """Blocks run over the borders of line blocks, so the open one is carried on."""
        gathered: list[str] = []
        held = stored = 0
        for block in line_blocks(file, self.options.limits):
            texts: list[str] = []
            for line in self._decode(block, file.path):
                if line and not line.isspace():
                    gathered.append(line)
                    held += len(line) + 1
                elif gathered:
                    texts.append("\n".join(gathered))
                    gathered, held = [], 0
                if held > self.options.limits.line_bytes:
                    raise too_long(
                        f"{file.path}, a block near line {block.first}", self.options.limits
                    )
            stored = block.stored
            yield TextBatch(texts=texts, bytes_read=stored)
        yield TextBatch(texts=["\n".join(gathered)], bytes_read=stored)

    def _whole(self, file: StoredFile) -> Iterator[TextBatch]:
        limit = self.options.limits.line_bytes
        parts: list[bytes] = []
        held = 0
        with file.stream(self.options.limits) as stream:
            while block := stream.read(BLOCK):
                parts.append(block)
                held += len(block)
                if held > limit:
                    raise too_long(file.path, self.options.limits)
            data = b"".join(parts).removeprefix(BYTE_ORDER_MARK)
            text = decode([data], self.options.errors, lambda _: file.path)[0]
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            yield TextBatch(texts=[text], bytes_read=stream.stored)
