"""YAML files: what is wrong, and in which line."""

from pathlib import Path

import pytest

from banditsrl.core.yaml_files import naming_lines, read_yaml
from banditsrl.errors import InvalidArgument, InvalidType, MissingArgument, UnknownName


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: [1, 2\nc: 3\n", 3), ("a: 1\n\tb: 2\n", 2), ("a: b: c\n", 1), ("a: *x\n", 1)],
)
def test_an_error_names_the_file_and_the_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InvalidArgument, match=rf"mine\.yaml, line {line}: is not valid YAML \("):
        read_yaml(path)


def test_a_file_that_is_no_text_or_not_there_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    with pytest.raises(InvalidArgument, match=r"cannot be read \(No such file"):
        read_yaml(path)
    path.write_bytes(b"a: \xff")
    with pytest.raises(InvalidArgument, match="is not valid YAML"):
        read_yaml(path)
    path.write_text("a: [1, none]")
    assert read_yaml(path) == {"a": [1, "none"]}


DOCUMENT = """name: shop
mode: lern
reward:
  wait: -3
  range:
    - 1
columns: {age: number}
"""


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UnknownName("There is no mode named 'lern'; did you mean 'learn'?"), 2),
        (InvalidArgument("wait must be positive, got -3."), 4),
        (InvalidArgument("range must be two numbers, got [1]."), 5),
        (InvalidType("There is no kind 'nothing' for 'age'."), 7),
    ],
)
def test_a_refusal_names_the_line_of_what_it_is_about(
    tmp_path: Path, error: Exception, line: int
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(DOCUMENT)
    with pytest.raises(type(error)) as found, naming_lines(path):
        raise error
    assert str(found.value) == f"{path}, line {line}: {error}"


@pytest.mark.parametrize(
    "error",
    [
        InvalidArgument("wait must be positive, got -7."),  # from elsewhere: the file has -3
        InvalidArgument("columns must be given in the configuration, got none."),
        InvalidArgument("There is no policy named 'nothing'; did you mean 'shop'?"),
        MissingArgument("name must have a value, got 'shop'.", "name"),
        ValueError("wait must be positive, got -3."),
    ],
)
def test_a_refusal_of_something_else_stays_as_it_is(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(DOCUMENT)
    for source in (path, {"wait": -3}):
        with pytest.raises(type(error)) as found, naming_lines(source):
            raise error
        assert found.value is error


def test_a_file_that_is_gone_or_damaged_changes_no_message(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for text in (None, "a: [", ""):
        if text is not None:
            path.write_text(text)
        with pytest.raises(InvalidArgument, match=r"^a must be 1, got 'b'\.$"), naming_lines(path):
            raise InvalidArgument("a must be 1, got 'b'.")


def test_of_several_places_only_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("a: {wait: -3}\nb: {wait: -3}\nc: lern\nlern: 1\n")
    for error in (
        InvalidArgument("wait must be positive, got -3."),
        UnknownName("There is no mode named 'lern'."),
    ):
        with pytest.raises(type(error)) as found, naming_lines(path):
            raise error
        assert str(found.value) == f"{path}: {error}"
