"""May this happen? Roles, authority, rules, risk, plan grants, and the one gate that every side effect passes: `gate.py`."""
