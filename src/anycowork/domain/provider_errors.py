"""Errors of model providers: upstream failed. Those that may pass are retried with backoff."""

from anycowork.domain.errors import AnyCoworkError


class ProviderFault(AnyCoworkError):
    code = "provider_failed"


class Unreachable(ProviderFault):
    code = "provider_unreachable"
    retryable = True


class Untrusted(ProviderFault):
    """No secure connection is possible: the certificate is missing or not trusted."""

    code = "provider_untrusted"


class RateLimited(ProviderFault):
    code = "provider_rate_limited"
    retryable = True


class Overloaded(ProviderFault):
    code = "provider_overloaded"
    retryable = True


class BrokenStream(ProviderFault):
    code = "provider_broke_off"
    retryable = True


class NoAnswerInTime(ProviderFault):
    code = "provider_timed_out"
    retryable = True


class BadKey(ProviderFault):
    code = "provider_bad_key"


class NoSuchModel(ProviderFault):
    code = "no_such_model"


class RejectedRequest(ProviderFault):
    code = "provider_rejected_request"


class PromptTooLong(RejectedRequest):
    """The model's server says that the prompt does not fit into the model's context."""

    code = "provider_prompt_too_long"
