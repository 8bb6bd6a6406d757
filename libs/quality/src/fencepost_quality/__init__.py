"""Quality gates for words: mail drafts and answers. Pure and versioned; the documents' gates live with them."""
