"""Whom a provider's certificate may come from, and what it means to a person when it does not."""

import ssl
from functools import lru_cache
from pathlib import Path

_NOT_FOR_THIS_HOST, _NOT_FOR_THIS_ADDRESS, _EXPIRED, _NOT_YET = 62, 64, 10, 9  # X509_V_ERR_*
_PLAIN = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")


class BadAuthority(OSError):
    """A `ca_file` that cannot be read as certificates."""


def context_for(ca_file: str | None) -> ssl.SSLContext:
    """The authorities that this machine trusts, and those of the file besides, as it is now. Raises: BadAuthority."""
    try:
        return _context(ca_file, Path(ca_file).stat().st_mtime_ns if ca_file else 0)
    except ssl.SSLError as error:
        raise BadAuthority(f"its ca_file {ca_file} holds no certificate in PEM form ({error.reason})") from None
    except OSError as error:
        raise BadAuthority(f"its ca_file {ca_file} cannot be read: {error.strerror}") from None


@lru_cache(maxsize=32)
def _context(ca_file: str | None, changed_at: int) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context


def distrust(error: BaseException, ca_file: str | None) -> str | None:
    """Why no safe connection came about, and the way out; None if that is not what is wrong."""
    cause = innermost(error)
    if isinstance(cause, BadAuthority):
        return str(cause)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}. {_way_out(cause.verify_code, ca_file)}"
    if isinstance(cause, ssl.SSLError) and cause.reason in _PLAIN:
        return "it does not speak TLS there. If it speaks plain HTTP, let its base_url begin with http://"
    return None


def innermost(error: BaseException) -> BaseException:
    """What the system said, under whatever a client wrapped around it: each has another way to."""
    seen: list[BaseException] = []
    while error not in seen:
        seen.append(error)
        # aiohttp's two names for it; httpx has it as the cause, and below that as the only argument
        held = (
            getattr(error, "certificate_error", None),
            getattr(error, "os_error", None),
            error.__cause__,
            *error.args,
        )
        error = next((inner for inner in held if isinstance(inner, BaseException)), error)
    return error


def _way_out(code: int, ca_file: str | None) -> str:
    if code in (_NOT_FOR_THIS_HOST, _NOT_FOR_THIS_ADDRESS):
        return "Let its base_url name a host that the certificate is for"
    if code in (_EXPIRED, _NOT_YET):
        return "Renew it there, or set this machine's clock"
    if ca_file is not None:
        return f"Check that ca_file ({ca_file}) holds the authority it comes from"
    return (
        "If it is your own, name the PEM file of its authority, or the certificate itself, as ca_file of the provider"
    )
