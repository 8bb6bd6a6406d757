"""Office files from outlines: presentations, documents, workbooks. Each module is heavy."""
