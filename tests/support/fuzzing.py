"""Fuzzes a running server by its own description: a few seeded requests per operation, fitting and unfitting ones."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
STREAMS = ("/events", "/context/{chat_id}/events")
PASSED_ON = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings")
LEFT_OUT = (*STREAMS, *PASSED_ON)


@dataclass(frozen=True)
class Fuzzer:
    """`known` gives real ids for path parameters, so that requests come further than 404."""

    url: str
    token: str
    known: Mapping[str, str]
    examples: int

    def run(self, document: dict[str, object]) -> Iterator[str]:
        """Yields each operation that held; raises what schemathesis says of one that did not. Streams are left out, as they do not
        end, and so is what a provider answers: its faults are passed on unchanged."""
        schema = schemathesis.openapi.from_dict(document)
        schema.config.update(base_url=self.url)
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path not in LEFT_OUT:
                for mode in GenerationMode:
                    self._hold(operation, mode)
                yield operation.label

    def _hold(self, operation: APIOperation, mode: GenerationMode) -> None:
        @seed(20261115)
        @settings(
            max_examples=self.examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def hold(case: schemathesis.Case) -> None:
            for name, value in self.known.items():
                if name in case.path_parameters and operation.method != "delete":
                    case.path_parameters[name] = value
            response = case.call(headers={"Authorization": f"Bearer {self.token}"})
            case.validate_response(response, checks=CHECKS)

        with suppress(Unsatisfiable):  # an operation without parameters has no unfitting request
            hold()
