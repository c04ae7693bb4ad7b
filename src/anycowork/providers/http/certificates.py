"""Builds the TLS trust of a provider, and explains to a person why a certificate is not trusted."""

import ssl
from functools import lru_cache
from pathlib import Path

_NOT_FOR_THIS_HOST, _NOT_FOR_THIS_ADDRESS, _EXPIRED, _NOT_YET = 62, 64, 10, 9  # X509_V_ERR_*
_PLAIN = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")


class BadAuthority(OSError):
    """A `ca_file` that cannot be read as certificates."""


def context_for(ca_file: str | None) -> ssl.SSLContext:
    """Returns a context that trusts this machine's authorities and those in the file as it is now. Raises: BadAuthority."""
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
    """Explains why no secure connection was possible, and what to do; None if something else is wrong."""
    cause = innermost(error)
    if isinstance(cause, BadAuthority):
        return str(cause)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}. {_advice(cause.verify_code, ca_file)}"
    if isinstance(cause, ssl.SSLError) and cause.reason in _PLAIN:
        return "it does not use TLS there. If it uses plain HTTP, its base_url must begin with http://"
    return None


def innermost(error: BaseException) -> BaseException:
    """Returns the system's own error from inside the client's wrappers; each client wraps it differently."""
    seen: list[BaseException] = []
    while error not in seen:
        seen.append(error)
        # aiohttp's two names for it; httpx has it as the cause, and inside that as the only argument
        causes = (
            getattr(error, "certificate_error", None),
            getattr(error, "os_error", None),
            error.__cause__,
            *error.args,
        )
        error = next((inner for inner in causes if isinstance(inner, BaseException)), error)
    return error


def _advice(code: int, ca_file: str | None) -> str:
    if code in (_NOT_FOR_THIS_HOST, _NOT_FOR_THIS_ADDRESS):
        return "Use a host in its base_url that the certificate is valid for"
    if code in (_EXPIRED, _NOT_YET):
        return "Renew it on the server, or correct this machine's clock"
    if ca_file is not None:
        return f"Check that ca_file ({ca_file}) holds the authority that issued it"
    return "If it is your own server, set the provider's ca_file to the PEM file of its authority, or of the certificate itself"
