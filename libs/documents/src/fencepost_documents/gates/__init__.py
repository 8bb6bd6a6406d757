"""Gates over office files: arguments before a file is made, the file after. Pure, versioned, replayable."""
