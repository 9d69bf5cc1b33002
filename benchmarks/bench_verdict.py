"""Is the verdict right: planted corpora through the whole survey, false alarms, and power.

    planted   six corpora of documents (see `planted`): share of seeds in which `informative`, the
              positions named and `recommended` are right
    alarms    corpora without signal that are called informative: documents with topics through the
              whole survey, and counts of the families "gen 0" and "topics 0"
    power     the family "gen 0.1", and corpora of short sentences whose first position alone
              differs (a tilt of deviation 0.15)

Results are added to the record corpus by corpus, so that a run can be stopped and resumed; a record
of other code is begun anew. For figures that can be repeated run it with one thread for BLAS
(OPENBLAS_NUM_THREADS=1).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import families
import gnomon
import planted
from gnomon.distances.estimate import debias
from gnomon.distances.folds import fold_counts
from gnomon.distances.significance import signal
from harness import RECORDS, code_digest

RECORD = RECORDS / "verdict.json"
DRAWS = 99
"""As many as a survey of this length makes."""
FRESH = 1_000
"""Seeds of the false alarms begin here, so that no planted corpus is used twice."""
RIGHT, MOST_ALARMS, LEAST_POWER, PROTOTYPE = 0.95, 0.07, 0.95, 0.5


def judge_planted(kind, seed):
    """Survey one planted corpus and compare its verdict with the truth."""
    made = planted.planted(kind, seed)
    found = gnomon.survey(
        made.documents,
        length=planted.LENGTH,
        window=made.window,
        dimension=planted.DIMENSION,
        seed=seed,
        cache=False,
    )
    verdict, trust = found.verdict, found.noise
    pattern = trust.pattern if trust is not None and verdict.informative else None
    return {
        "informative": verdict.informative == made.informative,
        "positions": planted.positions_right(made, pattern),
        "recommended": verdict.recommended in planted.recommended(made),
        "found": {
            "p_value": found.tests.deciding.p_value,
            "kind": None if pattern is None else pattern.kind,
            "positions": [] if pattern is None else pattern.positions.tolist(),
            "recommended": verdict.recommended,
            "rank": None if trust is None else trust.debiased.rank,
        },
    }


def judge_stationary(_, seed):
    """Survey documents without order, shuffles and all."""
    made = planted.planted("none", seed + FRESH)
    options = {"length": planted.LENGTH, "dimension": planted.DIMENSION, "cache": False}
    found = gnomon.survey(made.documents, seed=seed, **options)
    order, any_cause = found.noise.tests.order, found.noise.tests.signal
    return {
        "informative": found.verdict.informative,
        "rank": found.noise.debiased.rank,
        "p_spread": order.p_spread,
        "p_isolated": order.p_isolated,
        "p_any_cause": any_cause.p_value,
        "distinct": np.flatnonzero(any_cause.distinct).tolist(),
    }


def judge_counts(counts, seed):
    """Test counts as a survey does: the signal on the core, and the effective rank."""
    found = debias(counts, rng=np.random.default_rng([seed, 3]))
    rng = np.random.default_rng([seed, 4])
    tested = signal(fold_counts(counts), draws=DRAWS, rng=rng, core=found.core)
    return {
        "informative": tested.found,
        "rank": found.rank,
        "p_spread": tested.p_spread,
        "p_isolated": tested.p_isolated,
        "distinct": np.flatnonzero(tested.distinct).tolist(),
    }


def judge_family(name, seed):
    return judge_counts(families.corpus(name, seed).counts, seed)


def judge_first(_, seed):
    """Draw short sentences in which only the first position differs."""
    rng = np.random.default_rng([seed, 77])
    drift = np.zeros((48, families.TYPES))
    drift[0] = 0.15 * rng.normal(size=families.TYPES)
    tokens = families.falling_tokens(length=48, first=6_920, scale=18.0)
    return judge_counts(families.drawn(families.tilted(drift), tokens, rng), seed)


TOLD = (
    *("contents.py", "saving.py", "estimate.py", "provenance.py", "schema.py", "validation.py"),
    *("pictures.py", "shepard.py", "drawing.py", "typical.py", "words.py"),
    *("fitting.py", "ground.py", "fit_warnings.py"),
)
"""How a survey is told, drawn, kept and fitted, and what it would cost: no part of its findings."""
JOBS = (
    *((f"planted {kind}", judge_planted, kind, 40) for kind in planted.KINDS),
    ("alarms documents", judge_stationary, None, 100),
    ("alarms gen 0", judge_family, "gen 0", 100),
    ("alarms topics 0", judge_family, "topics 0", 100),
    ("power gen 0.1", judge_family, "gen 0.1", 40),
    ("power first position", judge_first, None, 40),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, help="at most this many corpora per job")
    parser.add_argument("--jobs", nargs="*", default=[name for name, *_ in JOBS])
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    stored = json.loads(options.record.read_text()) if options.record.exists() else {}
    if stored.get("code") != digest():
        stored = {"code": digest(), "jobs": {}}
    for name, judge, what, corpora in JOBS:
        if name not in options.jobs:
            continue
        done = stored["jobs"].setdefault(name, {})
        for seed in range(min(corpora, options.most or corpora)):
            if str(seed) not in done:
                done[str(seed)] = judge(what, seed)
                options.record.write_text(json.dumps(stored, indent=1) + "\n")
    show(stored["jobs"])


def digest():
    """Digest of the package and of the corpora: what the numbers depend on."""
    package = Path(gnomon.__file__).parent
    rooms = ("corpus", "distances", "encodings", "diagnostics", "pipeline")
    files = [file for room in rooms for file in sorted((package / room).rglob("*.py"))]
    files = [f for f in files if not (f.parent.name == "survey" and f.name in TOLD)]
    files += [Path(families.__file__), Path(planted.__file__), Path(__file__)]
    return code_digest(files)


def show(jobs):
    """Print the share of every job with its bar."""
    for name in (name for name, *_ in JOBS if jobs.get(name)):
        rows = list(jobs[name].values())
        for key, bar, least in _bars(name):
            share = float(np.mean([row[key] > 0 for row in rows]))
            passed = share >= bar if least else share <= bar
            sign = ">=" if least else "<="
            mark = "PASS" if passed else "FAIL"
            print(f"{name:22}{key:13}{len(rows):5}{share:8.3f}  {sign} {bar:4.2f}  {mark}")


def _bars(name):
    """Give what is judged of a job: key, bar, and whether the bar is a least value."""
    if name.startswith("planted"):
        return [(key, RIGHT, True) for key in ("informative", "positions", "recommended")]
    if name.startswith("alarms"):
        return [(key, MOST_ALARMS, False) for key in ("informative", "rank")]
    return [("informative", PROTOTYPE if "first" in name else LEAST_POWER, True)]


if __name__ == "__main__":
    main()
