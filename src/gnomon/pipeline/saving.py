"""A survey on disk: survey.json and what belongs to it, each file whole or absent.

counts.npz holds what was counted, geometry.npz what a page draws, encoding.safetensors the fitted
encoding. survey.json is named last: where it is, the files beside it are complete and belong to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gnomon.corpus import store_counts
from gnomon.files import dump_json, write_together
from gnomon.pipeline.surveys import Survey

if TYPE_CHECKING:
    from gnomon.pipeline.page_data import Pictures

Writer = Callable[[BinaryIO], Any]


def save_survey(
    survey: Survey,
    folder: Path,
    *,
    more: Mapping[str, bytes] | None = None,
    pictures: Pictures | None = None,
) -> None:
    """Write a survey to a folder, which is made where it is missing.

    `more` are further files that belong to it, such as its page; `pictures` saves making them
    again where the caller has them already.
    """
    from gnomon.pipeline.page_data import pictures as pictures_of
    from gnomon.pipeline.page_data import store_pictures

    text = dump_json(survey.to_dict()).encode("utf-8")
    encoding = encoding_bytes(survey)
    drawn = pictures_of(survey) if pictures is None else pictures
    writers: dict[str, Writer] = {
        "survey.json": lambda handle: handle.write(text),
        "counts.npz": lambda handle: store_counts(survey.counts, handle),
        "geometry.npz": lambda handle: store_pictures(drawn, handle),
        "encoding.safetensors": lambda handle: handle.write(encoding),
    }
    writers |= {name: _writer(content) for name, content in (more or {}).items()}
    write_together(folder, writers)


def _writer(content: bytes) -> Writer:
    return lambda handle: handle.write(content)


def encoding_bytes(survey: Survey) -> bytes:
    """Return the fitted encoding of a survey as a file, its card in the header."""
    from gnomon.pipeline.fitting import fit_survey

    return fit_survey(survey).to_bytes()
