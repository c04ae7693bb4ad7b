"""Who answers: OpenAI-compatible servers over HTTP, and the guide, which needs nothing. What the answers mean is the agent's affair."""
