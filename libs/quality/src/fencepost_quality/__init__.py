"""Quality gates for words: mail drafts and answers. Pure and versioned; documents have their own."""
