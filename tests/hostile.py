"""Texts that are more than text to a browser, a typesetter, a spreadsheet or a terminal."""

HOSTILE = (
    # HTML
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</title></style><script>",
    "\" onclick='x' autofocus", "<!-- ", "]]>", "&lt;b&gt; &amp; &#60;script>",
    "{{ 7 * 7 }}{% x %}",
    # Markdown
    "![x](https://evil.example/x.png)", "[x](javascript:alert(1))", "[x]: https://evil.example",
    "<https://evil.example>", "https://evil.example", "www.evil.example", "a `b` ``c`` ```d",
    "```\n# x\n```", "a | b \\| c", "x\n\n# heading\n\n- list\n\n    code", "---", "- x", "1. x",
    "> x", "# x", "+ x", "=== x", "*x* __y__ ~~z~~", "\\", "\\\\`", "@someone #1", "$x$",
    "<details>", "| - |",
    # LaTeX
    "\\input{/etc/passwd}", "\\\\[1cm] x", "[x] y", "*", "50 % & #1 _ ^ ~ $", "}{", "^^5cinput x",
    "\\end{tabular}\\write18{ls}", "x\n\ny",
    # spreadsheets
    "=HYPERLINK(\"https://evil.example\")", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "\r=1+1", " =1+1",
    "\n=1+1", "a,b;c\n\"d\"", "＝1+1", "-cmd|' /C calc'!A0", "-1 2",
    # terminals and XML
    "\x1b[2J\x1b]0;x\x07y", "\x1b[31mHOLDS\x1b[0m", "\x9b31mx", "x\x00\x08\x7fy", "abc\rxyz",
    "\u202egnp.exe", "\u2066x", "x\u2028y", "x\ufffey", "half \udce9",
)  # fmt: skip


def unseen(text: str) -> list[str]:
    """Characters of a text that control a device or a line, or are none."""
    return [one for one in text if not one.isprintable() and one not in "\n\t\xa0\u3000"]
