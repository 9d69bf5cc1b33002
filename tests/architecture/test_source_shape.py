"""The shape of the source: short files, short functions, stated ideas, no pickle, no assert.

Every rule is a function from one module's text to its faults, tried on planted text as well.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "gnomon"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_FILE, LONGEST_BODY = 1000, 50
PICKLERS = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
FOREIGN_CODE = {"eval", "exec"}

Rule = Callable[[str], list[str]]


def too_many_lines(text: str) -> list[str]:
    """A file is one idea."""
    lines = len(text.splitlines())
    return [f"{lines} lines, limit {LONGEST_FILE}"] if lines > LONGEST_FILE else []


def missing_docstring(text: str) -> list[str]:
    """A module says what it is for; an empty `__init__` has nothing to say."""
    tree = ast.parse(text)
    return ["no module docstring"] if tree.body and not ast.get_docstring(tree) else []


def asserts(text: str) -> list[str]:
    """`python -O` removes an assert, and it seldom says what to do."""
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assert))
    return [f"line {node.lineno}: assert" for node in nodes]


def long_functions(text: str) -> list[str]:
    """A body fits on a screen, docstring included; a signature is a list and is not counted."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0].lineno
            lines = (node.end_lineno or first) - first + 1
            if lines > LONGEST_BODY:
                found.append(f"line {node.lineno}: {node.name} has a body of {lines} lines")
    return found


def pickled(text: str) -> list[str]:
    """Reading a pickle runs what is in it: no pickler is imported, called or allowed."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {name.partition(".")[0] for name in _imported(node)}
            found += [f"line {node.lineno}: imports {name}" for name in sorted(names & PICKLERS)]
        if isinstance(node, ast.Attribute) and "pickle" in node.attr:
            found.append(f"line {node.lineno}: uses {node.attr}")
        if isinstance(node, ast.Call) and _is_numpy_load(node.func) and not _refuses(node):
            found.append(f"line {node.lineno}: numpy load without allow_pickle=False")
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and not _is_false(node):
            found.append(f"line {node.lineno}: allow_pickle is not the constant False")
    return found


def trusting(text: str) -> list[str]:
    """What transformers opens may bring code and pickles: every call says that it may not."""
    found: list[str] = []
    if "import transformers" not in text and "from transformers" not in text:
        return found
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in {"from_pretrained", "from_config"}:
            continue
        said = {k.arg: k for k in node.keywords if k.arg}
        whole = {ast.unparse(k.value) for k in node.keywords if k.arg is None}
        safe = "trust_remote_code" in said and _is_false(said["trust_remote_code"])
        if not safe and "SAFELY" not in whole:
            found.append(f"line {node.lineno}: {node.func.attr} may run foreign code")
    return found


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""]


def _is_numpy_load(function: ast.expr) -> bool:
    return ast.unparse(function) in {"np.load", "numpy.load", "np.lib.format.read_array"}


def _refuses(call: ast.Call) -> bool:
    return any(keyword.arg == "allow_pickle" and _is_false(keyword) for keyword in call.keywords)


def _is_false(keyword: ast.keyword) -> bool:
    return isinstance(keyword.value, ast.Constant) and keyword.value.value is False


def foreign_code(text: str) -> list[str]:
    """Data is never run."""
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    names = ((call.lineno, ast.unparse(call.func)) for call in calls)
    return [f"line {line}: calls {name}" for line, name in names if name in FOREIGN_CODE]


RULES: list[Rule] = [
    too_many_lines,
    missing_docstring,
    asserts,
    long_functions,
    pickled,
    trusting,
    foreign_code,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_source_module_keeps_the_rule(rule: Rule) -> None:
    faults = [
        f"{path.relative_to(SOURCE)}: {fault}"
        for path in MODULES
        for fault in rule(path.read_text(encoding="utf-8"))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("rule", "planted"),
    [
        (too_many_lines, "x = 1\n" * (LONGEST_FILE + 1)),
        (missing_docstring, "x = 1\n"),
        (asserts, "def f(x):\n    assert x\n"),
        (long_functions, "def f():\n" + "    x = 1\n" * 51),
        (pickled, "import pickle"),
        (pickled, "def f():\n    from joblib import load"),
        (pickled, "frame.to_pickle('x')"),
        (pickled, "np.load('x.npy')"),
        (pickled, "np.load('x.npy', allow_pickle=True)"),
        (pickled, "np.savez('x.npz', allow_pickle=flag)"),
        (trusting, "import transformers\ntransformers.AutoConfig.from_pretrained(x)"),
        (trusting, "import transformers\nAutoModel.from_config(x, trust_remote_code=None)"),
        (trusting, "import transformers\nAutoModel.from_config(x, trust_remote_code=True)"),
        (foreign_code, "eval('1')"),
    ],
)
def test_the_rule_catches_a_planted_fault(rule: Rule, planted: str) -> None:
    assert rule(planted)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (too_many_lines, "x = 1\n" * LONGEST_FILE),
        (missing_docstring, ""),
        (missing_docstring, '"""An idea."""\n'),
        (long_functions, "def f():\n" + "    x = 1\n" * 50),
        (pickled, "np.load('x.npy', allow_pickle=False)"),
        (pickled, "json.load(handle)"),
        (trusting, "import transformers\nAutoModel.from_config(x, trust_remote_code=False)"),
    ],
)
def test_the_rule_accepts_what_keeps_it(rule: Rule, text: str) -> None:
    assert rule(text) == []
