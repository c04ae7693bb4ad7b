"""Builds prompts: texts, tool lists, the enhanced system prompt, and the window of the chat's history. Pure."""
