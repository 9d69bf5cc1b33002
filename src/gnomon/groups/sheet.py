"""The sheet on which laws are written down while a subject is certified.

Every law is tested with random numbers of its own, drawn from one seed, so that a law does not
change with those tested before it. A law that could not be tested has the reason in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gnomon.groups.certificate import Law
from gnomon.groups.subject import Subject

NOT_LINEAR = "logits are not linear in query and key"


@dataclass(kw_only=True)
class Sheet:
    """Laws found so far, with the warnings."""

    subject: Subject
    wanted: tuple[str, ...]
    seed: int
    tolerance: float
    found: dict[str, Law] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    patchy: bool = False
    """Whether lags are those of a group at some places and not at others."""

    def rng(self) -> np.random.Generator:
        """Return the random numbers of one law."""
        return np.random.default_rng(self.seed)

    def test(
        self,
        name: str,
        law: Callable[..., float],
        limit: float | None = None,
        *,
        note: str = "",
        **how: Any,
    ) -> bool:
        """Test a law, write it down, and say whether it holds."""
        value = float(law(self.subject, self.rng(), **how))
        return self.put(name, value, self.tolerance if limit is None else limit, note=note)

    def put(self, name: str, residual: float, tolerance: float, *, note: str = "") -> bool:
        """Write down a law that was tested, and say whether it holds."""
        residual = residual if np.isfinite(residual) else float("inf")
        self.found[name] = Law(
            residual=residual, tolerance=tolerance, promised=name in self.wanted, note=note
        )
        return self.found[name].holds

    def skip(self, name: str, reason: str) -> None:
        """Write down a law that was not tested, with the reason."""
        self.found[name] = Law(
            residual=None, tolerance=self.tolerance, promised=name in self.wanted, note=reason
        )

    def want(self, names: Iterable[str]) -> None:
        """Mark these laws as promised, and no others."""
        self.wanted = tuple(names)
        self.found = {
            name: replace(law, promised=name in self.wanted) for name, law in self.found.items()
        }

    def fill(self, names: Iterable[str], known: Mapping[str, bool]) -> None:
        """Write down every law of these that is still missing, with the reason."""
        for name in names:
            if name not in self.found:
                self.skip(name, self._reason(name, known))

    def _reason(self, name: str, known: Mapping[str, bool]) -> str:
        """Say why a law was not tested: the first reason that applies."""
        one = self.subject.axes == 1
        reasons = (
            (name == "commutators" and one, "there is one axis"),
            (name in ("path", "order") and known["alone"], "no other token decides"),
            (name == "content" and known["affine"], "logits are linear but for a bias"),
            (not known["alone"], "other tokens decide"),
            (
                known["affine"] and known["masked"],
                "what is masked does not depend on the lag alone",
            ),
            (known["affine"] and known["narrow"], "too few lags are finite"),
            (name == "continuity" and self.subject.whole, "positions are whole numbers"),
            (name == "generator", "there is no group on real positions"),
        )
        return next((why for applies, why in reasons if applies), NOT_LINEAR)
