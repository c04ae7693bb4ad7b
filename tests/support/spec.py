"""`@proves("PER-3", "PER-4")` ties a test to the requirements it proves; `tests/spec/` reads it both ways."""

import pytest

proves = pytest.mark.proves
