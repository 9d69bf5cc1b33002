"""Table 4: five encodings on corpora, by lift."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnomon.errors import InputError
from gnomon.reproduce.claims import Reproduction, Spread
from gnomon.reproduce.registry import reproduce


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce("table4", "three-regimes", dimension=64, seeds=3)


def figure(report: Reproduction, what: str, column: str) -> Spread:
    value = next(row for row in report.rows if row.what == what).ours[column]
    assert isinstance(value, Spread)
    return value


def test_every_published_number_is_said_to_be_lost(found: Reproduction) -> None:
    assert all(row.published.value is None for row in found.rows)
    assert all("lost" in str(row.published.reason) for row in found.rows)


def test_rope_with_unit_pairs_is_the_sinusoid(found: Reproduction) -> None:
    for column in ("raw", "scale-free", "violations", "Pearson"):
        sinusoid = figure(found, "sinusoidal", column).mean
        assert figure(found, "rope", column).mean == pytest.approx(sinusoid, rel=1e-9)


def test_a_probe_of_ones_changes_scale_and_nothing_else(found: Reproduction) -> None:
    """Its pairs have energy 2, so distances are sqrt 2 times larger."""
    ours, unit = (
        figure(found, name, "scale-free").mean for name in ("rope, probe of ones", "rope")
    )
    assert ours == pytest.approx(unit, rel=1e-9)
    assert figure(found, "rope, probe of ones", "raw").mean > figure(found, "rope", "raw").mean


def test_the_slope_decides_raw_stress_and_not_scale_free_stress(found: Reproduction) -> None:
    raw, free = (figure(found, "alibi, each head", name) for name in ("raw", "scale-free"))
    assert raw.over == "heads"
    assert raw.count == 12
    assert raw.largest > 100 * raw.smallest
    assert free.largest == pytest.approx(free.smallest, rel=1e-9)
    best = figure(found, "alibi, best slope", "raw").mean
    assert best == pytest.approx(free.mean, rel=1e-9)
    assert best <= raw.smallest


def test_sigma_decides_raw_stress_of_a_random_table_and_not_scale_free(found: Reproduction) -> None:
    one, small = (figure(found, f"random, sigma {s}", "scale-free") for s in ("1", "0.02"))
    assert one.mean == pytest.approx(small.mean, rel=1e-9)
    raws = [figure(found, f"random, sigma {s}", "raw").mean for s in ("1", "0.02")]
    assert raws[0] > 100 * raws[1]


def test_mds_is_exact_and_has_the_rank_of_the_corpus(found: Reproduction) -> None:
    row = next(row for row in found.rows if row.what == "mds")
    assert figure(found, "mds", "raw").mean < 1e-25
    assert figure(found, "mds", "Pearson").mean == pytest.approx(1.0)
    assert row.ours["rank"] == 31
    assert "its own rank 31" in found.headings[row.group]


def test_read_as_a_slope_alibi_is_a_line(found: Reproduction) -> None:
    row = next(row for row in found.rows if row.what == "alibi, best slope")
    assert row.ours["rank"] == 1
    assert figure(found, "alibi, best slope", "violations").mean == 0.0


def test_verdicts_of_table4(found: Reproduction) -> None:
    expected = ["depends", "depends", "holds", "does not hold", "does not hold"]
    assert [verdict.holds for verdict in found.verdicts] == expected


def test_without_a_corpus_the_stand_in_is_named() -> None:
    report = reproduce("table4", seeds=1, dimension=32, length=16)
    assert report.notes[1].startswith("no corpus was given, so python-stdlib stands in")
    assert report.rows[0].group.startswith("python-stdlib")
    assert "16 positions" in report.headings[report.rows[0].group]


def test_two_corpora_are_told_apart_and_a_grid_stays_whole() -> None:
    report = reproduce("table4", ["digits", "three-regimes"], seeds=1, dimension=32)
    digits, regimes = dict.fromkeys(row.group for row in report.rows)
    assert (digits, regimes) == ("digits (scikit-learn)", "three-regimes")
    assert report.headings[digits].startswith(f"{digits}: 64 positions")
    assert report.headings["three-regimes"].startswith("three-regimes: 32 positions")
    assert "three-regimes: raw" in report.verdicts[0].reason


def test_one_corpus_twice_is_kept_twice() -> None:
    report = reproduce("table4", ["three-regimes"] * 2, seeds=1, dimension=32)
    assert len({row.group for row in report.rows}) == 2


def test_a_correlation_without_meaning_is_none_with_its_reason(tmp_path: Path) -> None:
    """Three positions that share no token are all at the same distance."""
    path = tmp_path / "same.txt"
    path.write_text("a b c\n" * 20, encoding="utf-8")
    report = reproduce("table4", path, seeds=1, dimension=8)
    row = report.rows[0]
    assert row.ours["Pearson"] is None
    assert row.reasons is not None
    assert row.reasons["Pearson"] == "all distances are equal, or no two lags differ"


def test_two_positions_are_too_few(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("a b\nb c\n" * 20, encoding="utf-8")
    message = r"short.txt has 2 positions with enough tokens, and table4 compares 3 or more; use a"
    with pytest.raises(InputError, match=message):
        reproduce("table4", path)


@pytest.mark.data
@pytest.mark.wide
def test_sst2_has_the_known_stress_and_is_mostly_noise(data_root: Path) -> None:
    """An independent script found 236.06 and 0.0560; most of it is there when dealt."""
    report = reproduce(
        "table4",
        data_root / "sst2" / "train.tsv",
        column="sentence",
        tokenizer=data_root / "bert-base-uncased" / "tokenizer.json",
        minimum_count=1,
        seeds=2,
    )
    assert figure(report, "sinusoidal", "raw").mean == pytest.approx(236.06, abs=0.01)
    assert figure(report, "sinusoidal", "scale-free").mean == pytest.approx(0.0560, abs=5e-5)
    plugin = next(iter(report.corpora.values()))["plugin"]
    assert plugin["dealt_share"] == pytest.approx(0.95, abs=0.02)
    assert np.isclose(figure(report, "mds", "Pearson").mean, 1.0)
