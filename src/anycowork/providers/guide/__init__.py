"""The guide: the built-in default that follows plain requests without a language model, and says so."""

from functools import cache

from anycowork.domain.model import Provider


@cache
def guide_provider() -> Provider:
    """Returns the guide, which is loaded now: who has a model never asks it."""
    from anycowork.providers.guide.script import Guide

    return Guide()
