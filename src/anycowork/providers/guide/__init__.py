"""The guide: the built-in default that follows plain requests without a language model, and says so."""
