"""YAML files: what is wrong, and in which line."""

from pathlib import Path

import pytest

from banditsrl.core.yaml_files import read_yaml
from banditsrl.errors import InvalidArgument


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
