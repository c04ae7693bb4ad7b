"""The HTTP API: JSON routes, event streams, and middleware. It makes no decisions about chats."""

from pydantic import BaseModel


def _load_fastapi() -> None:
    """FastAPI describes OpenAPI with 33 models. Each is worked out at its first use: a server that nobody asks for /openapi.json needs few."""
    BaseModel.model_config["defer_build"] = True
    try:
        import fastapi  # noqa: F401  # all else in here imports it again
    finally:
        del BaseModel.model_config["defer_build"]


_load_fastapi()
