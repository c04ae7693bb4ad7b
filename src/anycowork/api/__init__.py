"""The HTTP face: JSON routes, event streams, and the door in front of them. It decides nothing about chats."""
