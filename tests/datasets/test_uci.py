"""Are the data sets what UCI published, and are their parsed numbers stored and checked?"""

import gzip
import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared_files import DATA, HAS_COVERTYPE

import banditsrl
from banditsrl.datasets import sources
from banditsrl.datasets import uci as datasets
from banditsrl.datasets.downloads import DataFile
from banditsrl.datasets.uci import DATASETS, DataSet, fetch, load
from banditsrl.errors import InvalidProblem, UnknownName

CONTENT = b"1,-2,1\n300,4,2\n5,6,1\n"
NUMBERS = np.array([[1, 300, 5], [-2, 4, 6], [1, 2, 1]], dtype="<i2")
PACKED = gzip.compress(CONTENT)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and no named folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BANDITSRL_DATA", raising=False)
    return tmp_path / "cache" / "banditsrl"


def put(folder: Path, name: str = "small.data.gz", content: bytes = PACKED) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    return folder / name


def small_set() -> DataSet:
    content, numbers = (hashlib.sha256(x).hexdigest() for x in (CONTENT, NUMBERS.tobytes()))
    file = DataFile("small.data", content, len(CONTENT), url="http://127.0.0.1:9/none.zip")
    return DataSet("small", (file,), (3, 2, 2), "Nobody.", numbers_sha256=numbers)


def fields(name: str) -> list[list[str]]:
    """All fields of a shipped data set, split by hand."""
    chosen = DATASETS[name]
    paths = [sources.SHIPPED / f"{file.name}.gz" for file in chosen.files]
    text = "".join(gzip.decompress(path.read_bytes()).decode() for path in paths)
    return [line.split(chosen.separator) for line in text.splitlines()]


@pytest.mark.parametrize("name", ["shuttle", "magic", "mushroom"])
def test_a_shipped_data_set_has_the_shape_the_columns_and_the_labels_of_its_file(name: str) -> None:
    problem, chosen, rows = banditsrl.make_problem(name), DATASETS[name], fields(name)
    assert (problem.n_contexts, problem.n_columns, problem.n_actions) == chosen.shape
    assert problem.name == name
    labels = [row.pop(chosen.label) for row in rows]
    order = sorted(set(labels))
    assert problem.classes == tuple(order)
    assert problem.labels.tolist() == [order.index(label) for label in labels]
    for i in (0, 4, len(rows[0]) - 1):
        words = [row[i] for row in rows]
        codes = sorted(set(words))
        values = [codes.index(w) if name == "mushroom" else float(w) for w in words]
        column = (np.array(values) - np.mean(values)) / np.std(values)
        found = np.asarray(problem.representations[0].table)[:, i]
        np.testing.assert_allclose(found, column, rtol=1e-4, atol=1e-5)


def test_mushroom_has_a_constant_column_and_a_category_for_unknown() -> None:
    columns, _ = load(DATASETS["mushroom"])
    assert sorted({row[11] for row in fields("mushroom")}) == ["?", "b", "c", "e", "r"]
    assert sorted(set(columns[:, 10].tolist())) == [0.0, 1.0, 2.0, 3.0, 4.0]
    table = np.asarray(banditsrl.make_problem("mushroom").representations[0].table)
    assert (columns[:, 15] == 0.0).all()
    assert not table[:, 15].any()


def test_statlog_is_another_name_of_shuttle_and_settings_reach_the_problem() -> None:
    problem = banditsrl.make_problem("statlog", p_right=0.7, p_wrong=0.3)
    assert (problem.name, problem.p_right, problem.p_wrong) == ("shuttle", 0.7, 0.3)


def test_every_data_set_is_credited_and_every_shipped_file_is_listed() -> None:
    listed = (sources.SHIPPED / "SOURCES.md").read_text()
    assert datasets.LICENCE in listed
    for name in DATASETS:
        assert DATASETS[name].credit.rsplit("doi:")[-1] in listed
        assert all(f"{file.name}.gz" in listed for file in DATASETS[name].files)


def test_fetch_returns_the_folder_of_the_files_and_knows_its_names() -> None:
    assert fetch("shuttle") == fetch("magic") == sources.SHIPPED
    with pytest.raises(UnknownName, match="no data set named 'covertyp'; did you mean 'covertype'"):
        fetch("covertyp")


def test_a_damaged_installation_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SHIPPED", tmp_path)
    put(tmp_path, "magic04.data.gz")
    with pytest.raises(InvalidProblem, match=r"magic04\.data\.gz: must hold magic04\.data as pub"):
        banditsrl.make_problem("magic")
    with pytest.raises(InvalidProblem, match=r"lepiota\.data\.gz: cannot be read \(.*No such file"):
        banditsrl.make_problem("mushroom")


def same(found: tuple[Any, Any]) -> None:
    np.testing.assert_array_equal(found[0], NUMBERS[:2].T)
    np.testing.assert_array_equal(found[1], NUMBERS[2])


def test_parsed_numbers_are_kept_and_used_without_the_file(cache: Path) -> None:
    raw = put(cache)
    same(load(small_set()))
    assert sorted(path.name for path in cache.iterdir()) == ["small.data.gz", "small.data.npz"]
    raw.unlink()
    same(load(small_set()))


def test_a_named_folder_comes_before_kept_numbers_and_is_left_as_it_is(
    tmp_path: Path, cache: Path
) -> None:
    named = put(tmp_path / "named")
    same(load(small_set(), data_dir=named.parent))
    assert [path.name for path in named.parent.iterdir()] == ["small.data.gz"]
    assert not cache.exists()
    named.write_bytes(gzip.compress(b"other"))
    with pytest.raises(InvalidProblem, match=r"must hold small\.data as published"):
        load(small_set(), data_dir=named.parent)


def other_numbers() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, table=NUMBERS + 1)
    return stream.getvalue()


@pytest.mark.parametrize("content", [b"", b"half", other_numbers(), other_numbers()[:200]])
def test_damaged_numbers_are_ignored_and_written_again(content: bytes, cache: Path) -> None:
    put(cache)
    put(cache, "small.data.npz", content)
    with pytest.warns(
        UserWarning, match=r"small\.data\.npz is damaged; it is ignored and written again"
    ):
        same(load(small_set()))
    same(load(small_set()))


@pytest.mark.skipif(not HAS_COVERTYPE, reason="Covertype is not beside the tests")
def test_covertype_has_the_published_shape_and_counts() -> None:
    chosen = DATASETS["covertype"]
    columns, labels = load(chosen, data_dir=DATA)
    problem = banditsrl.problems.TableProblem(columns, labels, name="covertype")
    assert (problem.n_contexts, problem.n_columns, problem.n_actions) == chosen.shape
    published = [211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]
    assert np.bincount(labels)[1:].tolist() == published
    everything = np.vstack([columns.T, labels[None]]).astype("<i2")
    assert hashlib.sha256(everything.tobytes()).hexdigest() == chosen.numbers_sha256
    elevation = columns[:, 0].astype(float)
    assert elevation.mean() == pytest.approx(2959.36, abs=0.01)  # as covtype.info says
    found = np.asarray(problem.representations[0].table)[:, 0]
    np.testing.assert_allclose(found, (elevation - elevation.mean()) / elevation.std(), atol=1e-5)
