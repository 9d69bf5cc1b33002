"""What is claimed of encodings in trained Transformers, and what decides it [gu2025].

(i)   RoPE learns the distance between two tokens better than additive encodings
(ii)  without an encoding, or with MLA, counting is learned no worse than with RoPE
(iii) one head of the first layer does the work of position (a deposit) with RoPE on distance, and
      neither with other encodings nor on counting; judged in two halves
(iv)  MLA lowers that concentration
(v)   RoPE on one head is enough

What decides was fixed before the runs: the area under the learning curve for (i) and (ii), since
final accuracies meet at the ceiling; the deposit index of the first layer under zero- and
mean-ablation for (iii) and (iv), of runs that have learned the task and whose largest drop is above
its noise; final score and area for (v). "No worse" allows 0.02, "enough" 0.05. One thing was added
when the first runs of RoPE on distance had been seen: that "one head does it" means more than half
of what the layer loses head by head. Until then (iii) was a comparison with others alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.reproduce.contrasts import Claim, Contrast, claim
from gnomon.reproduce.lab_tables import Table, words

ADDITIVE = ("sinusoidal", "learned", "alibi", "offset-bias", "t5")
NO_WORSE, ENOUGH, MOST = 0.02, 0.05, 0.5
ABLATIONS = ("zero", "mean")
ROPE, DISTANCE, COUNTING = "rope", "distance", "counting"


def claims(tables: Sequence[Table]) -> list[Claim]:
    """Judge the claims on one size of model or several."""
    return [
        better(tables),
        counting(tables),
        deposited(tables),
        only(tables),
        lowered(tables),
        one_head(tables),
    ]


def better(tables: Sequence[Table]) -> Claim:
    """Judge (i)."""
    found = [
        one
        for table in tables
        for other in ADDITIVE
        for one in _sized(table, table.contrast((DISTANCE, ROPE), (DISTANCE, other), "areas"))
    ]
    told = words(tables[0], DISTANCE, "scores", (ROPE, *ADDITIVE)) if tables else ""
    return claim(
        "(i) RoPE learns distance better than additive encodings",
        found,
        f"Scores at the end: {told}." if told else "",
    )


def counting(tables: Sequence[Table]) -> Claim:
    """Judge (ii)."""
    found = [
        one
        for table in tables
        for other in ("nope", "mla")
        for one in _sized(
            table,
            table.contrast((COUNTING, other), (COUNTING, ROPE), "areas", bound=-NO_WORSE),
        )
    ]
    told = words(tables[0], COUNTING, "scores", (ROPE, "nope", "mla", "mla-nope")) if tables else ""
    return claim(
        "(ii) NoPE and MLA learn counting no worse than RoPE",
        found,
        f"No worse: by less than {NO_WORSE}. Scores at the end: {told}." if told else "",
    )


def deposited(tables: Sequence[Table]) -> Claim:
    """Judge the first half of (iii)."""
    found = [
        one
        for table in tables
        for ablation in ABLATIONS
        for one in _sized(
            table,
            table.level(DISTANCE, ROPE, f"index {ablation}", bound=MOST, note=_index(ablation)),
        )
    ]
    return claim(
        "(iii) with RoPE one head of the first layer does most of the work of distance",
        found,
        f"Most: an index above {MOST}.",
    )


def only(tables: Sequence[Table]) -> Claim:
    """Judge the second half of (iii)."""
    found: list[Contrast] = []
    left: list[str] = []
    for table in tables:
        found += _sized(table, table.absent(DISTANCE, ROPE))
        if not table.learned(DISTANCE, ROPE):
            continue
        for ablation in ABLATIONS:
            quantity, note = f"index {ablation}", _index(ablation)
            for other in ADDITIVE:
                if (DISTANCE, other) in table.rows and not table.learned(DISTANCE, other):
                    left.append(other)
                    continue  # one that has no rows at all is told by the contrast
                made = table.contrast((DISTANCE, ROPE), (DISTANCE, other), quantity, note=note)
                found += _sized(table, made)
            if table.learned(COUNTING, ROPE):
                made = table.contrast((DISTANCE, ROPE), (COUNTING, ROPE), quantity, note=note)
                found += _sized(table, made)
    told = f"Left out, since they did not learn distance: {_listed(left)}." if left else ""
    return claim(
        "(iii) and it is concentrated more than with other encodings, or than on counting",
        found,
        told,
    )


def lowered(tables: Sequence[Table]) -> Claim:
    """Judge (iv)."""
    found = [
        one
        for table in tables
        for name in (ROPE, "mla")
        for one in _sized(table, table.absent(DISTANCE, name))
    ]
    found += [
        one
        for table in tables
        if table.learned(DISTANCE, ROPE) and table.learned(DISTANCE, "mla")
        for ablation in ABLATIONS
        for one in _sized(
            table,
            table.contrast(
                (DISTANCE, "mla"),
                (DISTANCE, ROPE),
                f"index {ablation}",
                relation="<",
                note=_index(ablation),
            ),
        )
    ]
    return claim("(iv) MLA lowers the deposit index", found)


def one_head(tables: Sequence[Table]) -> Claim:
    """Judge (v)."""
    found = [
        one
        for table in tables
        for quantity in ("scores", "areas")
        for one in _sized(
            table,
            table.contrast((DISTANCE, "rope-one-head"), (DISTANCE, ROPE), quantity, bound=-ENOUGH),
        )
    ]
    return claim(
        "(v) RoPE on one head is enough for distance",
        found,
        f"Enough: within {ENOUGH} of RoPE on all heads, at the end and along training.",
    )


def _sized(table: Table, found: Sequence[Contrast]) -> list[Contrast]:
    """Say of which grid a contrast is, where it is not the first one."""
    if table.name == "deposit":
        return list(found)
    return [
        Contrast(
            what=f"{one.what} ({table.name})",
            values=one.values,
            relation=one.relation,
            bound=one.bound,
        )
        for one in found
    ]


def _index(ablation: str) -> str:
    return f"index by {ablation}-ablation"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))
