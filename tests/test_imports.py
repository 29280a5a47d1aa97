"""The import contract holds, and breaks when a module reaches past its port."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("agent", "memory", "procedural")

BREACHES = [
    ("memories-apart", "memory/store.py", "import agent.ask"),
    ("memories-apart", "procedural/synapse.py", "import agent.intent"),
    ("memories-independent", "memory/recall.py", "import procedural.synapse"),
    ("memories-independent", "procedural/store.py", "import memory.ledger"),
    ("cognee-in-one-file", "memory/recall.py", "def late():\n    import cognee.low_level"),
    ("ports-not-vendors", "agent/ask.py", "import anthropic"),
    ("ports-not-vendors", "agent/learning/seed.py", "from sqlalchemy import text"),
    ("formulas-pure", "procedural/synapse.py", "import procedural.store"),
    ("adapters-in-app", "agent/ask.py", "from agent.models.claude import Claude"),
    ("adapters-in-app", "agent/journal.py", "from memory.cognee_store import CogneeStore"),
    ("doors-see-app", "agent/doors/cli.py", "def late():\n    from memory.ledger import Ledger"),
]


def lint(root: Path, *contract: str) -> subprocess.CompletedProcess[str]:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    chosen = [part for name in contract for part in ("--contract", name)]
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache", "--no-logo", *chosen],
        cwd=root,
        env={"PATH": "", "PYTHONPATH": str(root), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copied")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def test_the_contract_holds(copied: Path) -> None:
    done = lint(copied)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("contract", "path", "line"), BREACHES)
def test_a_breach_is_found(copied: Path, contract: str, path: str, line: str) -> None:
    file = copied / path
    before = file.read_text(encoding="utf-8")
    file.write_text(f"{before}\n{line}\n", encoding="utf-8")
    try:
        done = lint(copied, contract)
    finally:
        file.write_text(before, encoding="utf-8")
    assert done.returncode == 1
    assert "BROKEN" in done.stdout, done.stdout + done.stderr


def test_each_contract_is_shown_to_bite() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = {contract["id"] for contract in settings["tool"]["importlinter"]["contracts"]}
    assert named == {contract for contract, _, _ in BREACHES}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_that_is_imported_is_asked_for_by_name(package: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {_plain(re.split(r"[\[=]", requirement)[0]) for requirement in project["dependencies"]}
    # Cognee takes one of two versions of its graph database, by the version of macOS.
    asked.add("ladybug")
    brought_by = packages_distributions()
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            else:
                continue
            for name in {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - set(PACKAGES):
                assert asked & {_plain(found) for found in brought_by.get(name, [])}, f"{path} imports {name}"


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _names_by_text(tree: ast.AST) -> Iterator[str]:
    """Give the modules that are imported by a name in a string."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0]
        if function in ("import_module", "__import__") and isinstance(first, ast.Constant):
            yield str(first.value)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_slips_past_the_contract_by_an_import_from_text(package: str) -> None:
    vendors = {"cognee", "anthropic", "xllamacpp", "sqlalchemy", "agent", "memory", "procedural"}
    for path in sorted((ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        slipped = {name.partition(".")[0] for name in _names_by_text(tree)} & vendors
        assert slipped <= ({"cognee"} if path.name == "cognee_store.py" else set()), path


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_every_module_has_no_effect(package: str, tmp_path: Path) -> None:
    """No print, no file in the working folder or at home, no changed environment, no socket, no heavy package."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted((ROOT / package).rglob("*.py"))
    ]
    code = f"""
import importlib, os, sys
def watch(event, arguments):
    written = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if written or event.startswith("socket."):
        raise SystemExit(f"{{event}} {{arguments[0]}}")
sys.dont_write_bytecode = True
sys.addaudithook(watch)
before = dict(os.environ)
for name in {modules!r}:
    importlib.import_module(name)
assert dict(os.environ) == before, "the environment was changed"
heavy = {{"cognee", "litellm", "xllamacpp", "anthropic", "onnxruntime", "openai", "lancedb", "scipy", "pygal"}}
heavy &= set(sys.modules)
assert not heavy, f"imported at once: {{sorted(heavy)}}"
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PATH": "", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
