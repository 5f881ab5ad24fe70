"""Do the printed tables support what the text says about them?

Two kinds: `stated-number` for arithmetic of the text ('= 5.90'), `claim` for every other
comparison. A sentence with several interpretations is inconsistent only if none of them is left
open. A bound of the spec for words such as 'about' (`~`, `vague`) makes none inconsistent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...claims.bind_cells import bind
from ...claims.nodes import Elementary
from ...claims.printed import SupportWord, support
from ...spec.model import Claim, Paper, Table
from ..expressions import MOST_SHOWN, computed_of, published_of
from ..findings import Finding, Status, finding
from ..identity import grouped


@dataclass(frozen=True)
class ClaimSupport:
    """A claim with what the printed numbers say of it, and the comparisons that decide."""

    claim: Claim
    word: SupportWord
    reason: str
    decisive: Sequence[Elementary]
    comparisons: Sequence[Elementary]

    @property
    def is_sharp(self) -> bool:
        """Whether text and numbers give a sharp bound, so that to exceed it is a contradiction."""
        vague = self.claim.vague or any(one.relation == "~" for one in self.decisive)
        return not vague and not any(one.is_approximate for one in self.decisive)


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each sentence over printed values."""
    for table in paper.tables:
        for name, reads in readings(paper, table).items():
            if any(read.word != "not printed" for read in reads):
                yield _sentence(table, name, reads)


def readings(paper: Paper, table: Table) -> Mapping[str, list[ClaimSupport]]:
    """By sentence about a table (the id of its first claim), all of its interpretations."""
    reads = (_read(claim, table, paper) for claim in table.claims)
    return grouped(reads, lambda read: read.claim.reading_of or read.claim.id)


def _read(claim: Claim, table: Table, paper: Paper) -> ClaimSupport:
    comparisons = bind(claim, table, paper)
    word, reason = support(comparisons)
    decisive = [one for one in comparisons if support([one])[0] == word]
    return ClaimSupport(claim, word, reason, decisive or comparisons, comparisons)


def _sentence(table: Table, name: str, reads: Sequence[ClaimSupport]) -> Finding:
    """The finding on all interpretations of a sentence; one that is supported speaks for it."""
    supported = [read for read in reads if read.word == "supported"]
    shown = supported or [read for read in reads if read.word != "not printed"]
    status: Status = "consistent" if supported else "undecidable"
    if all(read.word == "contradicted" and read.is_sharp for read in reads):
        status = "inconsistent"
    statements = [_statement(read) for read in shown]
    if len(reads) > 1:
        count = {0: "none", 1: "one"}.get(len(supported), len(supported))
        text = f"The sentence has {len(reads)} interpretations; published values support {count}."
        statements.append(text)
    stated = all(one.relation == "=" for read in reads for one in read.comparisons)
    return finding(
        ("stated-number" if stated else "claim", table.id, name),
        (cell for read in shown for one in read.decisive for cell in one.leaves),
        table=table.id,
        statement=" ".join(statements),
        published="; ".join(published_of(read.decisive) for read in shown),
        computed="; ".join(map(_computed, shown)),
        status=status,
    )


def _statement(read: ClaimSupport) -> str:
    claim, where = read.claim, read.claim.where
    text = claim.says.rstrip(".")
    if where is not None:
        plain = where[0].isdigit() or where.split("-")[0].strip("IVX") == ""
        text += f" ({'Section ' if plain else ''}{where})"
    text += "." if claim.note is None else f". {claim.note.rstrip('.')}."
    if read.word == "contradicted" and not read.is_sharp:
        words = f"'{claim.vague}'" if claim.vague else "the text"
        text += f" Contradicted as read in the spec; {words} gives no sharp bound."
    return text


def _computed(read: ClaimSupport) -> str:
    if read.word == "supported" and len(read.comparisons) > 1:
        return read.reason
    text = "; ".join(dict.fromkeys(map(computed_of, read.decisive[:MOST_SHOWN])))
    if len(read.comparisons) > 1:
        said = "cannot hold" if read.word == "contradicted" else "are left open by rounding"
        text += f" ({len(read.decisive)} of {len(read.comparisons)} comparisons {said})"
    return text
