"""May this happen? Roles, authority, rules, risk, plan grants, and the one door that every side effect passes: `gate.py`."""
