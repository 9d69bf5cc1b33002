"""The main job: corpus -> counts -> geometry -> stress of every encoding.

This room is also the public function of its name: `gnomon.survey(corpus)` (see `gnomon.geometry`).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.survey.run import Survey


class _Room(ModuleType):
    """A package that can be called."""

    def __call__(self, corpus: Any, **options: Any) -> Survey:
        """Return the survey of a corpus; see `gnomon.survey.run.survey`."""
        from gnomon.survey.run import survey

        return survey(corpus, **options)


sys.modules[__name__].__class__ = _Room
