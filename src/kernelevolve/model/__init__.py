"""The nouns: frozen values with a JSON round trip and a content hash. No I/O, no heavy imports."""
