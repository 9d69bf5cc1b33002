"""Corpus to counts: against the tokenizer alone, against the token cache, against np.bincount.

Claims:
- IMDB to counts at n = 512 takes at most 1.3 times what the tokenizer alone takes;
- from the token cache it is at least 20 times faster than from text;
- counting 3e7 ids is at least 5 times faster than np.bincount in chunks, with equal counts;
- peak memory is flat when a corpus is repeated ten times.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np

from gnomon.corpus.counting import Slots, count, count_slots
from harness import data_root, figures, interleaved, peak_of_command, ratio, show, write_record

LENGTH, VOCABULARY = 512, 30_522


def bench_imdb(root, repeats):
    """Text to counts, the tokenizer alone, and counts from the cache."""
    import pyarrow.parquet as pq
    from tokenizers import Tokenizer

    path, file = root / "imdb" / "train.parquet", root / "bert-base-uncased" / "tokenizer.json"
    texts = pq.read_table(path, columns=["text"])["text"].to_pylist()
    library = Tokenizer.from_file(str(file))
    library.no_padding()
    library.no_truncation()
    encode = getattr(library, "encode_batch_fast", library.encode_batch)
    options = {"column": "text", "tokenizer": file, "length": LENGTH}

    def alone():
        for start in range(0, len(texts), 1000):
            encode(texts[start : start + 1000], add_special_tokens=False)

    with tempfile.TemporaryDirectory() as folder:
        os.environ["GNOMON_CACHE"] = folder
        warm = count(path, **options)
        plain = count(path, cache=False, **options)
        if (warm.blocks != plain.blocks).nnz:
            raise SystemExit("counts from text and with the cache differ")
        variants = {
            "tokenizer alone": alone,
            "text to counts": lambda: count(path, cache=False, **options),
            "cache to counts": lambda: count(path, **options),
        }
        seconds = interleaved(variants, repeats)
    found = {
        "seconds": seconds,
        "times_the_tokenizer": round(
            seconds["text to counts"]["median"] / seconds["tokenizer alone"]["median"], 2
        ),
        "cache_faster_than_text": ratio(seconds, "text to counts", "cache to counts"),
    }
    show("IMDB, n = 512, WordPiece", seconds, figures(found))
    return found


def made_slots(tokens, folds, rng):
    """Zipf tokens with shuffled ids, the worst case for locality, in windows of 256-512."""
    windows = tokens // (LENGTH * 3 // 4)
    lengths = rng.integers(LENGTH // 2, LENGTH + 1, windows)
    shares = 1.0 / np.arange(1, VOCABULARY + 1) ** 1.05
    drawn = np.searchsorted(np.cumsum(shares / shares.sum())[:-1], rng.random(lengths.sum()))
    return Slots(
        values=rng.permutation(VOCABULARY).astype(np.int32)[drawn],
        starts=(np.cumsum(lengths) - lengths).astype(np.int64),
        lengths=lengths.astype(np.int64),
        folds=rng.integers(0, folds, windows).astype(np.uint8),
    )


def by_bincount(slots, folds, chunk=10_000_000):
    """Count with np.bincount on (fold, position, token), ten million tokens at a time."""
    table = np.zeros(LENGTH * folds * VOCABULARY, np.int64)
    step = max(1, chunk // int(slots.lengths.mean()))
    for first in range(0, len(slots.lengths), step):
        lengths = slots.lengths[first : first + step]
        begin = slots.starts[first]
        position = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows = position * folds + np.repeat(slots.folds[first : first + step], lengths) % folds
        tokens = slots.values[begin : begin + lengths.sum()]
        table += np.bincount(rows * VOCABULARY + tokens, minlength=len(table))
    return table.reshape(LENGTH * folds, VOCABULARY)


def bench_kernel(tokens, repeats):
    """The kernel without folds against bincount without folds; then both with folds."""
    slots = made_slots(tokens, 16, np.random.default_rng(0))
    single = Slots(
        values=slots.values,
        starts=slots.starts,
        lengths=slots.lengths,
        folds=np.zeros_like(slots.folds),
    )
    sizes = {"length": LENGTH, "vocabulary": VOCABULARY}
    if not np.array_equal(count_slots(single, folds=1, **sizes).toarray(), by_bincount(single, 1)):
        raise SystemExit("kernel and bincount differ: a fast wrong answer is none")
    variants = {
        "bincount": lambda: by_bincount(single, 1),
        "gnomon": lambda: count_slots(single, folds=1, **sizes),
        "gnomon, one thread": lambda: count_slots(single, folds=1, threads=1, **sizes),
        "gnomon, 16 folds": lambda: count_slots(slots, folds=16, **sizes),
    }
    seconds = interleaved(variants, repeats)
    folded = interleaved({"bincount, 4 folds": lambda: by_bincount(slots, 4)}, 1)
    found = {
        "tokens": slots.tokens,
        "seconds": seconds | folded,
        "faster_than_bincount": ratio(seconds, "bincount", "gnomon"),
        "with_16_folds_faster_than_bincount_without": ratio(
            seconds, "bincount", "gnomon, 16 folds"
        ),
        "million_tokens_a_second": round(slots.tokens / seconds["gnomon"]["median"] / 1e6),
    }
    show(f"counting {slots.tokens:,} ids", seconds | folded, figures(found))
    return found


def bench_memory():
    """Peak memory of counting twelve million words, and the same corpus ten times over."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(20_000)])
    law = 1.0 / np.arange(1, len(words) + 1)
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "one.txt", Path(folder) / "ten.txt"
        drawn = words[rng.choice(len(words), (200_000, 60), p=law / law.sum())]
        text = "\n".join(map(" ".join, drawn.tolist())) + "\n"
        small.write_text(text)
        with large.open("w") as handle:
            for _ in range(10):
                handle.write(text)
        run = "import sys, gnomon; gnomon.count(sys.argv[1], length=60, cache=False)"
        peaks = {path.stem: peak_of_command(["-c", run, path]) for path in (small, large)}
    found = {"peak_mebibytes": peaks, "ten_over_one": round(peaks["ten"] / peaks["one"], 3)}
    print(f"\npeak memory, MiB: {peaks}, ratio {found['ten_over_one']}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=30_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    record = {"kernel": bench_kernel(options.tokens, options.repeats), "memory": bench_memory()}
    root = data_root()
    if root is None:
        print("\nIMDB is not here (set GNOMON_DATA): text to counts was not measured")
    else:
        record["imdb"] = bench_imdb(root, max(options.repeats // 2, 1))
    write_record("corpus", record)


if __name__ == "__main__":
    main()
