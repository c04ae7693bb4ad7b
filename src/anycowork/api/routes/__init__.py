"""The JSON routes, one module per noun."""
