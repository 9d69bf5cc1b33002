"""`gnomon spectrum`: an encoding by name or file, its JSON, its page, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

PROMISED = {
    "length",
    "rank",
    "largest",
    "smallest",
    "condition_on_range",
    "contraction",
    "toeplitz_share",
}


def refusal(call, *arguments: object) -> str:
    called = call("spectrum", *arguments)
    assert (called.code, called.out) == (2, ""), called
    assert called.err.startswith("gnomon: ")
    assert called.err.count("\n") == 1
    return called.err.removeprefix("gnomon: ").rstrip("\n")


def test_the_json_has_the_promised_keys(call, tmp_path: Path) -> None:
    called = call("spectrum", "rope", "--length", 32, "-p", "dimension=16", "--json", "-")
    value = json.loads(called.out)
    assert set(value) >= PROMISED
    assert {"norm", "condition"} <= set(value["contraction"])
    assert (value["length"], value["rank_bound"]) == (32, 16)
    assert value["toeplitz_share"] == 1.0
    file = tmp_path / "out.json"
    quiet = call("spectrum", "rope", "--length", 32, "-p", "dimension=16", "-q", "--json", file)
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert json.loads(file.read_text(encoding="utf-8")) == value


def test_the_text_says_what_holds_and_what_does_not(call) -> None:
    out = call("spectrum", "rope", "--length", 32, "--mean", 0, "--mean", 2).out
    assert "so Szego's theorem does not apply" in out
    assert "multiplicative coupling, 32 positions, 8 draws" in out
    assert "Schur, norms: |A o T| <= |A|" in out
    assert "not promised (no one Gram for all pairs, no real Gram)" in out


def test_the_longer_text_has_the_eigenvalues_of_the_dense_matrix(call) -> None:
    """RoPE of two frequencies, 1 and 0.01: the mean of their cosines at every lag."""
    short, long = (
        call("spectrum", "rope", "--length", 12, "-p", "dimension=4", *more).out.splitlines()
        for more in ((), ("-v",))
    )
    added = [line for line in long if line not in short]
    lags = np.subtract.outer(np.arange(12), np.arange(12))
    dense = np.linalg.eigvalsh((np.cos(lags) + np.cos(0.01 * lags)) / 2)[::-1]
    shown = added[0].partition(" (")[0].split()[1:]
    assert [float(word) for word in shown[:4]] == pytest.approx(dense[:4], rel=1e-3)
    wanted = ", ".join(
        f"{lag}: {np.mean(np.cos([lag, 0.01 * lag])):.4g}" for lag in (0, 1, 2, 4, 8)
    )
    assert added[1:] == [f"profile by lag       {wanted}"]


def test_queries_and_keys_may_be_drawn_apart(call) -> None:
    norms = {}
    for option in ((), ("--apart",)):
        out = call("spectrum", "rope", "--length", 64, "--mean", 4, *option, "--json", "-").out
        made = json.loads(out)["contraction"]
        norms[made["tied"]] = made["norm"]
    assert norms[True] < 0.8 < norms[False]


def test_content_for_a_bias_has_the_dimension_that_was_asked_for(call) -> None:
    asked = ("spectrum", "alibi", "--length", 16, "--mean", 0, "--json", "-")
    assert json.loads(call(*asked).out)["contraction"]["dimension"] == 64
    assert json.loads(call(*asked, "--dimension", 8).out)["contraction"]["dimension"] == 8


def test_a_page_is_written(call, tmp_path: Path) -> None:
    page = tmp_path / "spectrum.html"
    called = call("spectrum", "alibi", "--length", 24, "--mean", 0, "--figure", page)
    assert called.code == 0
    assert called.out.rstrip().endswith(f"page: {page}")
    assert "Spectrum of alibi" in page.read_text(encoding="utf-8")


def test_a_table_in_a_file_has_a_spectrum(call, tmp_path: Path) -> None:
    table = np.random.default_rng(0).standard_normal((16, 4))
    np.save(tmp_path / "table.npy", table)
    out = call("spectrum", tmp_path / "table.npy", "--length", 16, "--json", "-").out
    value = json.loads(out)
    assert value["rank"] == 4
    assert value["largest"] == pytest.approx(np.linalg.norm(table, 2) ** 2)
    assert 0.0 < value["toeplitz_share"] < 1.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ropee",), "There is no encoding 'ropee': did you mean 'rope'?"),
        (("rope", "--length", 0), "length is 0; pass a whole number of positions"),
        (("alibi", "--head", 99), "head is 99, and the encoding 'alibi' tells 8 apart"),
        (("cope",), "The logits of 'cope' do not depend on the lag alone"),
        (("rope", "-p", "axes=2", "--direction", "1"), "has 2 axes; pass 2 numbers"),
        (("rope", "--figure", "x.png"), "--figure x.png is no HTML file"),
        (("rope", "--mean", -1), "mean is -1.0; pass 0 or more"),
        (("rope", "--mean", 1e200), "mean is 1e+200; pass 1e+06 at most"),
        (("rope", "--length", 8, "--seed", -1), "--seed is -1; it must be 0 or more"),
        (("rope", "--dimension", 8), "dimension is 8, and the encoding 'rope' is made for 64"),
        (("rope", "--tolerance", 3), "tolerance is 3.0; pass a number from 0 to below 1"),
        (("learned", "--length", 100000), "has no vectors at positions 0 to 99999"),
    ],
)
def test_bad_input_gets_one_sentence(call, arguments, sentence: str) -> None:
    assert sentence in refusal(call, *arguments)


def test_a_folder_is_no_page(call, tmp_path: Path) -> None:
    assert "is a folder; name a file with --figure" in refusal(call, "rope", "--figure", tmp_path)
