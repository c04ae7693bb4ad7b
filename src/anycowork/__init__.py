"""AnyCowork: people and agents working on real files together. Importing has no effects; `app.py` composes."""

__version__ = "0.1.0"
