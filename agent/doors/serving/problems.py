"""What a request can end with instead of an answer, each with its HTTP status and what to do next."""

from __future__ import annotations


class ServingError(Exception):
    """Base of what a request can end with. `status` is HTTP's; `again` is when to try again, in seconds."""

    status = 500
    code = "failed"

    def __init__(self, message: str, *, again: float | None = None) -> None:
        super().__init__(message)
        self.again = again


class ForeignRequest(ServingError):
    """The request names another host or comes from a page of another origin."""

    status, code = 403, "foreign"


class Unknown(ServingError):
    """Nobody says who asks, or the token is not known, or was revoked."""

    status, code = 401, "unauthenticated"


class Forbidden(ServingError):
    """The role does not have the permission."""

    status, code = 403, "forbidden"


class NotFound(ServingError):
    """The tenant has no such thing."""

    status, code = 404, "not_found"


class Unusable(ServingError):
    """The request says something that cannot be done."""

    status, code = 422, "unusable"


class QuotaExhausted(ServingError):
    """The token used what it may."""

    status, code = 429, "quota"


class TooBusy(ServingError):
    """As many requests wait as may."""

    status, code = 503, "busy"


class Unavailable(ServingError):
    """The database, the brain or the model is out of reach."""

    status, code = 503, "unavailable"


class TimedOut(ServingError):
    """The request was not done in time."""

    status, code = 504, "deadline"
