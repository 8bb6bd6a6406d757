"""Tools of module work. Only the tool-gateway imports this package."""

from .mail import DraftEmail
from .making import CreateDocument, CreatePresentation, CreateWorkbook
from .reading import AskDocument, ExtractDocument

__all__ = [
    "AskDocument", "CreateDocument", "CreatePresentation", "CreateWorkbook", "DraftEmail", "ExtractDocument",
]  # fmt: skip
