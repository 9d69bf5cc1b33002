"""For the tests of other projects: an encoding must keep what it promises, or the test fails.

The laws and their residuals are those of `gnomon.verify` [puranik2026]; the message of a failure is
the whole certificate.
"""

from __future__ import annotations

from typing import Any

from gnomon.conformance import verify
from gnomon.groups import Certificate


def assert_encoding(subject: Any, keys: Any = None, **how: Any) -> Certificate:
    """Fail unless every promised law holds; takes what `gnomon.verify` takes.

    >>> import gnomon
    >>> assert_encoding(gnomon.encoding("rope", dimension=8)).level
    'L0 strict group'
    """
    found = verify(subject, keys, **how)
    if not found.holds:
        raise AssertionError(found.text())
    return found
