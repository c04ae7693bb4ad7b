import pytest
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from anycowork.api.asgi import send_bytes
from anycowork.api.errors import ErrorMiddleware, error_response
from anycowork.domain import errors, provider_errors
from anycowork.workspace.jail import RefusedBySystem
from support.asgi import Client


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.NotFound("chat", "x"), 404, "chat_not_found"),
        (errors.NotFound("client key", "x"), 404, "client_key_not_found"),
        (errors.TurnAlreadyRunning("busy"), 409, "turn_running"),
        (errors.NotAllowed("no"), 403, "not_allowed"),
        (errors.OutsideWorkspace("no"), 403, "outside_workspace"),
        (errors.UnknownRole("no such", param="agent_role"), 422, "unknown_role"),
        (provider_errors.NoSuchModel("no"), 422, "no_such_model"),
        (provider_errors.Unreachable("gone"), 502, "provider_unreachable"),
        (errors.StorageFault("locked"), 503, "storage_failed"),
        (errors.TooManySteps("enough"), 429, "too_many_steps"),
        (errors.FileMissing("gone"), 409, "file_missing"),
        (HTTPException(404), 404, "route_not_found"),
        (HTTPException(405), 405, "method_not_allowed"),
        (KeyError("secret"), 500, "internal_error"),
    ],
)
def test_every_error_has_its_status_and_code(error, status, code):
    answer = error_response(error)
    assert (answer.status, answer.code) == (status, code)
    assert set(answer.to_json()["error"]) == {"code", "message", "param", "type"}


def test_every_error_is_mapped_to_a_real_status():
    def kinds(base):
        below = [each for child in base.__subclasses__() for each in kinds(child)]
        return [kind for kind in (base, *below) if not kind.__module__.startswith("anycowork.cli")]  # the other end

    needed = {errors.HeldElsewhere: {"chat_id": "x"}, RefusedBySystem: {"error": OSError()}}
    for kind in kinds(errors.AnyCoworkError):
        more = needed.get(kind, {})
        error = kind("chat", "x") if issubclass(kind, errors.NotFound) else kind("a sentence", **more)
        assert 400 <= error_response(error).status <= 599


def faulty(kind, *place, message="Input should be a valid string"):
    return RequestValidationError([{"type": kind, "loc": place, "msg": message, "input": "hunter2"}])


def test_a_fault_names_the_field_by_its_dotted_path_and_never_repeats_the_input():
    answer = error_response(faulty("string_type", "body", "decisions", 0, "id"))
    assert (answer.status, answer.param) == (422, "decisions.0.id")
    assert answer.message == "'decisions.0.id' should be a valid string."
    assert "hunter2" not in str(answer.to_json())


def test_missing_and_surplus_fields_are_said_plainly():
    assert error_response(faulty("missing", "body", "content")).message == "'content' is missing."
    assert error_response(faulty("extra_forbidden", "body", "x")).message == "'x' is not a field here; remove it."


def test_unparsable_json_is_a_400():
    assert error_response(faulty("json_invalid", "body", 3)).status == 400


async def test_the_unforeseen_is_answered_without_a_word_of_itself_and_logged(caplog):
    async def broken(scope, receive, send):
        raise RuntimeError("the password is hunter2")

    answer = await Client(ErrorMiddleware(broken)).get("/x")
    assert (answer.status, answer.error["code"]) == (500, "internal_error")
    assert b"hunter2" not in answer.body and b"Traceback" not in answer.body
    assert "unexpected error at GET /x" in caplog.text


async def test_an_error_after_the_answer_began_is_not_answered_twice():
    async def half(scope, receive, send):
        await send_bytes(send, 200, b"ok", content_type=b"text/plain")
        raise RuntimeError("too late")

    assert (await Client(ErrorMiddleware(half)).get("/x")).status == 200


async def test_a_missing_token_says_how_to_authenticate():
    async def closed(scope, receive, send):
        raise errors.Unauthenticated("no token")

    answer = await Client(ErrorMiddleware(closed)).get("/x")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
