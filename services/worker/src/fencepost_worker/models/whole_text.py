"""Text whose surrogate pairs were cut in two on their way."""


def whole_text(text: str) -> str:
    """Text with surrogate pairs joined, that came in two halves; a half alone becomes U+FFFD."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
