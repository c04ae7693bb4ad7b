"""The chat in a terminal: `anycowork chat`. It uses the server only over HTTP, like the web page."""
