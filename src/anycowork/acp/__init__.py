"""The ACP agent: editors drive AnyCowork over the Agent Client Protocol on stdio. It reaches the server over HTTP only."""
