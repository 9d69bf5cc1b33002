"""A survey on disk: counts.npz, encoding.safetensors and survey.json, each whole or absent.

survey.json is written last: where it is, the files beside it are complete and belong to it.
"""

from __future__ import annotations

import json
from pathlib import Path

from gnomon.corpus.counts_file import store_counts
from gnomon.files import dump_json, write_together
from gnomon.survey.run import Survey


def save_survey(survey: Survey, folder: Path) -> None:
    """Write the files of a survey to a folder, which is made where it is missing."""
    text = dump_json(survey.to_dict()).encode("utf-8")
    encoding = encoding_bytes(survey)
    write_together(
        folder,
        {
            "survey.json": lambda handle: handle.write(text),
            "counts.npz": lambda handle: store_counts(survey.counts, handle),
            "encoding.safetensors": lambda handle: handle.write(encoding),
        },
    )


def encoding_bytes(survey: Survey) -> bytes:
    """Return the low-rank fitted encoding as a file: its vectors, their positions and its card."""
    from safetensors.numpy import save

    from gnomon.encodings.fitted import fit

    made = fit(
        survey.geometry,
        dimension=survey.options.dimension,
        rank=min(survey.options.rank, survey.options.dimension, len(survey.geometry.positions) - 1),
    )
    positions = survey.geometry.coordinates
    vectors = made.vectors(positions if positions.shape[1] > 1 else positions[:, 0])
    about = {
        "name": made.name,
        "parameters": made.parameters,
        "formula": made.card.formula,
        "minimises": made.minimises,
        "estimator": survey.geometry.estimator,
        "corpus": survey.counts.digest,
        "masked": survey.counts.masked,
        "bins": survey.counts.to_dict()["bins"],
        "gnomon": survey.provenance["gnomon"],
    }
    tensors = {"vectors": vectors.copy(), "positions": positions.copy()}
    stored: bytes = save(tensors, metadata={"card": json.dumps(about)})
    return stored
