"""Tasks by their names."""

from __future__ import annotations

import dataclasses
from typing import Any

from gnomon.errors import LabError, nearest
from gnomon.lab.tasks.alignment import Alignment
from gnomon.lab.tasks.base import Task
from gnomon.lab.tasks.copying import LagCopy, Reversal
from gnomon.lab.tasks.counting import Counting
from gnomon.lab.tasks.distance import Distance
from gnomon.lab.tasks.modular import Modular
from gnomon.lab.tasks.occurrence import FirstOccurrence, LastOccurrence
from gnomon.lab.tasks.order import Order
from gnomon.lab.tasks.real.characters import Characters
from gnomon.lab.tasks.real.digits import Digits, DigitsRaster
from gnomon.lab.tasks.real.promoters import PromoterAlignment, Promoters
from gnomon.lab.tasks.real.sentences import Sentences
from gnomon.lab.tasks.real.splice import Splice
from gnomon.lab.tasks.recall import Recall
from gnomon.lab.tasks.times import Decay, Phase

SYNTHETIC: tuple[type[Task], ...] = (
    Distance,
    Counting,
    Order,
    LagCopy,
    Reversal,
    Modular,
    Phase,
    Decay,
    Recall,
    FirstOccurrence,
    LastOccurrence,
)
PLANTED: tuple[type[Task], ...] = (Alignment,)
REAL: tuple[type[Task], ...] = (
    Splice,
    Promoters,
    PromoterAlignment,
    Sentences,
    Characters,
    Digits,
    DigitsRaster,
)
TASKS: dict[str, type[Task]] = {kind.name: kind for kind in (*SYNTHETIC, *PLANTED, *REAL)}


def edition_of(name: str) -> int:
    """Return the edition of a task; a name that is not known has the first one.

    >>> edition_of("distance"), edition_of("splice")
    (1, 2)
    """
    return TASKS[name].edition if name in TASKS else 1


def task(name: str, **parameters: Any) -> Task:
    """Return the task of that name with these parameters.

    >>> task("distance", length=64, distances=40).classes
    40
    """
    if name not in TASKS:
        raise LabError(f"{name!r} is no task; {nearest(str(name), TASKS)}.")
    kind = TASKS[name]
    known = [field.name for field in dataclasses.fields(kind)]
    for parameter in parameters:
        if parameter not in known:
            raise LabError(
                f"task {name} has no parameter {parameter!r}; {nearest(parameter, known)}."
            )
    return kind(**parameters)
