"""Sub-word pieces: any `tokenizer.json` of the library `tokenizers`.

Only content is counted. Truncation and padding written in the file are switched off, the template
that adds special tokens is not applied, and special tokens that stand literally in a text are
left out; the model's unknown token stays, because it stands for something that was there.
"""

from __future__ import annotations

import os
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.corpus.surrogates import Errors, without_surrogates
from gnomon.corpus.tokenizing.alphabets import offsets_of
from gnomon.corpus.vocabulary import Vocabulary
from gnomon.errors import TokenizerError
from gnomon.reading import UnreadableError, check_no_device, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from gnomon.corpus.documents import Ids, Offsets
    from gnomon.corpus.limits import Limits

_PARALLEL = "TOKENIZERS_PARALLELISM"
FILE_NAME = "tokenizer.json"
_MOST_IDS = 2**24


class Pieces:
    """A tokenizer read from a file."""

    grows = False

    def __init__(self, path: Path, *, limits: Limits, errors: Errors = "strict") -> None:
        stored = _read(path, limits)
        self.name = path.name
        self.errors: Errors = errors
        self._path = path
        self._stored = stored
        self._model = _parse(stored, path)
        self.digest = _digest(stored, errors)
        self._encode_batch = getattr(self._model, "encode_batch_fast", self._model.encode_batch)

    def encode(self, texts: list[str], first: int = 0) -> tuple[Ids, Offsets]:
        """Return the ids of the texts' own pieces."""
        try:
            encoded = self._run(texts)
        except TypeError:  # how the library refuses a lone surrogate
            encoded = self._run(without_surrogates(texts, self.errors, first))
        return self._flatten([encoding.ids for encoding in encoded])

    def vocabulary(self) -> Vocabulary:
        """Return the tokens by id; ids that no token has are called by their number."""
        return self._vocabulary

    # What follows is made when it is first needed: where the token cache has the ids, never.

    @cached_property
    def _ids(self) -> dict[str, int]:
        return _checked_ids(self._model.get_vocab(with_added_tokens=True), self._path)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        names = [f"[id {i}]" for i in range(_size(self._ids))]
        for token, i in self._ids.items():
            names[i] = token
        return Vocabulary.of(tuple(names))

    @cached_property
    def _left_out(self) -> NDArray[np.bool_]:
        try:
            described = parse_json(self._stored)
            return _left_out(self._model, described, _size(self._ids))
        except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
            raise TokenizerError(
                f"{self._path} is a tokenizer file that can not be used ({_first_line(error)}); "
                "save it again with the library tokenizers."
            ) from None

    def _run(self, texts: list[str]) -> Any:
        try:
            return self._encode_batch(texts, add_special_tokens=False)
        except (TypeError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a Rust panic is no Exception
            raise TokenizerError(
                f"the tokenizer {self._path} failed on a text ({_first_line(error)}); "
                "choose another --tokenizer."
            ) from None

    def _flatten(self, rows: list[list[int]]) -> tuple[Ids, Offsets]:
        offsets = offsets_of([len(row) for row in rows])
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(offsets[-1]))
        special = self._left_out.take(flat)
        if special.any():
            return flat[~special], offsets_of(~special)[offsets]
        return flat, offsets


def _read(path: Path, limits: Limits) -> bytes:
    try:
        check_no_device(path)
        with path.open("rb") as handle:
            stored = handle.read(limits.tokenizer_bytes + 1)
    except (OSError, UnreadableError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TokenizerError(
            f"the tokenizer {path} can not be read ({reason}); check the path."
        ) from None
    if len(stored) > limits.tokenizer_bytes:
        raise TokenizerError(
            f"the tokenizer {path} is larger than {limits.tokenizer_bytes:,} bytes; "
            "raise --limit-tokenizer if you trust it."
        )
    return stored


def _parse(stored: bytes, path: Path) -> Any:
    _be_parallel()
    from tokenizers import Tokenizer

    try:
        model = Tokenizer.from_buffer(stored)
        model.no_truncation()
        model.no_padding()
        if getattr(model.model, "dropout", None) is not None:
            model.model.dropout = None  # merges dropped at random are for training
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a Rust panic is no Exception
        raise TokenizerError(
            f"{path} is not a tokenizer file ({_first_line(error)}); pass a tokenizer.json, or one "
            "of words, characters, bytes, dna, protein."
        ) from None
    return model


def _be_parallel() -> None:
    """Use all cores, and keep the library from warning about it when the process forks.

    After a fork the library's threads are gone, so a child must do without them.
    """
    if _PARALLEL in os.environ:
        return
    os.environ[_PARALLEL] = "true"
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: os.environ.__setitem__(_PARALLEL, "false"))


def _digest(stored: bytes, errors: Errors) -> str:
    import tokenizers

    seed = f"pieces-1 {tokenizers.__version__} {errors} ".encode()
    return blake2b(seed + stored, digest_size=16).hexdigest()


def _size(ids: dict[str, int]) -> int:
    """Return the largest id + 1, which may exceed the number of tokens."""
    return max(ids.values(), default=-1) + 1


def _checked_ids(ids: dict[str, int], path: Path) -> dict[str, int]:
    """Refuse ids so large that a table of them would fill the memory."""
    if _size(ids) > _MOST_IDS:
        raise TokenizerError(
            f"the tokenizer {path} has a token with id {_size(ids) - 1:,}; a vocabulary may have "
            f"{_MOST_IDS:,} ids, so choose another --tokenizer."
        )
    return ids


def _left_out(model: Any, description: dict[str, Any], size: int) -> NDArray[np.bool_]:
    """Return, for every id, whether it is special (or padding) and not the unknown token."""
    special = [i for i, token in model.get_added_tokens_decoder().items() if token.special]
    table = np.zeros(size, dtype=np.bool_)
    table[special] = True
    table[list(_padding_ids(model, description))] = True
    table[list(_unknown_ids(model, description["model"]))] = False
    return table


def _padding_ids(model: Any, description: dict[str, Any]) -> Iterable[int]:
    name = (description.get("padding") or {}).get("pad_token")
    found = None if name is None else model.token_to_id(name)
    return () if found is None else (found,)


def _unknown_ids(model: Any, description: dict[str, Any]) -> Iterable[int]:
    name = description.get("unk_token")
    named = None if name is None else model.token_to_id(name)
    return (i for i in (named, description.get("unk_id")) if i is not None)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
