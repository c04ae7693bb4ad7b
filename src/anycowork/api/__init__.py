"""The HTTP face: JSON routes, event streams, and the entrance in front of them. It decides nothing about chats."""
