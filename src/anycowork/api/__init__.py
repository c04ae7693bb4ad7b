"""The HTTP API: JSON routes, event streams, and middleware. It makes no decisions about chats."""
