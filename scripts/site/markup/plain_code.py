"""Code in few elements: names of attention's tensors have their colours, and what has the colour of text gets none."""

from pygments.filter import Filter
from pygments.token import Keyword, Name, Operator, Punctuation, String, Text, Whitespace

PLAIN_KINDS = {Keyword.Constant, Name, Name.Function.Magic, Name.Variable.Magic, Operator, Operator.Word, Punctuation}
PLAIN_KINDS |= {String.Affix, Whitespace}
TENSORS = {
    Name.Query: "q query queries",
    Name.Key: "k key keys",
    Name.Value: "v value values",
    Name.Square: "score scores exponentials share shares weight weights",
}
KIND_OF_NAME = {name: kind for kind, names in TENSORS.items() for name in names.split()}


class PlainCode(Filter):
    """Takes tokens of a plain kind for text, or for a tensor."""

    def filter(self, lexer, stream):
        for kind, text in stream:
            tensor = KIND_OF_NAME.get(text) if kind is Name else None
            yield tensor or (Text if kind in PLAIN_KINDS else kind), text


plain_code = PlainCode()
