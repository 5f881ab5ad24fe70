"""LaTeX tables as people write them, as the plain `tabular` of which pandoc reads cells and spans.

Undone here is what pandoc (3.9) loses or mixes up: rules and their arguments, column types, boxes
around a table, lines within a cell, forms of `\\multirow`, and tabularray. Commands of which pandoc
knows no text are defined for it.
"""

import re
from pathlib import Path

from ..errors import FedreproError
from . import limits

_TABULAR = (
    r"tabular\*?|tabularx|tabulary|tabu|longtabu|longtable|supertabular|xltabular|NiceTabular[*X]?"
    r"|(?:long|tall)?tblr|array"
)
BEGIN = re.compile(rf"\\begin\s*\{{({_TABULAR})\}}")
_TWO_ARGUMENTS = ("tabular*", "tabularx", "tabulary", "xltabular", "NiceTabular*", "NiceTabularX")
_GROUP = r"\{(?:[^{}\\]|\\.|\{(?:[^{}\\]|\\.|\{(?:[^{}\\]|\\.|\{(?:[^{}\\]|\\.)*\})*\})*\})*\}"
"""Braces with up to three others inside each other."""
_WIDTH, _BRACES = r"\s*(?:\[[^\]]*\])?", r"\s*\{[^{}]*\}"
_FULL = r"\\(?:hline|midrule|Xhline|specialrule|hhline|hdashline|tabucline)(?![A-Za-z])"
_RULES = re.compile(
    rf"\\(?:hline|hdashline|toprule|midrule|bottomrule|addlinespace){_WIDTH}(?![A-Za-z])"
    r"|\\(?:morecmidrules|endhead|endfirsthead|endfoot|endlastfoot|pagebreak|nopagebreak)(?![A-Za-z])"
    rf"|\\cmidrule{_WIDTH}\s*(?:\([^)]*\))?{_WIDTH}{_BRACES}"
    rf"|\\(?:cline|cdashline|Xhline|arrayrulecolor|tabucline|rowfont|SetRow|SetHline|rowcolor"
    rf"|rowstyle|noalign){_WIDTH}{_BRACES}"
    rf"|\\hhline\s*\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}|\\specialrule(?:{_BRACES}){{3}}"
)
_INNER = re.compile(r"\\begin\s*\{tabular\}\s*(?:\[[^\]]*\])?\s*\{(?:[^{}]|\{[^{}]*\})*\}")
_LINE_END = r"\\\\\*?(?:[ \t]*\[[^\]\n]*\])?"
_TOKENS = re.compile(rf"\\begin\b|\\end\b|{_LINE_END}|\\.|[{{}}&]", re.DOTALL)
_MULTIROW = re.compile(
    r"\\multirow\s*(?:\[[^\]]*\])?\s*\{(-?)(\d+)\}\s*(?:\[[^\]]*\])?\s*(?:[*=]|\{[^{}]*\})"
    r"\s*(?:\[[^\]]*\])?\s*(?=\{)"
)
_MULTICOLUMN = re.compile(r"\\multicolumn\s*\{(\d+)\}")
_SET_CELL = re.compile(r"\\SetCell\s*(?:\[([^\]]*)\])?\s*(?:\{[^{}]*\})?")
_MACRO = re.compile(
    r"\\(?:(?:re)?newcommand\*?|providecommand\*?|def(?=\\))"
    rf"\s*(?:\{{\s*\\[A-Za-z@]+\s*\}}|\\[A-Za-z@]+)[^{{}}]*{_GROUP}",
    re.DOTALL,
)
_HIDDEN = re.compile(
    r"\\iffalse\b.*?\\fi\b|\\begin\{comment\}.*?\\end\{comment\}"
    r"|\\caption\*?\s*(?:\[[^\]]*\])?\s*\{(?:[^{}]|\{[^{}]*\})*\}",
    re.DOTALL,
)
_COLUMN_TYPE = re.compile(
    rf"\\(?:newcolumntype|NewColumnType)\s*\{{?(.)\}}?\s*(?:\[[^\]]*\]\s*)*({_GROUP})"
)
_BESIDE = re.compile(rf"[@!<>]\s*({_GROUP})")
_SHOWS = re.compile(r"\\(?:text)?(?:pm|mp|cdot|times)|[^\s\\A-Za-z$|{}~]")
_SILENT = re.compile(
    r"\\[,;:! ]|\\(?!text|math|ensuremath|pm|mp|cdot|times)[A-Za-z]+\*?(?:\s*width)?"
    rf"(?:\s*=?\s*[-\d.]*\s*(?:pt|em|ex|cm|mm|in|\\[a-z]+))?(?:\s*\[[^\]]*\]|\s*{_GROUP})*"
)
"""Commands of a column type that print nothing, with lengths, colours and other arguments."""
_SIUNITX = re.compile(r"(?<![A-Za-z\\])S(?![A-Za-z])|\bsi\s*=")

MEANINGS = Path(__file__).with_name("meanings.tex").read_text("utf-8")
"""What commands show that pandoc has no text for, as definitions; the author's own come first."""


def plain(text: str) -> tuple[str, tuple[int, int], int | None, bool]:
    """The one table of a LaTeX text, as a plain `tabular` behind the macros that it needs.

    Returns also its rows and columns, how many rows stand above the first full rule below a row, if
    there is one, and whether columns are siunitx's: (2) is the uncertainty of the last digit.
    Raises `FedreproError` for several tables, and for one that has no end or exceeds the limits."""
    text = re.sub(r"(?<!\\)((?:\\\\)*)%.*", r"\1", text)
    text = _HIDDEN.sub(lambda hidden: "\n" * hidden[0].count("\n"), text)
    for written, plainer in ((r"\ding{51}", "✓"), (r"\ding{55}", "✗"), ("space*{", "space{")):
        text = text.replace(written, plainer)
    first = BEGIN.search(text)
    if first is None:
        raise FedreproError("no table found: the tabular is commented out")
    end = _end(text, first)
    if second := BEGIN.search(text, end):
        raise _refused(text, second.start(), "a second table begins; leave the one that is meant")
    arguments = 2 if first[1] in _TWO_ARGUMENTS else 1
    head = rf"(?:\s*(?:\[[^\]]*\])?\s*({_GROUP})){{{arguments}}}"
    head += r"(?:\s*\[[^\]]*\])?" if "Nice" in first[1] else ""
    opening = re.compile(head, re.DOTALL).match(text, first.end())
    if opening is None:
        raise _refused(text, first.start(), f"the {first[1]} has no column types")
    spec, start = "", opening.end()
    for found in [opening, *reversed([*_COLUMN_TYPE.finditer(text, 0, first.start())])]:
        types = found[found.lastindex or 1] if found is opening or found[1] in spec else ""
        spec += types  # of which a type defined before may be one
        for put in _BESIDE.findall(types):
            if _SHOWS.search(_SILENT.sub("", put)):
                said = f"the column type puts {put} next to cells; write them as they are printed"
                raise _refused(text, found.start(), said)
    if other := re.compile(r"\\(?:input|include)(?![A-Za-z])").search(text, start, end):
        said = "rows come from another file; put them in the place of this command"
        raise _refused(text, other.start(), said)
    rows, header = _rows(text[start:end], "tblr" in first[1])
    width = max((sum(map(_span, row)) for row in rows), default=0)
    bounded(len(rows), width)
    if first[1] == "array" or "$" in spec:
        rows = [[_in_maths(cell) for cell in row] for row in rows]
    lines = " \\\\\n".join(" & ".join(row) for row in rows)
    made = f"\\begin{{tabular}}{{{'l' * width}}}\n{lines}\n\\end{{tabular}}"
    macros = "".join(f"{found[0]}\n" for found in _MACRO.finditer(text[: first.start()]))
    return macros + MEANINGS + made, (len(rows), width), header, bool(_SIUNITX.search(spec))


def _in_maths(cell: str) -> str:
    """A cell of a table with columns of formulas as one, its gaps kept: it may be words."""
    is_formula = re.search(r"[_^]|\\(?!multi)", cell) and "$" not in cell
    return "$" + cell.replace(" ", r"\ ") + "$" if is_formula else cell


def bounded(rows: int, width: int) -> None:
    """Raises `FedreproError` for a table that exceeds the limits."""
    if width > limits.COLUMNS or rows * width > limits.CELLS:
        said = f"at most {limits.COLUMNS} columns and {limits.CELLS:,} cells are read"
        raise FedreproError(f"the table has {rows:,} rows of up to {width:,} columns; {said}")


def _end(text: str, first: re.Match[str]) -> int:
    depth, name = 0, re.escape(first[1])
    for found in re.finditer(rf"\\(begin|end)\s*\{{{name}\}}", text[first.start() :]):
        depth += 1 if found[1] == "begin" else -1
        if depth == 0:
            return first.start() + found.start()
    raise _refused(text, first.start(), f"the {first[1]} has no end")


def _refused(text: str, place: int, said: str) -> FedreproError:
    return FedreproError(f"line {text.count(chr(10), 0, place) + 1}: {said}")


def _rows(body: str, is_tblr: bool) -> tuple[list[list[str]], int | None]:
    """The cells of each row that has any, and how many stand above the first full rule."""
    for ending in (r"\endfirsthead", r"\endhead"):
        head, ends, rest = body.partition(ending)
        if ends:  # what follows are heads and feet of further pages
            rest = re.split(r"\\end(?:first)?head|\\end(?:last)?foot", rest)[-1]
            body = head + r"\midrule " + rest
            break
    body = body.replace(r"\tabularnewline", r"\\")
    body = _INNER.sub("{", body).replace(r"\end{tabular}", "}")
    rows: list[list[str]] = []
    header = None
    for line in _split(body, rows=True):
        if header is None and rows and re.search(_FULL, line):
            header = len(rows)
        # Line ends in a cell are lines of it.
        parts = _split(_RULES.sub(" ", line), rows=False)
        cells = [re.sub(_LINE_END, " ", cell).strip() for cell in parts]
        if (longest := max(map(len, cells))) > limits.TEXT:
            said = f"a cell has {longest:,} characters; at most {limits.TEXT:,} are read"
            raise FedreproError(said)
        if any(cells):
            rows.append(_without_set_cell(cells) if is_tblr else cells)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            row[j] = _MULTIROW.sub(r"\\multirow{\2}{*}", cell, count=1)
            found = _MULTIROW.search(cell)
            top = i + 1 - int(found[2]) if found and found[1] else -1  # it grows upwards
            if 0 <= top < i and j < len(rows[top]):
                rows[top][j], row[j] = row[j], ""
    return rows, header


def _split(text: str, rows: bool) -> list[str]:
    """Parts between line ends, or between ampersands, outside of braces and environments."""
    parts, depth, last = list[str](), 0, 0
    for found in _TOKENS.finditer(text):
        token = found[0]
        if token in ("{", r"\begin"):
            depth += 1
        elif token in ("}", r"\end"):
            depth -= 1
        elif depth == 0 and (token.startswith("\\\\") if rows else token == "&"):
            parts.append(text[last : found.start()])
            last = found.end()
    return [*parts, text[last:]]


def _without_set_cell(cells: list[str]) -> list[str]:
    """A row of tabularray, in which every cell that a span covers is there."""
    made, covered = [], 0
    for cell in cells:
        found = _SET_CELL.search(cell)
        if covered and not cell:
            covered -= 1
            continue
        spans = dict(re.findall(r"([cr])\s*=\s*(\d+)", found[1] or "")) if found else {}
        text = _SET_CELL.sub("", cell).strip()
        if int(spans.get("r", 1)) > 1:
            text = f"\\multirow{{{spans['r']}}}{{*}}{{{text}}}"
        if int(spans.get("c", 1)) > 1:
            text, covered = f"\\multicolumn{{{spans['c']}}}{{c}}{{{text}}}", int(spans["c"]) - 1
        made.append(text)
    return made


def _span(cell: str) -> int:
    found = _MULTICOLUMN.match(cell)
    if found and (len(found[1]) > 9 or int(found[1]) > limits.COLUMNS):
        said = f"spans {found[1][:20]} columns; at most {limits.COLUMNS} are read"
        raise FedreproError(f"a \\multicolumn {said}")
    return int(found[1]) if found else 1
