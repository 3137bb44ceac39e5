"""What does a loop need to know before its first decision? A configuration, checked as a whole.

A configuration is a YAML file or a dictionary. Every refusal names the setting, its rule and the
value received. Settings that this version does not know are refused for a new loop. For one that
is opened they are named in a warning and ignored, since it may be of another release.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from banditsrl.arguments import LARGEST_NUMBER, at_least, count, flag, positive, real
from banditsrl.core.yaml_files import naming_lines, read_yaml
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.live.loop_columns import LoopColumn, read_columns
from banditsrl.registry import guess_at

DEFAULT_POLICY = "banditsrl-auto"
DEFAULT_AUDIT = 0.01
COMBINE = ("first", "last", "sum", "error")
MODES = ("learn", "shadow", "frozen")

LONGEST_NAME = 200
"""Characters in the name of a loop, an action or a decision."""

KNOWN = (
    *("name", "actions", "columns", "action_columns", "policy", "settings", "reward", "audit"),
    *("drift", "spare_actions", "seed", "mode", "baseline"),
)
KNOWN_REWARD = ("range", "wait", "default", "combine", "clip")


@dataclass(frozen=True)
class RewardRule:
    """Which rewards count, and when.

    Attributes:
        low: Least reward, or None without a limit.
        high: Largest reward, or None without a limit.
        clip: Whether a reward outside the range counts as its nearest end; if not, it is refused.
        wait: Seconds after which a decision is closed, or None for no limit.
        default: Reward that counts if none came in time, or None to learn nothing then.
        combine: How several rewards of a decision are combined: "first", "last", "sum" or "error".
    """

    low: float | None = None
    high: float | None = None
    clip: bool = False
    wait: float | None = None
    default: float | None = None
    combine: str = "first"

    @property
    def counts_at_once(self) -> bool:
        """Whether a reward counts when it comes; if not, it counts when the wait is over."""
        return self.combine in ("first", "error")

    def check(self, value: object) -> float:
        """Return a reward that may be counted, or refuse it; True counts as 1 and False as 0."""
        number = real("reward", float(value) if isinstance(value, bool | np.bool_) else value)
        low = -LARGEST_NUMBER if self.low is None else self.low
        high = LARGEST_NUMBER if self.high is None else self.high
        if low <= number <= high:
            return number
        if self.clip:
            return min(max(number, low), high)
        raise InvalidArgument(f"reward must lie between {low:g} and {high:g}, got {value!r}.")


@dataclass(frozen=True)
class LoopConfig:
    """The configuration of a loop; `read_config` makes one."""

    name: str
    actions: Mapping[str, Mapping[str, Any]]  # the columns of each action, empty if it has none
    columns: tuple[LoopColumn, ...]
    action_columns: tuple[LoopColumn, ...] = ()
    policy: str = DEFAULT_POLICY
    settings: Mapping[str, Any] = field(default_factory=dict)
    reward: RewardRule = field(default_factory=RewardRule)
    audit: float | str | None = None
    drift: float | None = None
    spare_actions: int = 4
    seed: int = 0
    mode: str = "learn"
    baseline: str | None = None
    document: Mapping[str, Any] = field(default_factory=dict)  # as it was given

    @property
    def n_slots(self) -> int:
        """Number of actions that the policy is built for, spare ones included."""
        return len(self.actions) + self.spare_actions


def read_config(source: Mapping[str, Any] | str | Path, *, strict: bool = False) -> LoopConfig:
    """Return the configuration in a dictionary or in a YAML file.

    Unknown settings are refused if `strict`; otherwise a warning names them and they are ignored.
    """
    with naming_lines(source):
        document = dict(source) if isinstance(source, Mapping) else _read_yaml(Path(source))
        return _parse_config(document, strict)


def _parse_config(document: dict[str, Any], strict: bool) -> LoopConfig:
    _check_known("setting", document, KNOWN, strict)
    for name in ("name", "actions", "columns"):
        if name not in document:
            raise InvalidArgument(f"{name} must be given in the configuration of a loop, got none.")
    policy = str(document.get("policy", DEFAULT_POLICY))
    config = LoopConfig(
        name=check_name("name", document["name"]),
        actions=_read_actions(document["actions"]),
        columns=read_columns("columns", document["columns"]),
        action_columns=read_columns("action_columns", document.get("action_columns") or {}),
        policy=policy,
        settings=_read_mapping("settings", document.get("settings") or {}),
        reward=_read_reward(document.get("reward") or {}, strict),
        audit=document.get("audit", DEFAULT_AUDIT if policy == DEFAULT_POLICY else None),
        drift=document.get("drift"),
        spare_actions=count("spare_actions", document.get("spare_actions", 4), 0),
        seed=count("seed", document.get("seed", 0), 0),
        mode=check_word("mode", document.get("mode", "learn"), MODES),
        baseline=document.get("baseline"),
        document=document,
    )
    _check_together(config)
    if strict:
        _check_defaults(config)
        _check_action_values(config)
    return config


def check_name(name: str, value: object) -> str:
    """Return a name of a loop, an action or a decision: short printable text."""
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be text, got {value!r}.")
    if not value or len(value) > LONGEST_NAME or not value.isprintable():
        raise InvalidArgument(
            f"{name} must be 1 to {LONGEST_NAME} printable characters, got {value[:50]!r}."
        )
    return value


def check_word(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return one of the allowed words; another one is refused, and the nearest is offered."""
    if value not in allowed:
        guess = guess_at(value, allowed)
        raise InvalidArgument(f"{name} must be one of {', '.join(allowed)}, got {value!r}{guess}")
    return str(value)


def find_differences(one: LoopConfig, other: LoopConfig) -> list[str]:
    """Return the names of the settings in which two configurations differ."""
    names = [field.name for field in fields(LoopConfig) if field.name not in ("reward", "document")]
    found = [name for name in names if one.__dict__[name] != other.__dict__[name]]
    rules = (one.reward.__dict__, other.reward.__dict__)
    words = {"low": "range", "high": "range"}
    changed = [words.get(name, name) for name in rules[0] if rules[0][name] != rules[1][name]]
    return [*found, *(f"reward.{name}" for name in dict.fromkeys(changed))]


def _check_together(config: LoopConfig) -> None:
    """Refuse settings that contradict each other."""
    if not config.columns and not config.action_columns:
        raise InvalidArgument("columns must name one or more columns, got none.")
    if config.baseline is not None and config.baseline not in config.actions:
        guess = guess_at(config.baseline, config.actions)
        raise InvalidArgument(
            f"baseline must be one of the actions, got {config.baseline!r}{guess}"
        )
    known = {column.name for column in config.action_columns}
    for action, values in config.actions.items():
        if unknown := sorted(set(values) - known):
            raise InvalidArgument(
                f"action_columns must declare every column of an action, got {unknown[0]!r} "
                f"of {action!r}."
            )
    rule = config.reward
    if not rule.counts_at_once and rule.wait is None:
        raise InvalidArgument(f"wait must be given if rewards combine by {rule.combine}, got none.")


def _check_defaults(config: LoopConfig) -> None:
    """Refuse defaults that are larger than numbers of a request may be."""
    for column in (*config.columns, *config.action_columns):
        default = column.column.default or 0.0
        if abs(default) > LARGEST_NUMBER:
            raise InvalidArgument(
                f"default of {column.name} must be at most {LARGEST_NUMBER:g} in size, got "
                f"{default:g}."
            )


def _check_action_values(config: LoopConfig) -> None:
    """Refuse values of action columns that no decision could use."""
    for action, values in config.actions.items():
        for column in config.action_columns:
            try:
                column.encode(values.get(column.name))
            except (InvalidArgument, InvalidType) as error:
                raise type(error)(f"action {action!r}: {error}") from None


def _read_actions(value: Any) -> dict[str, dict[str, Any]]:
    """Return the actions by name, from a list of names or a mapping of names to columns."""
    if isinstance(value, Mapping):
        named = [(name, dict(columns or {})) for name, columns in value.items()]
    elif isinstance(value, Sequence) and not isinstance(value, str):
        named = [(name, {}) for name in value]
    else:
        raise InvalidType(f"actions must be a list of names or a mapping, got {value!r}.")
    for name, _ in named:
        check_name("actions", name)
    actions = dict(named)
    if not actions or len(actions) < len(named):
        raise InvalidArgument(f"actions must be one or more different names, got {value!r}.")
    return actions


def _read_reward(value: Any, strict: bool) -> RewardRule:
    document = _read_mapping("reward", value)
    _check_known("setting of reward", document, KNOWN_REWARD, strict)
    low, high = _read_range(document.get("range"))
    wait, default = document.get("wait"), document.get("default")
    rule = RewardRule(
        low=low,
        high=high,
        clip=flag("clip", document.get("clip", False)),
        wait=None if wait is None else positive("wait", wait),
        combine=check_word("combine", document.get("combine", "first"), COMBINE),
    )
    if default is None:
        return rule
    if rule.wait is None:
        raise InvalidArgument(f"wait must be given with a default reward, got default {default!r}.")
    return RewardRule(**{**rule.__dict__, "default": rule.check(default)})


def _read_range(value: Any) -> tuple[float | None, float | None]:
    if value is None:
        return None, None
    numbers = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    if len(numbers) != 2:
        raise InvalidArgument(f"range must be two numbers, the smaller one first, got {value!r}.")
    low = at_least("range", numbers[0], -LARGEST_NUMBER)
    high = real("range", numbers[1])
    if not low < high <= LARGEST_NUMBER:
        raise InvalidArgument(f"range must be two numbers, the smaller one first, got {value!r}.")
    return low, high


def _read_mapping(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidType(f"{name} must be a mapping of names to values, got {value!r}.")
    return dict(value)


def _check_known(
    kind: str, document: Mapping[str, Any], known: Sequence[str], strict: bool
) -> None:
    for name in document:
        if name not in known:
            if strict:
                raise InvalidArgument(f"There is no {kind} named {name!r}{guess_at(name, known)}")
            warnings.warn(
                f"This version does not know the {kind} {name!r} and ignores it.",
                UserWarning,
                stacklevel=5,
            )


def _read_yaml(path: Path) -> dict[str, Any]:
    return _read_mapping(str(path), read_yaml(path))
