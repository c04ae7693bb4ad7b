"""The description is complete and true."""

from anycowork.api.application import NOUNS
from anycowork.api.openapi import event_schema_name
from anycowork.api.router import Route
from anycowork.api.router import describe_route as described_routes
from anycowork.domain.events import EventType
from support.spec import proves


async def described(client):
    answer = await client.get("/openapi.json")
    assert answer.status == 200
    return answer.json()


async def test_every_route_documents_its_answers_and_errors(client):
    document = await described(client)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            statuses = set(operation["responses"])
            assert any(status.startswith("2") for status in statuses), (method, path)
            assert {"401", "403", "500"} <= statuses, (method, path)
            if "requestBody" in operation:
                assert {"400", "413", "422"} <= statuses, (method, path)
            for status in statuses - {"200", "201", "202", "204"}:
                assert operation["responses"][status] == {"$ref": f"#/components/responses/Error{status}"}, (
                    method,
                    path,
                )
                assert f"Error{status}" in document["components"]["responses"], (method, path)
    for name, response in document["components"]["responses"].items():
        assert response["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}, name


def test_a_route_works_out_what_it_answers_with_only_to_be_described():
    routes = [route for noun in NOUNS for route in noun.routes.routes if route.include_in_schema]
    assert len(routes) > 50
    for route in routes:
        assert isinstance(route, Route), f"{route.path}: of Router, not of APIRouter?"
        assert described_routes([route])[0].response_fields, route.path


@proves("EVT-1/1")
async def test_every_event_has_a_schema_of_its_own(client):
    document = await described(client)
    schemas = document["components"]["schemas"]
    for event in EventType:
        assert schemas[event_schema_name(event)]["properties"]["type"] == {"const": event.value}
    assert len(schemas["EventEnvelope"]["oneOf"]) == len(EventType)
    for path in ("/events", "/context/{chat_id}/events"):
        assert "text/event-stream" in document["paths"][path]["get"]["responses"]["200"]["content"]


@proves("ROL-2/1")
async def test_a_role_is_an_enum_wherever_one_is_asked_for(client):
    document = await described(client)
    schemas = document["components"]["schemas"]
    names = schemas["RoleName"]["enum"]
    assert {"planner", "actor", "commander", "designer", "reviewer", "tester", "plan", "act"} == set(names)
    for shape, field in (("NewChatRequest", "agent_role"), ("ModeSwitch", "mode"), ("RoleSwitch", "role")):
        assert {"$ref": "#/components/schemas/RoleName"} in schemas[shape]["properties"][field]["anyOf"]
    asked = document["paths"]["/v1/system-prompts/{prompt_id}/enhanced"]["get"]["parameters"]
    (role,) = [parameter["schema"] for parameter in asked if parameter["name"] == "role"]
    assert {"$ref": "#/components/schemas/RoleName"} in role["anyOf"]


@proves("TOOL-1/2")
async def test_no_path_offers_tools(client):
    document = await described(client)
    assert not [path for path in document["paths"] if "tool" in path]


@proves("GW-1")
async def test_the_passthrough_is_described(client):
    paths = (await described(client))["paths"]
    assert "get" in paths["/v1/models"]
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/embeddings"):
        assert set(paths[path]["post"]["responses"]["200"]["content"]) == {"application/json", "text/event-stream"}
        assert "parameters" not in paths[path]["post"], "an Idempotency-Key is the provider's affair"


async def test_every_post_outside_v1_takes_an_idempotency_key(client):
    for path, methods in (await described(client))["paths"].items():
        if "post" in methods and not path.startswith("/v1/"):
            names = [parameter["name"] for parameter in methods["post"]["parameters"]]
            assert "Idempotency-Key" in names, path
