"""How is a policy written as text? By its registered name, with settings after it."""

import json
from typing import Any

from banditsrl.core.policy import Policy
from banditsrl.errors import InvalidArgument
from banditsrl.logs.log import LogSchema
from banditsrl.policies.policy_catalogue import make_policy
from banditsrl.problems.stream import Stream


def read_policy(words: str, schema: LogSchema) -> Policy[Any]:
    """Return a policy for the columns and actions of a log.

    Args:
        words: The name of a policy, and settings after commas: ``tree-egreedy,epsilon=0.05``.
        schema: What the rounds of the log have in common.

    Example:
        >>> from banditsrl.logs.log import LogSchema
        >>> schema = LogSchema(actions=("red", "green"), columns=("age", "one"))
        >>> read_policy("linucb-disjoint,ucb_scale=0.2", schema).ucb_scale
        0.2
    """
    name, *rest = words.split(",")
    if not name:
        raise InvalidArgument("policy must be the name of a policy, got an empty text.")
    settings = dict(_read_setting(words, text) for text in rest)
    stream = Stream(n_columns=len(schema.columns), n_actions=schema.n_actions)
    return make_policy(name, stream, **settings)


def _read_setting(words: str, text: str) -> tuple[str, Any]:
    """Return the name and the value of a setting; a value is JSON, or else plain text."""
    name, found, value = text.partition("=")
    if not found or not name:
        raise InvalidArgument(f"settings must be name=value after commas, got {words!r}.")
    try:
        return name.strip(), json.loads(value)
    except json.JSONDecodeError:
        return name.strip(), value
