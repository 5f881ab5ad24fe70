"""What a cell of somebody's table prints: pandoc's inlines as text, and that as a number.

Text keeps what is raised as `^{2}` and what is lowered as `_{2}`. Unknown commands of TeX keep
their backslash, so that such a cell is not understood.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

_THIN = "\u2009"  # between groups of digits it is no gap between words
_TAGS = {"<sup>": "^{", "</sup>": "}", "<sub>": "_{", "</sub>": "}", "<br>": " ", "<br/>": " "}
_PLAIN_TAG = re.compile(r"</?(?:b|i|u|strong|em|span|font|small|mark|center|code)\b[^>]*>")

DASHES = ("", "-", "--", "---", "–", "—", "−", "−−", "−−−", "n/a", "N/A")
_NUMBER = r"(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,3})?"
_MARKS = r"(?:\s*(?:\^\{[^{}±∓+↑↓′−–-]*\}|[*⋆†‡§¶]+))*"
_SIGN = r"[-+−–]?"
_ARROWS = "↑↓▲▼▴▾△▵▿▽"
_CELL = re.compile(
    rf"""
    (?P<before>{_MARKS})\s*(?P<about>[≈~∼])?\s*
    (?P<value>{_SIGN}(?:{_NUMBER}))
    (?:\s*[×⋅]\s*10\^\{{(?P<power>[-−]?\d{{1,3}})\}})?
    (?P<percent>\s*%)?
    (?:\s*(?:
        ±\s*(?P<sd>{_NUMBER})
      | \(\s*±\s*(?P<sd_in>{_NUMBER})\s*\)
      | [_^]\{{?\s*\(?\s*±\s*(?P<sd_script>{_NUMBER})\s*\)?\s*\}}?
      | _\{{\s*\(?\s*(?P<lowered>{_NUMBER})\s*\)?\s*\}}
      | (?P<gap>)\(\s*(?P<bracket>{_NUMBER})\s*\)
    ))?
    (?P<percents>\s*%)?
    (?P<gain>\s*(?:
        [_^]?[{{(]\s*[{_ARROWS}+−–-]\s*(?:{_NUMBER})\s*%?\s*[)}}]
      | [_^]?[{{(]\s*(?:{_NUMBER})\s*%?\s*[{_ARROWS}]\s*[)}}]
      | [{_ARROWS}]\s*(?:{_NUMBER})?\s*%?
    ))?
    (?P<after>{_MARKS})
    """,
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True)
class Read:
    """A cell as a spec has it. `kind`: `odd` for what is not understood. `how`: what was taken for
    what, if readers may differ. `percent`: whether the cell says so."""

    text: str
    kind: Literal["number", "dash", "words", "odd"]
    how: str | None = None
    percent: bool = False


def text_of(node: Any) -> str:
    """The text of pandoc's inlines or blocks."""
    if isinstance(node, list):
        return "".join(map(text_of, node))
    if not isinstance(node, dict):
        return ""
    kind: str = node["t"]
    content: Any = node.get("c")
    match kind:
        case "Str":
            return str(content).replace("\u2006", _THIN)
        case "Code":
            return str(content[1])
        case "Space" | "SoftBreak" | "LineBreak":
            return " "
        case "Superscript" | "Subscript":
            return f"{'^' if kind == 'Superscript' else '_'}{{{text_of(content)}}}"
        case "RawInline" | "RawBlock":
            if content[0] != "html":
                return str(content[1])
            return _TAGS.get(content[1].replace(" ", ""), _PLAIN_TAG.sub("", content[1]))
        case "Cite" | "Note" | "Image":
            return ""
        case "Strikeout":
            return rf"\sout{{{text_of(content)}}}"
        case "LineBlock":
            return " ".join(map(text_of, content))
        case _:
            inner = text_of(content)
            return f"{inner} " if kind in ("Para", "Plain") and inner else inner


def label_of(text: str) -> str:
    """A cell's text as a label: nothing raised or lowered, no gaps."""
    # Around operators of a formula pandoc puts spaces of these two widths.
    text = re.sub("(?<![0-9])[\u2004\u2005]|[\u2004\u2005](?![0-9])", "", text)
    text = re.sub(r"\^\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"_\{([^{}]*)\}", r"_\1", text)
    return re.sub(r"\s+", " ", text.replace("\\sout", "")).strip()


def decimal_marks(texts: Collection[str]) -> str:
    """Which of comma and point some text has where only decimals can follow, as 84,3 and 0,843."""
    sure = r"(?<![\d.,])(?:\d+{0}(?:\d{{1,2}}|\d{{4,}})|0\d*{0}\d+)(?![\d,.])"
    found = {mark: re.compile(sure.format(f"[{mark}]")).search for mark in ",."}
    return "".join(mark for mark, search in found.items() if any(map(search, texts)))


def read_cell(text: str, marks: str = ".", brackets: bool = False) -> Read:
    """A cell's text as a number with its spread, a dash, words, or not understood. `marks`: before
    decimals in its table. `brackets`: (2) is siunitx's uncertainty of the last digit."""
    shown = label_of(text)
    text = re.sub(rf"(?<=\d)[{_THIN}\u202f](?=\d{{3}}(?!\d))", "", text.replace("\u2212", "−"))
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\+\s*/?\s*[-−–](?=\s*\.?\d)", "±", text)
    if shown in DASHES:
        return Read("—", "dash", None if shown else "empty cells taken as dashes")
    how = None
    if "," in marks and re.search(r"\d\.\d{3}(?!\d)|\.\d*,|,\d*\.", text):
        return Read(shown, "odd")  # a point between thousands, or before decimals
    if marks == ",." and re.search(r"(?<![\d.,])[1-9]\d{0,2},\d{3}(?!\d)", text):
        return Read(shown, "odd")  # a comma as either
    if "," in text and re.search(r"\d,\d", text):
        how = f"commas {'before decimals' if ',' in marks else 'between thousands'}"
        text = re.sub(r"(?<=\d),(?=\d)", ".", text) if "," in marks else text
    found, odd = _CELL.fullmatch(text), Read(re.sub(r"([_^])\{([^{}]*)\}", r"\1\2", text), "odd")
    if found is None or not any(map(str.isdigit, found["value"])):
        words = text[:1].isalpha() or not any(map(str.isdigit, text))
        return Read(shown, "words") if words and "\\" not in text else odd
    value = _digits(found["value"])
    raised = (found["before"] or "") + (found["after"] or "")
    if any(map(str.isdigit, raised)):
        if "." not in value or re.search(r"\d\d|\.\d", raised):
            return odd  # a power, the number of a note, or a spread
        how = "raised digits taken as those of notes"
    if found["power"] is not None:
        value += f"e{found['power'].replace('−', '-')}"
    sd = found["sd"] or found["sd_in"] or found["sd_script"]
    if found["lowered"] is not None:
        if "." in value and "." not in found["lowered"]:
            return odd  # a spread, or its last digits
        sd, how = found["lowered"], "spreads from lowered numbers"
    if found["bracket"] is not None:
        sd, how = _bracket(found, value, brackets), "spreads from brackets"
        if sd is None:
            return odd
    if sd is not None and found["power"] is not None:
        return odd  # of what the power is, is not said
    if how and how.startswith("spreads") and 2 * Decimal(_digits(sd or "0")) > abs(Decimal(value)):
        return odd  # more likely another number than a spread
    if found["gain"] and any(map(str.isdigit, found["gain"])):
        how = "gains next to values left out"
    shown = f"{'≈ ' if found['about'] else ''}{value}" + (f" ± {_digits(sd)}" if sd else "")
    return Read(shown, "number", how, bool(found["percent"] or found["percents"]))


def _bracket(found: re.Match[str], value: str, uncertainty: bool) -> str | None:
    """A number in brackets as a spread; None where it may be something else, as a rank is."""
    number, places = found["bracket"], len(value.partition(".")[2])
    if "." in number:
        return number
    attached = found.string[found.start("gap") - 1 : found.start("gap")] != " "
    if not places or not attached or (len(number) < 2 and not uncertainty):
        return None
    return f"{Decimal(number).scaleb(-places):f}"


def _digits(number: str) -> str:
    """Digits as a spec has them: a plain minus, no plus, a zero before the point."""
    plain = number.replace("−", "-").replace("–", "-").removeprefix("+")
    return re.sub(r"^(-?)\.", r"\g<1>0.", plain)
