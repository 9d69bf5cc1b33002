"""The shape of survey.json, as the JSON Schema (draft 2020-12) that ships beside this file.

Other tools may check what they read against it; every key of the contract is required, and a null
needs a `reason` in its own object.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

SCHEMA_VERSION = 1


def survey_schema() -> dict[str, Any]:
    """Return the JSON Schema of survey.json.

    >>> survey_schema()["properties"]["schema_version"]
    {'const': 1}
    """
    text = files("gnomon.pipeline").joinpath("survey.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
