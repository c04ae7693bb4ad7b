"""HTTP to providers: connections, proxies, certificates, retries, server-sent events."""
