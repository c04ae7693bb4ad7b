"""Properties here are judged by what holds, never by how long a busy machine took."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
