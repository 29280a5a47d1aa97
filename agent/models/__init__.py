"""One port for language models, and the adapters behind it."""
