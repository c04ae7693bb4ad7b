"""Hands on a workspace: what a model may call. Each tool looks first (`prepare`) and acts afterwards (`run`)."""
