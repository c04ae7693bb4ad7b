"""The tools that read the web: `fetch_page` and `search_web`, through the network rules."""
