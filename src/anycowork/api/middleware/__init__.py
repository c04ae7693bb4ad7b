"""What every request passes before a route: hosts, authentication, size limits, idempotency, security headers."""
