"""Survey the corpora of the gallery, and write what the page and the documentation show of them.

    python scripts/make_gallery.py DATA [WORK]

DATA is the folder of the corpora that do not come with Gnomon; a corpus that is not there is left
out, and said so. Surveys go to WORK (by default `demo/gallery`), and those
that are there already are not made again. From them come

    src/gnomon/report/reference.json   the reference scale of the page
    docs/gallery/NAME.json             each survey without its long lists
    docs/gallery/NAME.png              two figures of its page, where a browser is found
    docs/gallery.md                    the table between its two comments
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from gallery_corpora import CORPORA, Corpus
from gallery_pictures import take_pictures
from gallery_table import table
from gallery_trim import reference_of, trimmed

from gnomon.files import dump_json, write_text

ROOT = Path(__file__).resolve().parents[1]
SLOT = re.compile(r"(<!-- gallery:begin -->\n).*?(<!-- gallery:end -->)", re.DOTALL)


def main(data: Path, work: Path) -> None:
    """Survey what is not there yet, then write everything from the surveys."""
    found = {c.name: folder for c in CORPORA if (folder := surveyed(c, data, work)) is not None}
    contents = {
        name: json.loads((folder / "survey.json").read_text(encoding="utf-8"))
        for name, folder in found.items()
    }
    chosen = [corpus for corpus in CORPORA if corpus.name in contents]
    gallery = ROOT / "docs" / "gallery"
    for corpus in chosen:
        text = dump_json(trimmed(contents[corpus.name], corpus.what))
        write_text(gallery / f"{corpus.name}.json", text)
    take_pictures(found, gallery)
    write_text(
        ROOT / "src" / "gnomon" / "report" / "reference.json",
        dump_json(
            {
                "made_by": "python scripts/make_gallery.py DATA",
                "corpora": [
                    reference_of(contents[corpus.name], corpus.name, corpus.what)
                    for corpus in chosen
                ],
            }
        ),
    )
    shown = table([(one, contents[one.name]) for one in chosen], gallery)
    fill(ROOT / "docs" / "gallery.md", shown)
    print(f"{len(chosen)} of {len(CORPORA)} corpora are in the gallery")


def surveyed(corpus: Corpus, data: Path, work: Path) -> Path | None:
    """Return the folder of a survey, made now where it is not there; None without the corpus."""
    folder = work / corpus.name
    if (folder / "survey.json").is_file():
        print(f"{corpus.name}: there already")
        return folder
    if not corpus.built_in and not (data / corpus.source).exists():
        print(f"{corpus.name}: {data / corpus.source} is not there; left out")
        return None
    options = [corpus.source, *corpus.options, "--out", str(folder.absolute()), "--quiet"]
    print(f"{corpus.name}: gnomon survey {shlex.join(options)}", flush=True)
    # In the folder of the data, so that the command names its files without a private path.
    done = subprocess.run(  # noqa: S603 - our own program with fixed options
        [sys.executable, "-m", "gnomon", "survey", *options], cwd=data, check=False
    )
    if done.returncode:
        sys.exit(f"The survey of {corpus.name} ended with exit code {done.returncode}.")
    return folder


def fill(page: Path, shown: str) -> None:
    """Put the table between the two comments of a page."""
    text = page.read_text(encoding="utf-8")
    if len(SLOT.findall(text)) != 1:
        sys.exit(f"{page} has no place for the gallery; put <!-- gallery:begin --> back.")
    write_text(page, SLOT.sub(lambda found: f"{found[1]}{shown}\n{found[2]}", text))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("Usage: python scripts/make_gallery.py DATA [WORK]")
    main(
        Path(sys.argv[1]).absolute(),
        Path(sys.argv[2]) if len(sys.argv) == 3 else ROOT / "demo" / "gallery",
    )
