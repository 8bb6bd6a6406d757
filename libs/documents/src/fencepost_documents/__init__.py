"""Office files: `read` them into a Source IR with locators, extract records, answer from evidence."""
