"""What all benchmarks share: variants that take turns, peak memory, and a record on disk.

A figure is a ratio of medians from one run. The variants are interleaved, so that a busy moment of
a shared machine falls on all of them.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from hashlib import blake2b
from pathlib import Path

import numpy as np

RECORDS = Path(__file__).parent / "records"
MEBIBYTE = 2**20


def interleaved(variants, repeats):
    """Seconds of each variant, median and range, the variants taking turns."""
    seconds = {name: [] for name in variants}
    for _ in range(repeats):
        for name, run in variants.items():
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    return {
        name: {"median": statistics.median(s), "least": min(s), "most": max(s)}
        for name, s in seconds.items()
    }


def ratio(seconds, slow, fast):
    """How many times faster `fast` is than `slow`, by medians."""
    return round(seconds[slow]["median"] / seconds[fast]["median"], 2)


def peak_mebibytes(run):
    """Largest growth of resident memory while `run` runs, sampled every two milliseconds."""
    import psutil

    process, done, peak = psutil.Process(), threading.Event(), [0]
    before = process.memory_info().rss

    def watch():
        while not done.wait(0.002):
            peak[0] = max(peak[0], process.memory_info().rss - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    run()
    done.set()
    watcher.join()
    return round(peak[0] / MEBIBYTE)


def peak_of_command(arguments, **environment):
    """Peak resident memory in MiB of a Python process run with these arguments."""
    script = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", script, sys.executable, *map(str, arguments)]
    found = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )
    return round(int(found.stdout.split()[-1]) / 1024)


def code_digest(files):
    """Digest of what Python files do: their syntax trees, without docstrings and comments."""
    digest = blake2b(digest_size=8)
    for file in files:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [line for line in body if not _is_docstring(line)]
        digest.update(ast.dump(tree).encode())
    return digest.hexdigest()


def _is_docstring(line):
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def figures(found):
    """Everything a comparison found beside its seconds, a line each."""
    return [f"{key.replace('_', ' ')}: {value}" for key, value in found.items() if key != "seconds"]


def show(title, seconds, notes=()):
    """Print one comparison."""
    print(f"\n{title}")
    for name, s in seconds.items():
        print(f"  {name:28} {s['median']:9.4f} s   ({s['least']:.4f} .. {s['most']:.4f})")
    for note in notes:
        print(f"  {note}")


def write_record(name, record):
    """Write a record with the machine it was made on."""
    machine = {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }
    RECORDS.mkdir(exist_ok=True)
    path = RECORDS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine} | record, indent=2) + "\n", encoding="utf-8")
    print(f"\nrecorded in {path}")


def data_root():
    """Folder of the real corpora, or None."""
    root = Path(os.environ.get("GNOMON_DATA", Path(__file__).parents[2] / "shared" / "data"))
    return root if root.is_dir() else None
