"""Every table as LaTeX (booktabs): printed over reproduced, with the verdict.

Needs `booktabs` and, for check marks, `amssymb`; each table is a `table` of its own, to copy out.
"""

import re
from collections.abc import Sequence

from ...benchmark.printable import one_line
from ...benchmark.results import CellResult, Report, TableResult, named
from .. import layout

FILE = "report.tex"
_HEAD = "% needs \\usepackage{booktabs,amssymb}, and for rarer letters \\usepackage[T1]{fontenc}\n"
_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "±": r"$\pm$", "−": r"$-$", "≈": r"$\approx$", "—": "---", "×": r"$\times$", "→": r"$\to$",
    "✓": r"$\checkmark$",
    # These begin options behind a row or a rule; `"` and `` ` `` are active in some languages.
    "[": "{[}", "]": "{]}", "*": "{*}", '"': r"\symbol{34}", "`": r"\symbol{96}",
    "\ufffd": "?",
}  # fmt: skip
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi",
    "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "varphi", "χ": "chi", "ψ": "psi",
    "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi",
    "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega", "ℓ": "ell", "∞": "infty", "≤": "le",
    "≥": "ge", "≠": "ne",
}  # fmt: skip
_SIGNS |= {letter: rf"$\{name}$" for letter, name in _GREEK.items()}
_ACCENTS = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar"}
_ONE_SIGN = re.compile(rf"[A-Za-z][{''.join(_ACCENTS)}]|.", re.DOTALL)
_OF_TEX = re.compile(r"[ -~\u00a0-\u017f‐-…€]")  # what pdflatex shows as it is


def render(reports: Sequence[Report]) -> str:
    """The first lines of each report as comments, and all tables that have cells."""
    parts = [_HEAD]
    for report in reports:
        parts += [f"% {one_line(said)}" for said in report.first.lines]
        parts += ["", *(render_table(report, table) for table in report.tables if table.cells)]
    return "\n".join(parts)


def escape(text: str) -> str:
    """Text in which nothing is a command or ends a cell; a sign that pdflatex lacks is `U+5B57`."""
    return "".join(map(_escaped, _ONE_SIGN.findall(one_line(text))))


def _escaped(sign: str) -> str:
    if len(sign) == 2:
        return rf"$\{_ACCENTS[sign[1]]}{{{sign[0]}}}$"
    return _SIGNS.get(sign) or (sign if _OF_TEX.fullmatch(sign) else f"U+{ord(sign):04X}")


def render_table(report: Report, table: TableResult) -> str:
    """One table with the paper's rows and columns."""
    laid = layout.grid(table)
    width = laid.label_width
    columns = "l" * width + "r" * len(laid.columns)
    lines = [_header(laid, depth) for depth in range(laid.header_depth)]
    body = []
    for line in laid.lines:
        parts = [*map(escape, line.label), *[""] * (width - len(line.label))]
        printed = ("" if one is None else escape(layout.published(one)) for one in line.cells)
        body.append(_row([*parts, *printed]))
        if any(cell is not None and cell.mean is not None for cell in line.cells):
            body.append(_row([*[""] * width, *map(_here, line.cells)]))
    whose = "our trials" if report.external is None else "trials that were made elsewhere"
    whose += ", some of earlier code," if report.edited else ""
    caption = (
        f"{report.paper}, {named(table.id)}: {table.title}. Printed, and beneath it the "
        f"mean of {whose} with the verdict. {table.word} · {report.profile}: {table.reason}"
    )
    # Letters that have no meaning to TeX.
    label = re.sub(r"[^A-Za-z0-9:-]", "-", layout.anchor(report, table))
    head, rows = "\n".join(lines), "\n".join(body)
    return rf"""\begin{{table}}
\centering
\caption{{{escape(caption)}}}
\label{{tab:{label}}}
\begin{{tabular}}{{{columns}}}
\toprule
{head}
\midrule
{rows}
\bottomrule
\end{{tabular}}
\end{{table}}
"""


def _header(laid: layout.Grid, depth: int) -> str:
    spans = [
        escape(text) if width == 1 else rf"\multicolumn{{{width}}}{{c}}{{{escape(text)}}}"
        for text, width in laid.header(depth)
    ]
    return _row([*[""] * laid.label_width, *spans])


def _row(fields: Sequence[str]) -> str:
    return " & ".join(fields) + r" \\"


def _here(cell: CellResult | None) -> str:
    if cell is None:
        return ""
    compared = cell.verdict.word != "NOT COMPARED" or cell.mean is None
    word = rf"{{\scriptsize {escape(cell.verdict.word)}}}" if compared else ""
    if cell.mean is None:
        return word
    return f"{escape(layout.number(cell.mean, layout.places(cell)))} {word}"
