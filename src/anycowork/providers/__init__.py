"""Model providers: OpenAI-compatible servers and Anthropic over HTTP, local models, and the built-in guide.

The agent interprets the answers.
"""
