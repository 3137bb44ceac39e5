"""What does `/openapi.json` say? It is made from the table of operations and from their structs."""

from collections.abc import Iterable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import msgspec

from banditsrl.version import VERSION
from banditsrl.web.operations import Operation
from banditsrl.web.refusals import RefusalAnswer

TEMPLATE = "#/components/schemas/{name}"

ALWAYS = (400, 403, 422, 429, 503, 504)
WITH_TOKEN = (401,)
WITH_INPUT = (404, 409)
WITH_BODY = (408, 413, 415)
"""Statuses of refusals: of every operation, and of those that take something."""

SECURITY = {
    "token": {"type": "http", "scheme": "bearer"},
    "key": {"type": "apiKey", "in": "header", "name": "Ocp-Apim-Subscription-Key"},
}


def describe_service(operations: Iterable[Operation], *, tokens: bool) -> dict[str, Any]:
    """Return the description of the service as a document of OpenAPI 3.1.

    `tokens` says whether the service asks for tokens.
    """
    operations = tuple(op if tokens else replace(op, scope=None) for op in operations)
    kinds = [kind for each in operations for kind in _kinds(each)] + [RefusalAnswer]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=TEMPLATE)
    known = dict(zip([_identify(kind) for kind in kinds], schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        described = _describe(each, known, components)
        paths.setdefault(each.path, {})[each.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "banditsrl", "version": VERSION, "description": DESCRIPTION},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": SECURITY if tokens else {}},
    }


DESCRIPTION = (
    "Decisions that are learned from their rewards. A refusal is one sentence and changes nothing. "
    "A decision with an id, and a reward with a key, are safe to repeat."
)


def _kinds(operation: Operation) -> list[Any]:
    kinds = (operation.body, operation.query, operation.answer, *operation.path_types.values())
    return [kind for kind in kinds if kind is not None]


def _identify(kind: Any) -> str:
    return repr(kind)


def _describe(
    operation: Operation, known: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": _describe_responses(operation, known),
    }
    if parameters := _describe_parameters(operation, known, components):
        described["parameters"] = parameters
    if operation.body is not None:
        content = {"application/json": {"schema": known[_identify(operation.body)]}}
        described["requestBody"] = {"required": True, "content": content}
    if operation.scope is not None:
        described["description"] = f"The token needs the scope `{operation.scope}`."
        described["security"] = [{"token": []}, {"key": []}]
    return described


def _describe_parameters(
    operation: Operation, known: dict[str, Any], components: dict[str, Any]
) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": known[_identify(kind)]}
        for name, kind in operation.path_types.items()
    ]
    if operation.query is None:
        return parameters
    fields = components[operation.query.__name__]["properties"]
    return parameters + [
        {"name": name, "in": "query", "required": False, "schema": _drop_null(schema)}
        for name, schema in fields.items()
    ]


def _drop_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter that is simply left out where it is null."""
    kept = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            kept |= choice
    if schema.get("default") is not None:
        kept["default"] = schema["default"]
    return kept


def _describe_responses(operation: Operation, known: dict[str, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": HTTPStatus(operation.status).phrase}
    if operation.answer is not None:
        media = (operation.media or "application/json").partition(";")[0]
        success["content"] = {media: {"schema": known[_identify(operation.answer)]}}
    responses = {str(int(operation.status)): success}
    refusal = {"application/json": {"schema": known[_identify(RefusalAnswer)]}}
    for status in list_refusals(operation):
        responses[str(status)] = {"description": HTTPStatus(status).phrase, "content": refusal}
    return responses


def list_refusals(operation: Operation) -> list[int]:
    """Return the statuses with which an operation may refuse a request."""
    statuses = set(ALWAYS)
    if operation.scope is not None:
        statuses |= set(WITH_TOKEN)
    if operation.query is not None or operation.body is not None or operation.path_types:
        statuses |= set(WITH_INPUT)
    if operation.body is not None:
        statuses |= set(WITH_BODY)
    return sorted(statuses)
