"""The choice of an engine: a wrong one is refused."""

from typing import Any

import pytest

import banditsrl
from banditsrl.engines.engine import make_engine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "slurm"}, "engine must be one of local, ray"),
        ({"name": "local", "workers": 0}, "workers must be at least 1"),
        ({"name": "local", "address": "auto"}, "address must be given with the engine ray only"),
    ],
)
def test_a_wrong_engine_is_refused(options: dict[str, Any], message: str) -> None:
    settings = {"workers": None, "address": None, "n_jobs": 1, **options}
    with pytest.raises(banditsrl.errors.InvalidArgument, match=message):
        make_engine(settings.pop("name"), **settings)
