"""The guide: the embedded default that follows plain requests without a language model, and says so."""
