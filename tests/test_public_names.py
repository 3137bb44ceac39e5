"""Are all public names in one place, and is nothing imported before it is used?"""

import ast
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import banditsrl

SOURCE = Path(banditsrl.__file__).read_text()


def run_python(program: str) -> str:
    """Run a program in a fresh interpreter, and return what it prints."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def names_for_type_checkers() -> dict[str, str]:
    """Return the names that type checkers see, with the module each comes from."""
    block = next(node for node in ast.parse(SOURCE).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_type_checkers_see_the_names_that_are_imported_at_run_time() -> None:
    rooms = dict.fromkeys(banditsrl.ROOMS, "banditsrl")
    assert names_for_type_checkers() == {**banditsrl.WHERE, **rooms}


def test_the_public_names_are_those_and_no_others() -> None:
    assert sorted(banditsrl.__all__) == sorted([*banditsrl.WHERE, *banditsrl.ROOMS])
    assert set(banditsrl.__all__) <= set(dir(banditsrl))


@pytest.mark.parametrize("room", banditsrl.ROOMS)
def test_whatever_a_public_room_offers_and_the_package_too_is_the_same(room: str) -> None:
    module = getattr(banditsrl, room)
    offered = [name for name in banditsrl.__all__ if name in vars(module)]
    assert all(getattr(banditsrl, name) is getattr(module, name) for name in offered)


def test_every_name_can_be_imported() -> None:
    for name in banditsrl.__all__:
        assert getattr(banditsrl, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'banditsrl' has no attribute 'LinUBC'"):
        banditsrl.LinUBC  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_imports_no_library() -> None:
    heavy = ("jax", "equinox", "optax", "numpy", "polars", "matplotlib", "rich")
    printed = run_python(f"import sys, banditsrl; print([n for n in {heavy} if n in sys.modules])")
    assert printed.strip() == "[]"


def test_linear_policies_do_not_import_what_trains_networks_or_draws() -> None:
    heavy = ("optax", "polars", "matplotlib", "plotly", "ray", "rich")
    printed = run_python(
        "import sys, banditsrl; banditsrl.LinUCB; banditsrl.simulate; "
        f"print([n for n in {heavy} if n in sys.modules])"
    )
    assert printed.strip() == "[]"


def test_theory_is_the_function_even_after_its_room_was_imported() -> None:
    import banditsrl.theory.diagnosis

    assert isinstance(banditsrl.theory, FunctionType)
    printed = run_python(
        "import banditsrl.theory.diagnosis, banditsrl; print(type(banditsrl.theory).__name__)"
    )
    assert printed.strip() == "function"


def test_dir_lists_public_names_and_what_every_module_has() -> None:
    plain = [name for name in dir(banditsrl) if not name.startswith("__")]
    assert plain == sorted(banditsrl.__all__)
