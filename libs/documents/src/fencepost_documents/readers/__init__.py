"""One reader a kind: bytes into a Draft. They run in the limited child only."""
