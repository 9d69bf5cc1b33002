"""The switches of `gnomon.numeric.parallel`: routes and threads, which change speed alone."""

from __future__ import annotations

import sys

import pytest

from gnomon.errors import InputError
from gnomon.numeric.parallel import over_rows, threads, use_numba


def test_the_environment_switches_the_compiled_route_off(monkeypatch):
    monkeypatch.delenv("GNOMON_NUMBA", raising=False)
    assert use_numba()
    monkeypatch.setenv("GNOMON_NUMBA", "0")
    assert not use_numba()


def test_without_numba_the_plain_route_is_taken(monkeypatch):
    monkeypatch.delenv("GNOMON_NUMBA", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert not use_numba()


def test_threads_are_the_cores_given_or_what_the_environment_says(monkeypatch):
    monkeypatch.delenv("GNOMON_THREADS", raising=False)
    assert threads() >= 1
    monkeypatch.setenv("GNOMON_THREADS", "3")
    assert threads() == 3


@pytest.mark.parametrize("asked", ["0", "-1", "many", ""])
def test_a_number_of_threads_that_is_none_is_refused(asked, monkeypatch):
    monkeypatch.setenv("GNOMON_THREADS", asked)
    with pytest.raises(InputError, match=r"GNOMON_THREADS is .*; set it to a whole number from 1"):
        threads()


@pytest.mark.parametrize("count", ["1", "4"])
def test_stretches_come_in_order_and_cover_every_row_once(count, monkeypatch):
    monkeypatch.setenv("GNOMON_THREADS", count)
    found = over_rows(lambda start, stop: list(range(start, stop)), 1000, block=7)
    assert [row for stretch in found for row in stretch] == list(range(1000))


def test_the_probe_that_finds_numba_does_not_import_it():
    """`use_numba()` asks where numba is; only a kernel loads it."""
    import subprocess

    code = (
        "import sys, gnomon.numeric.parallel as n; n.use_numba(); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
