"""What the model is told: the prose, the tool list, the enhanced prompt and the window onto the chat. All of it pure."""
