"""Certificates look everywhere: the first position, the last, rows of tables, planes, windows."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.groups.laws import ROWS, moves
from gnomon.groups.logit_function import LogitFunction, special

D = 8
RATES = np.array([1.0, 0.3, 0.1, 0.03])
OTHERS = np.array([0.5, 0.2, 0.07, 0.011])
REACH = 4096.0


def turned(x, phases):
    a, b = x[:, :4], x[:, 4:]
    cosine, sine = np.cos(phases), np.sin(phases)
    return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)


def line(x, at):
    return turned(x, at[:, None] * RATES)


def plane(x, at):
    return turned(x, at[:, :1] * RATES + at[:, 1:2] * OTHERS)


def spoiled(encode, where):
    """An encoding that is another one at some positions."""

    def encoded(x, at):
        made = encode(x, at)
        return np.where(where(at)[:, None], np.roll(made, 1, axis=1), made)

    return encoded


IN_THE_PLANE = {
    "a half": lambda x, y: y > x,
    "the other half": lambda x, y: y < 0.2 * x,
    "a quadrant": lambda x, y: (x > 2048) & (y > 2048),
    "far away": lambda x, y: np.hypot(x, y) > 4000,
    "two axes beyond 2000": lambda x, y: np.minimum(x, y) > 2000,
    "one axis beyond 2000": lambda x, y: (y > 2000) & (x >= 0),
    "the origin": lambda x, y: (x == 0) & (y == 0),
    "the far corner": lambda x, y: (x >= REACH) & (y >= REACH),
    "an axis": lambda x, y: (y == 0) & (x > 0),
    "a disc of a tenth": lambda x, y: np.hypot(x - 2900, y - 3000) < 730,
    "stripes": lambda x, y: (x + 2 * y) % 100 < 5,
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("where", IN_THE_PLANE)
def test_a_map_that_is_wrong_in_a_part_of_the_plane_is_not_relative(where, seed):
    wrong = spoiled(plane, lambda at: IN_THE_PLANE[where](at[:, 0], at[:, 1]))
    found = gnomon.verify(wrong, dimension=D, axes=2, seed=seed)
    assert "shift" in found.broken


ON_THE_LINE = {
    "0": lambda t: t == 0,
    "1": lambda t: t == 1,
    "the last": lambda t: t == REACH,
    "the last ten": lambda t: t > REACH - 10,
    "512": lambda t: t == 512,
    "2047": lambda t: t == 2047,
    "2049": lambda t: t == 2049,
    "two percent": lambda t: (t > 1700) & (t < 1782),
    "the end": lambda t: t > 3800,
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("where", ON_THE_LINE)
def test_a_map_that_is_wrong_at_some_positions_is_not_relative(where, seed):
    found = gnomon.verify(spoiled(line, ON_THE_LINE[where]), dimension=D, seed=seed)
    assert found.level == "L6 not shift invariant"


def table(rows, corrupt):
    """Rotary encoding by rows of cosines and sines, one of them another."""
    phases = np.arange(rows)[:, None] * RATES
    phases[corrupt] += 1.0

    return lambda x, at: turned(x, phases[at.astype(int)])


@pytest.mark.parametrize("rows", [32, 513, 4096])
@pytest.mark.parametrize("row", ["first", "second", "any", "last"])
def test_a_corrupt_row_of_a_table_is_found_wherever_it_is(rows, row):
    any_row = int(np.random.default_rng(rows).integers(2, rows - 1))
    corrupt = {"first": 0, "second": 1, "any": any_row, "last": rows - 1}[row]
    how = {"dimension": D, "whole": True, "reach": rows - 1.0}
    found = gnomon.verify(table(rows, corrupt), **how)
    assert found.level == "L6 not shift invariant"
    assert found.asked.every
    assert f"all {rows:,} positions" in found.text()
    assert gnomon.verify(table(rows, slice(0)), **how).holds


def logits_of(bias):
    return lambda q, k, t, s: line(q, t) @ line(k, s).T + bias(t[:, None], s[None, :])


SINKS = {
    "a column": lambda t, s: 3.0 * (s == 0) + 0.0 * t,
    "four columns": lambda t, s: 3.0 * (s < 4) + 0.0 * t,
    "a column for others": lambda t, s: 3.0 * ((s == 0) & (t > 0)),
    "a row": lambda t, s: 3.0 * (t == 0) + 0.0 * s,
}


@pytest.mark.parametrize("how", [{}, {"causal": True}, {"causal": True, "whole": True}])
@pytest.mark.parametrize("sink", SINKS)
def test_an_attention_sink_breaks_the_law_of_shifts(sink, how):
    found = gnomon.verify(logits_of(SINKS[sink]), dimension=D, logits=True, **how)
    assert "shift" in found.broken
    assert found.laws["shift"].residual > 0.1


def test_logits_that_are_not_linear_at_one_position_are_not_linear():
    bent = lambda x, at: np.where((at == 0)[:, None], np.abs(x), line(x, at))
    assert "linearity" in gnomon.verify(bent, dimension=D).broken


LAGS = {
    "fades to both sides": lambda lag: np.exp(-0.02 * np.abs(lag)),
    "cut at 150": lambda lag: np.where(np.abs(lag) > 150, 0.5, 1.0),
    "cut at 3000": lambda lag: np.where(np.abs(lag) > 3000, 0.5, 1.0),
}


@pytest.mark.parametrize("how", [{}, {"whole": True}])
@pytest.mark.parametrize("name", LAGS)
def test_a_kernel_that_is_a_group_for_short_lags_of_one_sign_only_is_none(name, how):
    """Before, these were strict groups: lags from 0 to 50 were asked."""

    def logits(q, k, t, s):
        return (line(q, t) @ line(k, s).T) * LAGS[name](t[:, None] - s[None, :])

    found = gnomon.verify(logits, dimension=D, logits=True, **how)
    assert (found.level, found.rank) == ("L5 relative, not separable", None)


def test_laws_of_the_lag_are_asked_along_every_axis():
    def fading(q, k, t, s):
        kept = np.exp(-0.01 * np.abs(t[:, None, 1] - s[None, :, 1]))
        return (plane(q, t) @ plane(k, s).T) * kept

    found = gnomon.verify(fading, dimension=D, logits=True, axes=2)
    assert (found.level, found.rank) == ("L5 relative, not separable", None)
    grown = [lambda x, at, a=a: plane(x, at) * np.exp(a * at[:, 1:]) for a in (1e-3, -1e-3)]
    growing = gnomon.verify(*grown, dimension=D, axes=2, promised=["boundedness"])
    assert not growing.holds
    assert "X of axis 2 has the eigenvalue 0.001" in growing.laws["boundedness"].note


WINDOWS = {
    "-inf": lambda t, s: np.where(np.abs(t - s) > 128, -np.inf, 0.0),
    "a large number": lambda t, s: np.where(np.abs(t - s) > 128, -1e9, 0.0),
    "the least float32": lambda t, s: np.where(np.abs(t - s) > 128, np.finfo(np.float32).min, 0.0),
}


@pytest.mark.parametrize("how", [{}, {"causal": True}, {"whole": True}])
@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_is_named_with_its_extent_and_laws_are_judged_inside(window, how):
    found = gnomon.verify(logits_of(WINDOWS[window]), dimension=D, logits=True, **how)
    assert (found.level, found.holds) == ("L0 strict group", True)
    assert any("logits are -inf at lags above 128, as in a window" in w for w in found.warnings)
    assert found.to_dict()["asked"]["lag"] == pytest.approx(128.0, abs=1e-3)
    wrong = lambda q, k, t, s: logits_of(WINDOWS[window])(q, k, t, s) + 3.0 * (s == 0)
    assert "shift" in gnomon.verify(wrong, dimension=D, logits=True, **how).broken


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("size", [64, 512, 2048])
def test_chunks_are_not_relative_and_said(size, whole):
    chunks = logits_of(lambda t, s: np.where(t // size == s // size, 0.0, -np.inf))
    found = gnomon.verify(chunks, dimension=D, logits=True, whole=whole)
    assert found.level == "L6 not shift invariant"
    assert any("-inf at some lags" in warned for warned in found.warnings)
    assert found.laws["shift"].note == "what is masked, or infinite, does not move with it"


def test_a_mask_of_later_keys_is_taken_for_what_it_is():
    causal = logits_of(lambda t, s: np.where(t >= s, 0.0, -np.inf))
    found = gnomon.verify(causal, dimension=D, logits=True)
    assert (found.level, found.holds) == ("L0 strict group", True)
    assert any("keys after their query are masked" in warned for warned in found.warnings)


def test_a_window_of_four_leaves_too_little_to_name_a_group():
    narrow = logits_of(lambda t, s: np.where(np.abs(t - s) > 4, -np.inf, 0.0))
    found = gnomon.verify(narrow, dimension=D, logits=True, whole=True)
    assert found.laws["group"].note == "too few lags are finite"
    assert found.laws["shift"].holds


def test_what_was_asked_stands_in_the_certificate():
    found = gnomon.verify(line, dimension=D)
    shown = found.to_dict()["asked"]
    assert shown["special"][:2] == ["0", "1"]
    assert "powers of two and their neighbours" in shown["special"]
    assert shown["positions"] > 1000
    assert f"asked: {shown['positions']:,} positions up to position 4096" in found.text()
    in_plane = gnomon.verify(plane, dimension=D, axes=2).asked
    assert in_plane.special == ("the origin", "points of each axis alone", "the far corner")


def test_the_same_seed_asks_the_same_and_another_seed_asks_elsewhere():
    one, again, other = (
        gnomon.verify(line, dimension=D, seed=seed).to_dict() for seed in (1, 1, 2)
    )
    assert one == again
    assert one["laws"]["shift"]["residual"] != other["laws"]["shift"]["residual"]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("whole", [False, True])
def test_every_place_of_the_design_and_its_shift_is_within_the_reach(axes, whole):
    for reach in (8.0, 31.0, 1000.0):
        subject = LogitFunction(
            name="it", dimension=2, logits=None, axes=axes, whole=whole, reach=reach
        )
        seen = []
        for one in moves(subject, np.random.default_rng(0)):
            for places in (one.queries, one.keys):
                seen += [places, *(places + step for step in one.steps)]
        at = np.concatenate(seen)
        assert at.shape[1:] == (() if axes == 1 else (axes,))
        assert at.min() == 0.0
        assert reach - 1.0 <= at.max() <= reach
        assert not whole or (at == np.floor(at)).all()


def test_places_of_the_design_lie_evenly_over_the_plane():
    """All of 64 squares hold some, so that no half, quadrant or stripe of an eighth is missed."""
    subject = LogitFunction(name="it", dimension=2, logits=None, axes=2, reach=REACH)
    at = np.concatenate(
        [
            places + step
            for one in moves(subject, np.random.default_rng(0))
            for places in (one.queries, one.keys)
            for step in (np.zeros(2), *one.steps)
        ]
    )
    counts = np.histogram2d(*at.T, bins=8, range=[(0, REACH)] * 2)[0]
    assert counts.min() >= 4
    assert set(special(REACH)) >= {0.0, 1.0, 1023.0, 1024.0, 1025.0, REACH}
    assert ROWS >= REACH


@pytest.mark.parametrize("how", [{}, {"whole": True}, {"whole": True, "causal": True}])
def test_what_softmax_does_not_see_is_told_apart_at_every_row(how):
    """A number for each query: shift is broken, and what softmax sees is not."""
    bias = lambda t, s: 0.3 * t - 0.1 * (t - s)
    found = gnomon.verify(logits_of(bias), dimension=D, logits=True, promised=["gauge"], **how)
    assert found.holds
    assert not found.laws["shift"].holds


def test_a_corrupt_row_is_found_under_a_narrow_window():
    window = lambda t, s: np.where(np.abs(t[:, None] - s[None, :]) > 16, -np.inf, 0.0)
    for corrupt, holds in ((slice(0), True), (1234, False), (2047, False)):
        encode = table(2048, corrupt)
        logits = lambda q, k, t, s, e=encode: e(q, t) @ e(k, s).T + window(t, s)
        how = {"logits": True, "whole": True, "reach": 2047.0}
        found = gnomon.verify(logits, dimension=D, **how)
        assert found.laws["shift"].holds is holds
        assert found.asked.every


@pytest.mark.parametrize("cell", [(0, 0), (3, 20), (31, 31), (31, 0), None])
def test_every_place_of_a_small_grid_is_asked(cell):
    wrong = lambda at: np.zeros(len(at), bool) if cell is None else (at == cell).all(axis=1)
    encode = spoiled(plane, wrong)
    found = gnomon.verify(encode, dimension=D, axes=2, whole=True, reach=31.0)
    assert found.laws["shift"].holds is (cell is None)
    assert found.asked.every
    assert found.asked.positions == 1024


MASKS = {
    "one key": lambda t, s: np.where(s == 5, -np.inf, 0.0 * t),
    "the first key": lambda t, s: np.where(s == 0, -np.inf, 0.0 * t),
    "the first query": lambda t, s: np.where(t == 0, -np.inf, 0.0 * s),
    "a prefix that sees itself": lambda t, s: np.where((s > t) & (s >= 100), -np.inf, 0.0),
    "a sink beside a window": lambda t, s: np.where((np.abs(t - s) > 99) & (s > 3), -np.inf, 0.0),
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("mask", MASKS)
def test_masks_that_do_not_depend_on_the_lag_alone_break_the_law_of_shifts(mask, whole):
    logits = logits_of(MASKS[mask])
    found = gnomon.verify(logits, dimension=D, logits=True, whole=whole)
    assert found.level == "L6 not shift invariant"
    assert any("-inf" in said for said in found.warnings)
    assert found.laws["group"].note == "what is masked does not depend on the lag alone"


def test_what_is_masked_everywhere_is_refused():
    nothing = logits_of(lambda t, s: np.full((len(t), s.shape[1]), -np.inf))
    with pytest.raises(gnomon.GnomonError, match=r"gives -inf for every pair that was asked, so"):
        gnomon.verify(nothing, dimension=D, logits=True)
