"""Decides whether a call may run: roles, authority, rules, risk, plan grants, and the gate that every side effect passes, `gate.py`."""
