"""One turn: ask the model, read its reply, pass its calls through the door, record what came back, until it rests."""
