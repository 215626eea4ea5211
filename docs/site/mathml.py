"""A hook of the build of the documentation: formulas become MathML, which browsers draw without a script."""

import re

from latex2mathml.converter import convert

CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
BLOCK = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
INLINE = re.compile(r"(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\w)")


def on_page_markdown(markdown, **_):
    """Replace the formulas outside code."""
    pieces = CODE.split(markdown)
    for i in range(0, len(pieces), 2):
        text = BLOCK.sub(lambda m: "\n" + convert(m[1].strip(), display="block") + "\n", pieces[i])
        pieces[i] = INLINE.sub(lambda m: convert(m[1]), text)
    return "".join(pieces)
