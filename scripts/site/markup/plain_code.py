"""Code in fewer elements: what the stylesheet sets in the colour of plain text gets no element of its own."""

from pygments.filter import Filter
from pygments.token import Keyword, Name, Operator, Punctuation, String, Text, Whitespace

PLAIN_KINDS = {Keyword.Constant, Name, Name.Function.Magic, Name.Variable.Magic, Operator, Operator.Word, Punctuation}
PLAIN_KINDS |= {String.Affix, Whitespace}


class PlainCode(Filter):
    """Takes tokens of a plain kind for text."""

    def filter(self, lexer, stream):
        for kind, text in stream:
            yield Text if kind in PLAIN_KINDS else kind, text


plain_code = PlainCode()
