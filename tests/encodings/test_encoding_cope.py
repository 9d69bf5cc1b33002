"""CoPE written out, query by query: what gates read, a cache, and the last row."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding


def written_out(q, k, x, table, scale):
    """Logits scale q_i.(k_j + e(p)), p the sum of sigmoid(scale q_i.x_l) over l = j ... i."""
    n, m, last = len(q), len(k), len(table) - 1
    logits = np.full((n, m), -np.inf)
    for i in range(n):
        now = m - n + i
        gates = [1.0 / (1.0 + np.exp(-scale * q[i] @ x[at])) for at in range(now + 1)]
        for j in range(now + 1):
            place = min(sum(gates[j:]), last)
            row = [np.interp(place, np.arange(last + 1), column) for column in table.T]
            logits[i, j] = scale * q[i] @ (k[j] + row)
    return logits


@pytest.mark.parametrize("rows", [3, 64])
@pytest.mark.parametrize("n", [1, 4, 9])
@pytest.mark.parametrize("others", [False, True])
def test_gates_count_the_tokens_up_to_the_query_and_read_what_is_given(rows, n, others, rng):
    table = rng.normal(size=(rows, 4))
    made = encoding("cope", heads=2, dimension=4, rows=rows, table=table)
    q, k, x = rng.normal(size=(2, n, 4)), *rng.normal(size=(2, 2, 9, 4))
    at = np.arange(9)
    given = {"tokens": x} if others else {}
    found = made.scores(q, k, at[9 - n :], at, scale=0.7, **given)
    for head in range(2):
        read = x[head] if others else k[head]
        wanted = written_out(q[head], k[head], read, table, 0.7)
        np.testing.assert_allclose(found[head], wanted, rtol=1e-12, atol=1e-12)
