"""Does the service do what `/openapi.json` says? schemathesis tries what the description allows."""

from typing import Any

import pytest

from banditsrl.web.application import list_operations

schemathesis = pytest.importorskip("schemathesis", reason="no schemathesis: install the extra test")
