"""Does the package keep to its layout? Rules that import-linter cannot express, checked on sources.

import-linter enforces that imports point one way. It cannot tell submodules of other packages
apart, and does not look at names or calls, so these rules are tests.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "banditsrl"
TESTS = ROOT / "tests"

FILES = sorted(SOURCE.rglob("*.py"))
ROOMS = {folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()}

NOT_ROOMS = {"oracles"}
"""Folders of tests/ that hold helpers."""

MAY_PROBE = {
    "core/adapters.py": "it turns outside objects into policies and problems",
    "core/outside_policy.py": "it looks for the optional members of an outside policy",
    "core/state_files.py": "it identifies functions and objects of any kind in a state file",
    "simulation/checkpoint.py": "only JAX arrays have a weak type",
}
"""Files that may ask whether an object has a member, and why."""


def name_in_package(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def find(rule: Callable[[ast.AST], bool], allowed: Callable[[str], bool]) -> list[str]:
    """Return the place of every node that matches the rule, in files that are not allowed to."""
    found = []
    for path in FILES:
        if allowed(name_in_package(path)):
            continue
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if rule(node)]
        found += [f"{name_in_package(path)}:{getattr(node, 'lineno', 0)}" for node in nodes]
    return found


def in_numerics(name: str) -> bool:
    return name.startswith("numerics/")


def dotted(node: ast.AST) -> str:
    """Return the dotted name that an expression spells, or an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def is_inside(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def uses_experimental_jax(node: ast.AST) -> bool:
    names = [dotted(node)]
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    return any(is_inside(name, package) for name in names for package in EXPERIMENTAL)


EXPERIMENTAL = ("jax.experimental", "jax._src")


def probes(node: ast.AST) -> bool:
    """Return whether a call asks if an object has a member: hasattr, or getattr with a default."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    return node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3)


def changes_settings(node: ast.AST) -> bool:
    """Return whether compiler options, JAX's configuration or environment variables are set."""
    if isinstance(node, ast.Call):
        name = dotted(node.func)
        calls = ("config.update", *(f"environ.{verb}" for verb in ("update", "setdefault", "pop")))
        by_call = any(f".{name}".endswith(f".{call}") for call in calls) or name == "os.putenv"
        return by_call or any(word.arg == "compiler_options" for word in node.keywords)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return f".{dotted(node.value)}".endswith(".environ")
    return False


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("from jax.experimental.layout import Layout", uses_experimental_jax),
        ("from jax import experimental", uses_experimental_jax),
        ("import jax.experimental.pallas as pl", uses_experimental_jax),
        ("jax.experimental.io_callback(f, x)", uses_experimental_jax),
        ("hasattr(policy, 'refresh')", probes),
        ("getattr(policy, 'refresh', None)", probes),
        ("jax.config.update('jax_enable_x64', True)", changes_settings),
        ("jax.jit(f, compiler_options={})", changes_settings),
        ("os.environ['XLA_FLAGS'] = ''", changes_settings),
        ("del os.environ['XLA_FLAGS']", changes_settings),
        ("os.environ.setdefault('XLA_FLAGS', '')", changes_settings),
    ],
)
def test_a_rule_finds_what_it_forbids(statement: str, rule: Callable[[ast.AST], bool]) -> None:
    assert any(rule(node) for node in ast.walk(ast.parse(statement)))


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("from jax import Array", uses_experimental_jax),
        ("getattr(result, name)", probes),
        ("os.environ.get('XLA_FLAGS', '')", changes_settings),
        ("flags = os.environ['XLA_FLAGS']", changes_settings),
        ("settings.update(sigma=1.0)", changes_settings),
    ],
)
def test_a_rule_finds_nothing_else(statement: str, rule: Callable[[ast.AST], bool]) -> None:
    assert not any(rule(node) for node in ast.walk(ast.parse(statement)))


def test_only_numerics_uses_experimental_parts_of_jax() -> None:
    assert find(uses_experimental_jax, in_numerics) == []


def test_only_numerics_changes_settings_of_the_process() -> None:
    assert find(changes_settings, in_numerics) == []


def test_members_are_probed_only_where_that_is_explained() -> None:
    assert find(probes, MAY_PROBE.__contains__) == []


def test_every_file_that_may_probe_does() -> None:
    """An exception that is no longer needed is removed from the list."""
    unexplained = find(probes, lambda _: False)
    assert {place.partition(":")[0] for place in unexplained} >= set(MAY_PROBE)


def test_no_two_files_have_the_same_name() -> None:
    assert repeated((p.name, name_in_package(p)) for p in FILES if p.name != "__init__.py") == {}


def test_no_two_public_classes_have_the_same_name() -> None:
    assert repeated(public_classes()) == {}


def public_classes() -> Iterator[tuple[str, str]]:
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, name_in_package(path)


def repeated(pairs: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that occur in several places, with their places."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, place in pairs:
        places[name].append(place)
    return {name: where for name, where in places.items() if len(where) > 1}


def test_tests_have_the_same_rooms_as_the_package() -> None:
    folders = {path.parent.name for path in TESTS.glob("*/test_*.py")}
    assert folders - NOT_ROOMS == ROOMS


def test_rooms_hold_files_and_no_further_rooms() -> None:
    assert [
        name_in_package(path) for path in FILES if path.parent.parent not in (SOURCE, SOURCE.parent)
    ] == []
