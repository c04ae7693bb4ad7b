"""The only way out of a sandbox: its own network namespace, and a proxy with a list of hosts."""
