"""The shapes of answers, as /openapi.json describes them, a file for each noun. Answers are built from the nouns themselves;
tests hold the two together."""
