"""Tools of module work. Only the tool-gateway imports this package."""

from .reading import AskDocument, ExtractDocument

__all__ = ["AskDocument", "ExtractDocument"]
