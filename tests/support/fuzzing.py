"""Fuzzes a running server by its own description: a few seeded requests per operation, fitting and unfitting ones."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
_STREAMS = ("/events", "/context/{chat_id}/events")


def fuzz(
    url: str, token: str, document: dict[str, object], known: Mapping[str, str], *, examples: int
) -> Iterator[str]:
    """Yields each operation that held. `known` gives real ids for path parameters, so that requests come further than 404.

    Raises: whatever schemathesis says of an operation that did not hold.
    """
    headers = {"Authorization": f"Bearer {token}"}
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=url)
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path in _STREAMS:
            continue
        for mode in GenerationMode:

            @seed(20261115)
            @settings(
                max_examples=examples,
                deadline=None,
                database=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def hold(case: schemathesis.Case) -> None:
                for name, value in known.items():
                    if name in case.path_parameters and operation.method != "delete":
                        case.path_parameters[name] = value
                response = case.call(headers=headers)
                case.validate_response(response, checks=CHECKS)

            with suppress(Unsatisfiable):  # an operation without parameters has no unfitting request
                hold()
        yield operation.label
