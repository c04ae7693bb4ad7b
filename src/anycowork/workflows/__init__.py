"""What users invoke: definitions, their parameters, and a run's way through its steps."""
