"""The chat of the command line: one open app, one thing said a line, until the input ends."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from agent.doors import rendering
from agent.settings import Think

if TYPE_CHECKING:
    from agent.app import App
    from agent.attempt import Attempt
    from agent.conversation import Conversation, Turned
    from agent.learning.feedback import Outcome

HELP = """\
Ask a question, then go on from its answer: and in 1998?, only the Germans, top 3, as a percentage, per country.
/good          the last answer was right: remember it
/bad           it was wrong: weaken what led to it
/sql SELECT …  the right query for it: run and remember it
/all           show every row of it
/think LEVEL   from now on fast, normal or deep: how much is done for one answer
/new           begin anew: the next question follows nothing
/help          show this
/quit          end, as Ctrl-D does; Ctrl-C ends one answer"""

_NOTHING_YET = "There is no answer yet. Ask a question first."
_ASK = "> "


@dataclass(kw_only=True)
class Chat:
    """What the chat of one terminal or pipe is at. `foreseen` are the errors that end one question, not the chat."""

    app: App
    conversation: Conversation
    foreseen: tuple[type[Exception], ...]
    as_json: bool

    def run(self) -> None:
        """Take line after line until the input ends, `/quit`, or Ctrl-C at the prompt."""
        rendering.welcome(self.app.schema.name, as_json=self.as_json or not _is_watched())
        for line in map(str.strip, _lines(echo=not self.as_json)):
            if line in ("/quit", "/exit", "/q"):
                return
            try:
                self._take(line)
            except KeyboardInterrupt:
                self.app.give_up()
                self._tell(line, "interrupted", "Interrupted: this answer was given up. The chat goes on.")
            except self.foreseen as error:
                self._tell(line, "failed", str(error))
            sys.stdout.flush()

    def _take(self, line: str) -> None:
        if line.startswith("/"):
            self._command(line)
        else:
            self._say(line)

    def _say(self, line: str) -> None:
        if not line and not self.as_json and _is_watched():
            return
        turned = self.conversation.say(line)
        if not turned.question:
            self._tell(line, "unclear", turned.hint)
            return
        if turned.rewritten:
            rendering.whole(turned.question, as_json=self.as_json)
        attempt = self._answer(turned)
        self.conversation = self.conversation.answered(turned, attempt)
        showing = rendering.Showing.of(self.app, in_chat=True, findings=self.app.auditing.about(attempt))
        if self.as_json:
            rendering.turn({"said": line, "by": turned.by}, attempt, showing)
        else:
            rendering.answer(attempt, showing, as_json=False)

    def _answer(self, turned: Turned) -> Attempt:
        adapting = self.app.memory and self.app.settings.levers.adapt
        with rendering.progress(self.as_json, adapting=adapting) as show:
            for attempt in self.app.ask(turned.question):
                show(attempt)
        return attempt

    def _command(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        last = self.conversation.last
        if word == "/help":
            self._tell(line, "help", HELP)
        elif word == "/new":
            self.conversation = self.conversation.anew()
            self._tell(line, "new", "Begun anew.")
        elif word == "/think":
            self._think(line, rest.strip().lower())
        elif word not in ("/good", "/bad", "/sql", "/all"):
            self._tell(line, "usage", f"There is no command {word}. /help lists those there are.")
        elif word == "/sql" and not rest.strip():
            self._tell(line, "usage", "Give the right query behind it: /sql SELECT …")
        elif last is None:
            self._tell(line, "usage", _NOTHING_YET)
        elif word == "/all":
            self._all(line, last)
        elif word == "/sql":
            self._told(line, self.app.feedback(last.id, sql=rest.strip()))
        else:
            self._told(line, self.app.feedback(last.id, verdict=word[1:]))

    def _think(self, line: str, level: str) -> None:
        """Take a level of effort for the questions from here on; without one, say which it is."""
        for known in get_args(Think):
            if known == level:
                self.app.settings = replace(self.app.settings, think=known)
        now = self.app.settings.think
        if level in ("", now):
            self._tell(line, "think", f"Effort: {now}.", think=now)
        else:
            self._tell(line, "usage", f"/think takes {', '.join(get_args(Think))}, not {level!r}. It stays {now}.")

    def _all(self, line: str, last: Attempt) -> None:
        """Show every row of the last answer; programs were given them with it."""
        if last.result is None or self.as_json:
            said = "The last answer has no rows." if last.result is None else "Every row stands in the answer."
            self._tell(line, "all", said)
        else:
            rendering.rows(last)

    def _told(self, line: str, outcome: Outcome) -> None:
        self._tell(line, "feedback", outcome.message, **{k: v for k, v in asdict(outcome).items() if k != "message"})

    def _tell(self, line: str, status: str, message: str, **more: Any) -> None:
        last = self.conversation.last
        about = last.question if last is not None and status == "feedback" else None
        rendering.told({"said": line, "question": about, "status": status, "message": message, **more}, self.as_json)


def _is_watched() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _lines(*, echo: bool) -> Iterator[str]:
    """What is typed or piped in, a line at a time; with `echo` a piped line is shown as if it were typed."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    if _is_watched():
        with suppress(ImportError):
            import readline  # noqa: F401  (makes `input` edit lines and go through those before)
        while True:
            try:
                line = input(_ASK)
            except (EOFError, KeyboardInterrupt):
                print()
                return
            yield line
    while True:
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            return
        if not line:
            return
        if echo:
            rendering.said(f"{_ASK}{line.strip()}")
        yield line
