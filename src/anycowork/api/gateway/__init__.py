"""The OpenAI-compatible passthrough and its metering. Adds no prompt."""
