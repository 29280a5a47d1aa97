"""Taking episodes out of the brain, and looking whether anything of them is left."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol
from uuid import UUID

from agent.learning.feedback import FeedbackError, Outcome, loosen
from agent.learning.mistakes import one_spelling
from memory.episode import Episode
from memory.ledger import EventKind, Ledger
from memory.store import EpisodeStore, StoreError
from procedural.store import SynapseStore

_SHORTEST_ID = 4
_CLAUSES = (
    rb"WHERE|AND|OR|AS|JOIN|INNER|LEFT|RIGHT|FULL|CROSS|ON|GROUP|HAVING|ORDER|LIMIT|OFFSET|UNION|INTERSECT|EXCEPT"
)


class Copies(Protocol):
    """What training and evaluations wrote down of episodes."""

    @property
    def folders(self) -> Sequence[Path]: ...

    def erase(self, texts: Sequence[str]) -> tuple[int, int]:
        """Take texts out of the completion cache and of files; gives how many replies and files changed."""
        ...


def select(
    ledger: Ledger,
    *,
    episode: str | None = None,
    bucket: str | None = None,
    batch: str | None = None,
    forgotten: bool = False,
) -> tuple[Episode, ...]:
    """Find episodes by the start of an id, by bucket or by batch; also those `forgotten` but not erased.

    Raises:
        FeedbackError: none is there, or the id fits several.
    """
    found = ledger.episodes(bucket, batch=batch)
    if forgotten:
        ever = {event.subject: None for event in ledger.events(kinds=(EventKind.EPISODE_REMEMBERED,))}
        kept = filter(None, map(ledger.episode, map(UUID, ever)))
        found = tuple(one for one in kept if bucket in (None, one.bucket) and batch in (None, one.batch))
    if episode is not None and len(episode) < _SHORTEST_ID:
        raise FeedbackError(f"Give at least {_SHORTEST_ID} characters of the episode's id.")
    if episode is not None:
        found = tuple(one for one in found if str(one.id).startswith(episode.lower()))
        if len(found) > 1:
            raise FeedbackError(f"{len(found)} episodes begin with {episode}; give more of the id.")
    if not found:
        raise FeedbackError("No such episode is remembered. `hebbql ask` shows the ids of those it recalls.")
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgetting:
    """Forgets episodes of a brain in `folder`. `bring_up_to_date` brings the store to what the ledger says.

    `habit` names the habit that an episode leads to, or gives "".
    """

    ledger: Ledger
    synapses: SynapseStore
    dialect: str
    folder: Path
    store: Callable[[], EpisodeStore]
    copies: Callable[[], Copies]
    bring_up_to_date: Callable[[], None]
    habit: Callable[[Episode], str]

    def forget(self, episodes: tuple[Episode, ...], *, erase: bool = False) -> Outcome:
        """Take episodes out of ledger and store, then look for them in the ledger, the store and the files.

        The synapses that point to them leave with them.

        Raises:
            StoreError: the store still holds one of them.
        """
        spelling = partial(one_spelling, dialect=self.dialect)
        with self.ledger.transaction() as entry:
            for episode in episodes:
                if erase:
                    entry.erase(episode.id, "asked for", spelling=spelling)
                else:
                    entry.forget(episode.id, "asked for")
            gone = {str(episode.id) for episode in episodes}
            loosen(self.ledger, self.synapses, entry, gone, habit=self.habit)
        self.bring_up_to_date()
        ids = {episode.id for episode in episodes}
        left = {id for bucket in sorted({one.bucket for one in episodes}) for id in self.store().members(bucket)} & ids
        if left:
            raise StoreError(
                f"{len(left)} of {len(ids)} episodes are still in the episode store. "
                "Run `hebbql doctor`, then forget again."
            )
        done = "erased" if erase else "forgotten"
        states = sorted({self.ledger.episode_state(id) or "unknown" for id in ids})
        proof = [f"ledger: {', '.join(states)}", f"vectors and graph, read without the registry: {len(left)} left"]
        if erase:
            told = [text for episode in episodes for text in (episode.sql, episode.question)]
            copies = self.copies()
            dropped, written = copies.erase(told)
            files = f"files of {written} runs and evaluations written anew"
            proof.append(f"completion cache: {dropped} replies dropped; {files}")
            for what, texts in (
                ("the questions' words", [episode.question for episode in episodes]),
                ("their SQL", [episode.sql for episode in episodes]),
            ):
                held = [
                    f"{folder.name}/{name}"
                    for folder in (self.folder, *copies.folders)
                    for name in files_holding(folder, texts)
                ]
                proof.append(f"files searched for {what}: {len(held)} hold them {', '.join(held)}".rstrip())
        message = f"{len(gone)} episode(s) {done}; {len(left)} left in the store."
        return Outcome(message, (), tuple(sorted(gone)), tuple(proof))


def files_holding(folder: Path, texts: Sequence[str]) -> list[str]:
    """Name the files below a folder that hold one of the texts, plainly or as JSON, in any case of its letters A-Z.

    A query does not count where its next clause follows: that is another query.
    """
    ways = {way for text in texts for way in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])}
    wanted = b"|".join(re.escape(way.encode("utf-8", "replace")) for way in sorted(ways, key=len, reverse=True))
    found = re.compile(rb"(?:%s)(?! (?-i:%s)\b)" % (wanted, _CLAUSES), re.IGNORECASE)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in files if texts and found.search(path.read_bytes())]
