"""Run the examples of a text, and compare what they print with what the text shows.

The blocks of a page run in their order, in one interpreter, in one fresh folder:

    ```python      runs; a ```text block right after it is what it prints
    ```console     each line `$ gnomon ...` runs; the lines below it, if any, are what it prints,
                   and `$ echo $?` prints its exit code, which must be 0 where that is not asked

In what is shown `...` stands for anything. `<!-- not run: why -->` before a block leaves it out.
The folder has a few small files to work on (`desk`), as the pages say.

    python scripts/run_docs.py docs/howto/ci.md            compare; 1 where something differs
    python scripts/run_docs.py --write docs/howto/ci.md    write what is printed today
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src"
FENCE = re.compile(
    r"^(?P<hidden><!-- not run: [^>]+ -->\n)?```(?P<kind>\w+)[^\n]*\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
PROMPT = "$ "


@dataclass(frozen=True)
class Block:
    """A fenced block, and where its body stands in the text."""

    kind: str
    body: str
    start: int
    end: int
    hidden: bool


class FailedExampleError(Exception):
    """An example did not run."""


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [
        Block(found["kind"], found["body"], *found.span("body"), found["hidden"] is not None)
        for found in FENCE.finditer(text)
    ]


def shown_after(text: str, block: Block, following: Block | None) -> Block | None:
    """Return the block of output right after `block`, if that is what follows it."""
    if following is None or following.kind != "text":
        return None
    between = text[block.end : following.start].replace("```text\n", "").replace("```", "")
    return None if between.strip() else following


def replacements(text: str) -> Iterator[tuple[Block, str]]:
    """Run the page; yield each block of output with what it should be."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(text)
    for block, following in zip(found, [*found[1:], None][: len(found)], strict=True):
        if block.hidden:
            continue
        if block.kind == "python":
            printed = run_python(block.body, names)
            output = shown_after(text, block, following)
            if output is not None:
                yield output, printed
        elif block.kind == "console":
            yield block, run_console(block.body)


def run_python(code: str, names: dict[str, Any]) -> str:
    """Run a block with the names of those before it, and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, "<example>", "exec", dont_inherit=True), names)  # noqa: S102 - our own text
        except Exception as error:
            words = f"an example failed: {type(error).__name__}: {error}"
            raise FailedExampleError(f"{words}\n{code}") from error
    return printed.getvalue()


def run_console(body: str) -> str:
    """Return the block with what its commands print today; those without output keep none."""
    written, code = [], 0
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    for part, after in zip(parts, [*parts[1:], ""], strict=True):
        line, _, shown = part.partition("\n")
        if line == "echo $?":
            printed = f"{code}\n"
        elif line.startswith("gnomon "):
            code, printed = run_command(line)
            if code and not after.startswith("echo $?"):
                raise FailedExampleError(f"a command failed: {line}\n{printed}")
        else:  # what sets the machine up is shown, and not done
            printed = shown
        kept = agreed(shown, printed) if shown.strip() else ""
        written.append(f"{PROMPT}{line}\n{kept}")
    return "".join(written)


def run_command(line: str) -> tuple[int, str]:
    """Run a command of ours, as it would be on a terminal that shows both streams.

    In this interpreter: to start one for every line would cost more than most commands do.
    """
    from gnomon.cli.app import run

    words, before = shlex.split(line, comments=True), sys.argv
    printed = io.StringIO()
    sys.argv = words  # a result says by which command it was made
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = run(words[1:])
    finally:
        sys.argv = before
    return code, printed.getvalue()


def agreed(shown: str, printed: str) -> str:
    """Return what is shown where it says the same as what is printed, else what is printed."""
    pattern = re.escape(_even(shown)).replace(r"\.\.\.", ".*?")
    return shown if re.fullmatch(pattern, _even(printed), re.DOTALL) else printed


def _even(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def renewed(text: str) -> str:
    """Return the page as it would be if its output were written today."""
    pieces, last = [], 0
    for block, printed in replacements(text):
        body = printed if block.kind == "console" else agreed(block.body, printed)
        pieces += [text[last : block.start], body if body.endswith("\n") else f"{body}\n"]
        last = block.end
    return "".join([*pieces, text[last:]])


def desk(folder: Path) -> None:
    """Put small files on the desk: reviews, genes, notes, ids and pictures, drawn at random."""
    import numpy as np

    rng = np.random.default_rng(20260406)
    words = np.array(["sun", "dial", "shadow", "noon", "hour", "stone"])
    texts = [" ".join(rng.choice(words, size=40)) for _ in range(200)]
    with (folder / "reviews.csv").open("w", newline="", encoding="utf-8") as handle:
        rows = [[f"author{number % 40}", text] for number, text in enumerate(texts)]
        csv.writer(handle).writerows([["author", "text"], *rows])
    (folder / "notes.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    genes = ["".join(rng.choice(list("ACGT"), size=64)) for _ in range(200)]
    fasta = "".join(f">gene{number}\n{gene}\n" for number, gene in enumerate(genes))
    (folder / "genes.fasta").write_text(fasta, encoding="utf-8")
    np.save(folder / "ids.npy", rng.integers(0, 50, size=(200, 32), dtype=np.uint16))
    np.save(folder / "pictures.npy", rng.integers(0, 4, size=(200, 6, 6), dtype=np.uint8))


@contextlib.contextmanager
def working_in_a_fresh_folder() -> Iterator[Path]:
    """Work at a desk that is cleared afterwards, with this source and a token cache of its own."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        os.environ["GNOMON_CACHE"] = str(Path(name) / ".cache")
        desk(Path(name))
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def differences(before: str, after: str) -> str:
    """Return the lines in which two texts differ."""
    import difflib

    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "shown", "today", n=1)
    return "\n".join(line.rstrip("\n") for line in lines)


def main(arguments: list[str]) -> int:
    """Run the pages named; write them with --write, and compare them otherwise."""
    if str(SOURCE) not in sys.path:
        sys.path.insert(0, str(SOURCE))
    write = "--write" in arguments
    pages = [Path(name).resolve() for name in arguments if name != "--write"]
    worst = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        try:
            with working_in_a_fresh_folder():
                today = renewed(text)
        except FailedExampleError as error:
            print(f"{page.name}: {error}")
            return 1
        if write and today != text:
            page.write_text(today, encoding="utf-8", newline="\n")
        elif today != text:
            print(f"{page.name} shows something else than is printed today:")
            print(differences(text, today))
            worst = 1
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
