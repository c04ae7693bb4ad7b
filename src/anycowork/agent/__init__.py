"""Runs one turn: call the model, parse its reply, pass its calls through the gate, record the results, until the turn ends."""
