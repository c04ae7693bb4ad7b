"""What operators see of a running server: metrics, traces, structured logs. It counts and times; it decides nothing."""
