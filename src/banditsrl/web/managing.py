"""What can an administrator change? Actions, the model that decides, the mode and kept contexts.

A loop refuses what does not fit, as it does for `banditsrl loop`.
"""

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import UNSET, Meta

from banditsrl.web import bodies
from banditsrl.web.operations import Call, Operation

Version = Annotated[int, Meta(ge=0, le=2**53)]


def add_action(call: Call) -> bodies.DoneAnswer:
    """Add an action."""
    body: bodies.NewActionBody = call.body
    loop = call.loops.find(body.loop)
    loop.add_action(body.name, columns=body.columns)
    return bodies.DoneAnswer(loop.name, f"{body.name!r} was added.")


def pause_action(call: Call) -> bodies.DoneAnswer:
    """Pause an action."""
    body: bodies.ActionBody = call.body
    loop = call.loops.find(body.loop)
    loop.pause_action(body.name)
    return bodies.DoneAnswer(loop.name, f"{body.name!r} is paused.")


def resume_action(call: Call) -> bodies.DoneAnswer:
    """Resume a paused action."""
    body: bodies.ActionBody = call.body
    loop = call.loops.find(body.loop)
    loop.resume_action(body.name)
    return bodies.DoneAnswer(loop.name, f"{body.name!r} is played again.")


def retire_action(call: Call) -> bodies.DoneAnswer:
    """Retire an action for ever."""
    body: bodies.ActionBody = call.body
    loop = call.loops.find(body.loop)
    loop.retire_action(body.name)
    return bodies.DoneAnswer(loop.name, f"{body.name!r} was retired and will not come back.")


def promote_model(call: Call) -> bodies.DoneAnswer:
    """Put an older version of the model back."""
    loop, version = call.loops.find(call.query.loop), call.path["version"]
    loop.promote(version)
    return bodies.DoneAnswer(loop.name, f"Model {version} decides until training is resumed.")


def resume_training(call: Call) -> bodies.DoneAnswer:
    """Train again after a promotion."""
    loop = call.loops.find(call.query.loop)
    loop.resume()
    return bodies.DoneAnswer(loop.name, "New versions of the model are trained again.")


def set_mode(call: Call) -> bodies.DoneAnswer:
    """Change the mode."""
    body: bodies.ModeBody = call.body
    loop = call.loops.find(body.loop)
    loop.set_mode(body.mode)
    return bodies.DoneAnswer(loop.name, f"The mode is {body.mode}.")


def erase(call: Call) -> bodies.EraseAnswer:
    """Erase contexts."""
    body: bodies.EraseBody = call.body
    loop = call.loops.find(body.loop)
    given = {} if body.value is UNSET else {"value": body.value}
    n = loop.erase(body.ids, column=body.column, **given)
    return bodies.EraseAnswer(loop.name, f"Erased contexts: {n:,}.", n)


def _post(
    path: str,
    summary: str,
    run: Callable[[Call], bodies.DoneAnswer],
    body: Any = None,
    query: Any = None,
    answer: type[bodies.DoneAnswer] = bodies.DoneAnswer,
) -> Operation:
    types = {"version": Version} if "{version}" in path else {}
    return Operation("POST", path, "admin", summary, run, answer, body, query, path_types=types)


MANAGING = (
    _post("/v1/actions", "Add an action.", add_action, bodies.NewActionBody),
    _post("/v1/actions/pause", "Pause an action.", pause_action, bodies.ActionBody),
    _post("/v1/actions/resume", "Resume an action.", resume_action, bodies.ActionBody),
    _post("/v1/actions/retire", "Retire an action.", retire_action, bodies.ActionBody),
    _post(
        "/v1/models/{version}/promote",
        "Put a version of the model back.",
        promote_model,
        query=bodies.LoopQuery,
    ),
    _post(
        "/v1/models/resume",
        "Train again after a promotion.",
        resume_training,
        query=bodies.LoopQuery,
    ),
    _post("/v1/mode", "Change the mode: learn, shadow or frozen.", set_mode, bodies.ModeBody),
    _post(
        "/v1/erase",
        "Erase the contexts of decisions, by their ids or by the value of a column.",
        erase,
        bodies.EraseBody,
        answer=bodies.EraseAnswer,
    ),
)
"""Everything that needs the scope `admin`."""
