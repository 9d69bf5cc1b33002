"""Trace what a call passes on its way through the package: files, functions, and switches.

    python scripts/walks.py [NAME ...] [--files] [--json FILE]

Each walk is run in a process of its own, first untraced (imports and caches are no part of a walk),
then traced in all threads. Counted are functions defined in the package; comprehensions, lambdas
and the bodies of modules and classes are not. A switch is a step from one file to another, a
return one to a file that was left before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

Walk = Callable[[], Any]
Entered = tuple[str, str, int]
HIDDEN = ("<",)
LAB = ("--workers", "1", "-q")


def survey(folder: Path) -> Walk:
    """Survey a file of text into a folder, as `gnomon survey FILE --out` does."""
    text = folder / "corpus.txt"
    lines = [f"w{i % 7} w{i % 3} then w{(i * 5) % 11} and w{i % 2} end" for i in range(200)]
    text.write_text("\n".join(lines))
    return lambda: command(["survey", str(text), "--out", str(folder / "out"), "-q"])


def transform(_: Path) -> Walk:
    """Rotate queries and keys by the catalogue's RoPE."""
    import numpy as np

    import gnomon

    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 4, 16, 64))
    places = np.arange(16.0)
    return lambda: gnomon.encoding("rope", dimension=64).transform(q, k, places, places)


def layer(_: Path) -> Walk:
    """Rotate by a PyTorch layer."""
    import torch

    import gnomon

    q, k = torch.randn(2, 1, 4, 16, 64)
    places = torch.arange(16)
    return lambda: gnomon.torch.layer(gnomon.encoding("rope", dimension=64))(q, k, places)


def attend(name: str, **parameters: Any) -> Callable[[Path], Walk]:
    """Return a walk through attention under an encoding."""

    def walk(_: Path) -> Walk:
        import torch

        import gnomon

        q, k, v = torch.randn(3, 1, 4, 16, 64)
        made = gnomon.torch.layer(gnomon.encoding(name, **parameters))
        return lambda: gnomon.torch.attention(q, k, v, made, causal=True)

    return walk


def verify(_: Path) -> Walk:
    """Certify the catalogue's RoPE."""
    return lambda: command(["verify", "rope", "-q"])


def lab(folder: Path) -> Walk:
    """Run a grid of one cell."""
    grid = folder / "grid.toml"
    grid.write_text(
        "[model]\ndimension = 16\nlayers = 1\nheads = 2\n[training]\nsteps = 4\nbatch = 4\n"
        "[sweep]\nlearning_rate = [1e-3]\nseeds = [9]\n[report]\nseeds = [0]\n"
        "[tasks.order]\nlength = 8\n[encodings.rope]\n"
    )
    runs = iter(range(10))

    def run() -> None:
        command(["lab", "run", str(grid), "--out", str(folder / f"{next(runs)}"), *LAB])

    return run


WALKS = {
    "survey": survey,
    "transform": transform,
    "layer": layer,
    "attention, rope": attend("rope", dimension=64),
    "attention, alibi": attend("alibi", heads=4),
    "verify": verify,
    "lab": lab,
}


def command(arguments: list[str]) -> None:
    """Run a command line in this process."""
    from gnomon.cli.app import run

    try:
        code = run(arguments)
    except SystemExit as stop:
        code = stop.code
    if code:
        raise SystemExit(f"gnomon {' '.join(arguments)} ended with {code}")


def trace(run: Walk, package: str) -> list[Entered]:
    """Return the functions entered by a call, in order: (file, name, first line)."""
    entered: list[Entered] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code.co_filename.startswith(package) and not code.co_name.startswith(HIDDEN):
                file = code.co_filename[len(package) :]
                entered.append((file, code.co_name, code.co_firstlineno))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return entered


def count(entered: list[Entered]) -> dict[str, Any]:
    """Return the figures of a walk, and how often each file was entered."""
    files: dict[str, int] = {}
    switches = returns = 0
    before = None
    for file, _, _ in entered:
        if before is not None and file != before:
            switches += 1
            returns += file in files
        files[file] = files.get(file, 0) + 1
        before = file
    return {
        "functions": len(set(entered)),
        "files": len(files),
        "switches": switches,
        "returns": returns,
        "entered": files,
    }


def measure(name: str) -> None:
    """Run one walk here, and print its figures as JSON."""
    import gnomon

    package = str(Path(gnomon.__file__).parent) + "/"
    with tempfile.TemporaryDirectory() as folder:
        run = WALKS[name](Path(folder))
        run()
        entered = trace(run, package)
    print("\n" + json.dumps(count(entered)))


def measured(name: str) -> dict[str, Any]:
    """Return the figures of one walk, from a process of its own."""
    again = [sys.executable, __file__, "--here", name]
    found = subprocess.run(again, capture_output=True, text=True, check=False)  # noqa: S603
    if found.returncode:
        raise SystemExit(f"the walk {name!r} failed:\n{found.stderr[-2000:]}")
    figures: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Trace the walks asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(WALKS), help=", ".join(WALKS))
    parser.add_argument("--files", action="store_true", help="name every file, most entered first")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        measure(options.here)
        return
    found = {}
    print(f"{'walk':20}{'functions':>10}{'files':>7}{'switches':>10}{'returns':>9}")
    for name in options.names:
        found[name] = row = measured(name)
        print(
            f"{name:20}{row['functions']:10}{row['files']:7}{row['switches']:10}{row['returns']:9}"
        )
        if options.files:
            for file, times in sorted(row["entered"].items(), key=lambda one: -one[1]):
                print(f"{times:12}  {file}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
