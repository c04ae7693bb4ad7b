"""The chat in a terminal: `anycowork chat`. It knows the house by HTTP alone, as the page in the browser does."""
