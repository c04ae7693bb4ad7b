"""May this happen? Roles, authority, risk, plan grants, and the one door that every side effect passes: `gate.py`."""
