"""Tools of module work. Only the tool-gateway imports this package."""

from .mail import DraftEmail
from .reading import AskDocument, ExtractDocument

__all__ = ["AskDocument", "DraftEmail", "ExtractDocument"]
