"""One OpenAI-compatible server: its address, its key, and the meaning of its refusals for a person."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import field
from urllib.parse import urlsplit

from anycowork.domain.metering import Price
from anycowork.domain.provider_errors import (
    BadKey,
    NoSuchModel,
    Overloaded,
    PromptTooLong,
    ProviderFault,
    RateLimited,
    RejectedRequest,
    Unreachable,
    Untrusted,
)
from anycowork.domain.values import value
from anycowork.providers.http.certificates import distrust, innermost
from anycowork.providers.http.proxy_env import HttpTarget, UnusableProxy, target_of
from anycowork.providers.openai.native_calls import error_code, error_words

MAX_WORDS = 500
_TOO_LONG_CODES = ("context_length_exceeded", "exceed_context_size_error")
_TOO_LONG = (
    "maximum context length",
    "context length exceeded",
    "context window",
    "context size",
    "prompt is too long",
)
_OUT_OF_CREDIT = ("insufficient_quota", "billing_hard_limit_reached")


@value
class Upstream:
    """`key` is fetched for each request and never stored, so printing this object cannot show it. `proxy` is the URL of the proxy;
    it may hold a password. `ca_file` names authorities that are trusted besides those of this machine."""

    name: str
    base_url: str
    key_env: str | None = None
    prices: Mapping[str, Price] = field(default_factory=dict, compare=False)
    key: Callable[[], str | None] = field(default=lambda: None, repr=False, compare=False)
    proxy: str | None = field(default=None, repr=False)
    ca_file: str | None = None

    def url(self, path: str) -> str:
        return f"{self.base_url.rstrip('/')}/{path}"

    def target(self) -> HttpTarget:
        """Raises: RejectedRequest if the address is not usable."""
        try:
            return target_of(self.base_url, self.proxy, self.ca_file)
        except UnusableProxy as reason:
            raise RejectedRequest(f"The address of {self.name} is not usable: {reason}. Correct it.") from None

    @property
    def bound_field(self) -> str:
        """OpenAI's newer models refuse `max_tokens`; most other servers know nothing else."""
        host = urlsplit(self.base_url).hostname or ""
        is_openai = host == "api.openai.com" or host.endswith(".openai.azure.com")
        return "max_completion_tokens" if is_openai else "max_tokens"

    def headers(self) -> dict[str, str]:
        """Raises: BadKey if the configured key cannot be sent in a header."""
        key = (self.key() or "").strip()
        if not all("!" <= char <= "~" for char in key):
            raise BadKey(f"The key of {self.name} contains invalid characters. {self._key_advice()}")
        return {"Authorization": f"Bearer {key}"} if key else {}

    def quoted(self, message: str) -> str:
        """Returns the server's message on one line, bounded, without the key or the proxy's password."""
        if key := (self.key() or "").strip():
            message = message.replace(key, "[key]")
        if self.proxy and "@" in self.proxy:
            message = message.replace(self.proxy.split("://", 1)[1].rsplit("@", 1)[0], "[proxy's password]")
        message = " ".join(message.split())
        return message if len(message) <= MAX_WORDS else f"{message[:MAX_WORDS]}…"

    def unreachable(self, error: BaseException) -> ProviderFault:
        """Explains why no connection was made, or why it was lost before an answer."""
        if reason := distrust(error, self.ca_file):
            return Untrusted(f"{self.name} cannot be asked at {self.base_url}: {self.quoted(reason)}.")
        way_out = "Check HTTPS_PROXY and NO_PROXY." if self.proxy else "Is it running?"
        reason = self.quoted(_in_plain_words(innermost(error))) or type(error).__name__
        return Unreachable(f"{self.name} cannot be reached at {self.base_url} ({reason}). {way_out}")

    def fault(self, status: int, body: bytes, *, model: str) -> ProviderFault:
        """Explains what this refusal means, and who can do something about it."""
        message, code = self.quoted(error_words(body)), error_code(body)
        detail = f" It says: {message}{'' if message[-1] in '.!?…' else '.'}" if message else ""
        if status in (401, 403):
            # Its message is left out here: some servers repeat a part of the key.
            if not (self.key() or "").strip():
                return BadKey(f"{self.name} asks for a key ({status}). {self._key_advice()}")
            return BadKey(f"{self.name} refused the key ({status}). {self._key_advice()}")
        if code == "model_not_found" or (status == 404 and "model" in message.lower()):
            return NoSuchModel(f"{self.name} has no model '{model}'.{detail} Choose another model.")
        if code in _OUT_OF_CREDIT:
            return RateLimited(
                f"The account at {self.name} has no credit left.{detail} Add some, or use another model."
            )
        if status == 429:
            return RateLimited(f"{self.name} accepts no more requests for now (429).{detail} Try again later.")
        if status == 408 or status >= 500:
            return Overloaded(f"{self.name} could not answer ({status}).{detail} Try again later.")
        if status == 404 or 300 <= status < 400:
            return RejectedRequest(
                f"{self.url('chat/completions')} is not there ({status}).{detail} Check the address of {self.name}: most end in /v1."
            )
        if code in _TOO_LONG_CODES or any(mark in message.lower() for mark in _TOO_LONG):
            return PromptTooLong(f"The prompt is longer than '{model}' of {self.name} accepts ({status}).{detail}")
        return RejectedRequest(f"{self.name} rejected the request ({status}).{detail}")

    def _key_advice(self) -> str:
        if self.key_env is None:
            return f"Paste the right key for {self.name} in Settings, Models."
        return f"Check the environment variable {self.key_env}, or paste the key in Settings, Models."


def waiting_may_help(status: int, body: bytes) -> bool:
    return (status in (408, 429) or status >= 500) and error_code(body) not in _OUT_OF_CREDIT


def _in_plain_words(error: BaseException) -> str:
    match error:
        case ConnectionRefusedError():
            return "nothing listens there"
        case socket.gaierror():
            return "no machine with this name is known"
        case _:
            return str(error)
