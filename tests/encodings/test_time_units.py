"""The unit of time that fits the data: by its gaps, with reasons, and what bad times get."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon import oracle
from gnomon.errors import EncodingError

START = 1.7e9


def test_visits_some_days_apart_are_told_in_days():
    """Gaps of 1, 2, 4 and 8 days: median 3; the ladder reaches twice the 15 days of history."""
    visits = START + 86400.0 * np.array([0.0, 1.0, 3.0, 7.0, 15.0])
    chosen = gnomon.time_unit(visits)
    assert (chosen.unit, chosen.median_gap / 86400.0) == ("day", 3.0)
    assert chosen.longest == 30.0
    low = np.quantile([1.0, 2.0, 4.0, 8.0], 0.05)
    assert chosen.shortest == pytest.approx(2.0 * low, rel=0.01)
    assert chosen.shortest <= 2.0 * low
    assert chosen.reasons[0] == "the median gap is 3 days, so the unit is a day"
    assert chosen.reasons[2].startswith("the longest sequence spans 2.14 weeks")


@pytest.mark.parametrize(
    ("gap", "unit"),
    [(0.01, "second"), (5.0, "second"), (90.0, "minute"), (5000.0, "hour"), (2e5, "day"),
     (1e6, "week"), (4e7, "year")],
)  # fmt: skip
def test_the_unit_is_the_largest_of_the_calendar_below_the_median_gap(gap, unit):
    assert gnomon.time_unit(START + gap * np.arange(9)).unit == unit


@pytest.mark.parametrize(("gap", "unit"), [(0.3, 0.2), (1.0, 1.0), (49.0, 20.0), (7e5, 5e5)])
def test_positions_that_are_no_seconds_get_a_round_number(gap, unit):
    chosen = gnomon.time_unit(gap * np.arange(9))
    assert chosen.unit == pytest.approx(unit, rel=1e-12)
    assert chosen.reasons[-1] == "positions are not known to be seconds, so units have no names"
    assert gnomon.time_unit(gap * np.arange(9), seconds=True).unit in gnomon_units()


def gnomon_units():
    from gnomon.encodings.positions import UNITS

    return UNITS


def test_sequences_of_any_length_dates_and_gaps_say_the_same(rng):
    gaps = rng.lognormal(np.log(4e4), 1.0, size=60).round()
    sequences = [START + np.cumsum(gaps[:40]), START + 5e5 + np.cumsum(gaps[40:])]
    chosen = gnomon.time_unit(sequences)
    seen = np.concatenate([gaps[1:40], gaps[41:]])
    assert chosen.median_gap == np.median(seen)
    assert chosen.usual_gaps == tuple(np.quantile(seen, (0.05, 0.95)))
    assert (chosen.gaps, chosen.span) == (58, gaps[1:40].sum())
    dates = [one.astype("int64").astype("datetime64[s]") for one in sequences]
    assert gnomon.time_unit(dates).to_dict() == chosen.to_dict()
    alone = gnomon.time_unit(gaps=seen, seconds=True)
    assert (alone.unit, alone.shortest, alone.origin) == (chosen.unit, chosen.shortest, None)
    square = gnomon.time_unit(np.stack([sequences[0][:20], sequences[1][:20]]))
    assert square.gaps == 38


def test_events_at_the_same_time_are_counted_and_left_out():
    chosen = gnomon.time_unit(START + np.array([0.0, 0.0, 60.0, 120.0, 120.0, 180.0]))
    assert (chosen.ties, chosen.median_gap) == (2, 60.0)
    assert "2 events have the time of the one before, and were left out" in chosen.reasons


@pytest.mark.parametrize("name", ["rope-time", "decay-time"])
def test_the_choice_makes_encodings_whose_spans_are_those_of_the_data(name, rng):
    at = START + np.cumsum(rng.lognormal(8.0, 1.0, size=50))
    chosen = gnomon.time_unit(at)
    size = {"rope-time": {"dimension": 8}, "decay-time": {"heads": 4}}[name]
    made = gnomon.encoding(name, **size, **chosen.parameters())
    ladder = np.asarray(made.periods if name == "rope-time" else made.lives)
    ladder = ladder / gnomon_units()[chosen.unit] if name == "rope-time" else ladder
    assert ladder[0] == pytest.approx(chosen.shortest)
    assert ladder[-1] == pytest.approx(chosen.longest)
    assert chosen.longest * gnomon_units()[chosen.unit] >= 2.0 * (at[-1] - at[0])
    vectors = gnomon.encoding("ctlpe", dimension=4, unit=chosen.unit, origin=chosen.origin)
    np.testing.assert_array_equal(vectors.vectors([at[0]])[0], vectors.offset)


def chosen_at_epoch(rng):
    """Irregular seconds since 1970, their fractions exact in binary, and two encodings."""
    at = START + np.cumsum(rng.lognormal(3.0, 2.0, size=14).round(0) + rng.integers(0, 8, 14) / 8.0)
    chosen = gnomon.time_unit(at).parameters()
    turn = gnomon.encoding(
        "rope-time", dimension=6, **{**chosen, "shortest": 30.0, "unit": "second"}
    )
    return at, turn, gnomon.encoding("decay-time", heads=2, **chosen)


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_epoch_seconds_are_as_exact_as_the_oracle_in_float32_where_naive_float32_is_lost(
    library, rng
):
    pytest.importorskip("mpmath")
    at, turn, decay = chosen_at_epoch(rng)
    x = rng.normal(size=(len(at), 6)).astype(np.float32)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    wanted = np.array([
        [float(v) for v in oracle.apply(turn, row.astype(float), t)]
        for row, t in zip(x, at, strict=True)
    ])  # fmt: skip
    bias = np.array([[float(oracle.bias(decay, i, j, head=1)) for j in at] for i in at])
    turned, found = in_library(library, turn, decay, x, at)
    np.testing.assert_allclose(turned, wanted, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found, bias, rtol=1e-6, atol=1e-6)
    naive = np.float32(2 * np.pi) * at.astype(np.float32)[:, None] / turn.periods.astype(np.float32)
    a, b = x[:, 0::2], x[:, 1::2]
    first = a * np.cos(naive) - b * np.sin(naive)
    assert np.abs(first - wanted[:, 0::2]).max() > 0.1


def in_library(library, turn, decay, x, at):
    """Turned vectors in float32, and biases, as NumPy arrays."""
    if library == "numpy":
        return turn.transform(x, x, at)[0], decay.bias(at)[1]
    if library == "torch":
        torch = pytest.importorskip("torch")
        y, times = torch.asarray(x), torch.asarray(at)
        made, bias = turn.transform(y, y, times)[0], decay.bias(times)[1]
        assert made.dtype == torch.float32
        return made.numpy(), bias.numpy()
    jax, split = pytest.importorskip("jax"), pytest.importorskip("gnomon.jax").split
    made, _ = jax.jit(turn.transform)(x, x, split(at))
    assert made.dtype == np.float32
    return np.asarray(made), np.asarray(jax.jit(decay.bias)(split(at)))[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "A unit is chosen from times or from gaps; pass one of the two"),
        ({"times": [1.0, 2.0], "gaps": [1.0]}, "from times or from gaps; pass one of the two"),
        ({"times": []}, "No sequence has two events, so there is no gap between any; pass times"),
        ({"times": [[1.0], [2.0]]}, "No sequence has two events, so there is no gap between any"),
        ({"times": [1.0, np.nan]}, "The times of the sequence hold nan at event 1; pass finite"),
        ({"times": [[0.0, 1.0], [1.0, np.inf]]}, "The times of sequence 1 hold inf at event 1"),
        ({"times": [1.0, 3.0, 2.0]}, "of the sequence fall from 3 to 2 at event 2; sort the even"),
        ({"times": [[1.0, 2.0], [5.0, 4.0]]}, "times of sequence 1 fall from 5 to 4 at event 1"),
        ({"times": [7.0, 7.0, 7.0]}, "All events have the same time, so no gap says what a unit"),
        ({"times": ["a", "b"]}, r"have shape \(2,\) and type <U1; pass real numbers in one row"),
        ({"times": np.array(["NaT", "2024-01-01"], "datetime64[D]")}, "hold NaT; pass the dates"),
        ({"gaps": []}, "There are no gaps; pass one or more"),
        ({"gaps": [1.0, -2.0]}, "The gap 1 is -2; pass gaps from 0 on, later less earlier"),
        ({"gaps": [0.0, 0.0]}, "All events have the same time, so no gap says what a unit would"),
        ({"gaps": [[1.0], [2.0]]}, r"gaps have shape \(2, 1\) and type float64; pass real numbers"),
    ],
)  # fmt: skip
def test_times_without_a_unit_are_refused(given, said):
    with pytest.raises(EncodingError, match=said):
        gnomon.time_unit(**given)


def test_the_choice_is_shown_in_words():
    shown = gnomon.time_unit(START + 3600.0 * np.arange(5)).text().splitlines()
    assert shown[0] == "unit hour, spans from 2 to 8"
    assert shown[2].strip().startswith("gaps range from 1 hour to 1 hour (5 to 95 %)")
