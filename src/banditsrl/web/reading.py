"""What does the service show? Decisions, explanations, trust, models, history and the log."""

from dataclasses import asdict
from typing import Any

import msgspec

from banditsrl.live_store.records import Decision
from banditsrl.web import bodies, views
from banditsrl.web.operations import Call, Operation


def show_loops(call: Call) -> views.LoopsView:
    """Show where every loop stands."""
    loops = call.loops.opened
    return views.LoopsView(loops=[_convert(name, loop.status()) for name, loop in loops.items()])


def show_status(call: Call) -> views.StatusView:
    """Show where a loop stands."""
    loop = call.loops.find(call.query.loop)
    return _convert(loop.name, loop.status())


def _convert(name: str, status: dict[str, Any]) -> views.StatusView:
    return msgspec.convert({**status, "loop": name}, views.StatusView)


def show_decisions(call: Call) -> views.DecisionsView:
    """Show the latest decisions."""
    loop = call.loops.find(call.query.loop)
    found = loop.decisions(last=call.query.last)
    return views.DecisionsView(decisions=[_detail(each, loop.outcome(each.id)) for each in found])


def show_decision(call: Call) -> views.DecisionDetail:
    """Show one decision."""
    loop, wanted = call.loops.find(call.query.loop), call.path["id"]
    return _detail(loop.decision(wanted), loop.outcome(wanted))


def _detail(decision: Decision, outcome: dict[str, Any]) -> views.DecisionDetail:
    return views.DecisionDetail(
        decision=views.DecisionView.describe(decision),
        outcome=msgspec.convert(outcome, views.OutcomeView),
    )


def explain_decision(call: Call) -> views.ExplanationView:
    """Explain one decision."""
    found = call.loops.find(call.query.loop).explain(call.path["id"])
    detail = _detail(found["decision"], found["outcome"])
    return views.ExplanationView(
        decision=detail.decision,
        outcome=detail.outcome,
        predicted=found["predicted"],
        second=found["second"],
        sentences=found["sentences"],
    )


def show_trust(call: Call) -> views.TrustView:
    """Show what the certificates are worth."""
    loop = call.loops.find(call.query.loop)
    trust = loop.trust()
    return msgspec.convert(
        {**asdict(trust), "loop": loop.name, "sentence": str(trust)}, views.TrustView
    )


def show_models(call: Call) -> views.ModelsView:
    """Show the versions of the model."""
    loop = call.loops.find(call.query.loop)
    return msgspec.convert({"loop": loop.name, "models": loop.models()}, views.ModelsView)


def show_actions(call: Call) -> views.ActionsView:
    """Show the actions."""
    loop = call.loops.find(call.query.loop)
    return msgspec.convert({"loop": loop.name, "actions": loop.actions()}, views.ActionsView)


def show_history(call: Call) -> views.HistoryView:
    """Show the past."""
    loop = call.loops.find(call.query.loop)
    found = loop.history(bins=call.query.bins)
    return msgspec.convert({"loop": loop.name, "bins": found}, views.HistoryView)


def show_log(call: Call) -> views.LogView:
    """Show a part of the log."""
    loop = call.loops.find(call.query.loop)
    return views.LogView(
        loop=loop.name, records=list(loop.log(after=call.query.after, limit=call.query.limit))
    )


def _get(
    path: str, summary: str, run: Any, answer: Any, query: Any = bodies.LoopQuery
) -> Operation:
    types = {"id": bodies.Id} if "{id}" in path else {}
    return Operation("GET", path, "read", summary, run, answer, query=query, path_types=types)


READING = (
    _get("/v1/loops", "List the loops.", show_loops, views.LoopsView, None),
    _get("/v1/status", "Show where a loop stands.", show_status, views.StatusView),
    _get(
        "/v1/decisions",
        "Show the latest decisions.",
        show_decisions,
        views.DecisionsView,
        bodies.LastQuery,
    ),
    _get("/v1/decisions/{id}", "Show one decision.", show_decision, views.DecisionDetail),
    _get("/v1/explain/{id}", "Explain one decision.", explain_decision, views.ExplanationView),
    _get("/v1/trust", "Show what certificates are worth.", show_trust, views.TrustView),
    _get("/v1/models", "List the versions of the model.", show_models, views.ModelsView),
    _get("/v1/actions", "List the actions.", show_actions, views.ActionsView),
    _get("/v1/history", "Show the past.", show_history, views.HistoryView, bodies.BinsQuery),
    _get("/v1/log", "Show a part of the log.", show_log, views.LogView, bodies.LogQuery),
)
"""Everything that needs the scope `read`."""
