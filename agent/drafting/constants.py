"""Telling what in a query cannot hang on the literals of the question from what was right by luck."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from sqlglot import exp

from agent.drafting.literals import Column, Slot, meanings_of, number_in
from agent.drafting.operands import Compared, Names
from agent.linked import Grounding
from agent.linking import Lexicon
from agent.phrasing import mask
from agent.wording import fold, tokens

_TIME_LIKE = re.compile(r"\d{4}-\d|(?<!\d)(?:1[6-9]|20|21)\d\d(?!\d)")
_PLAIN_WORDS = frozenset(("date", "time", "name", "number", "code", "id", "type", "valu", "at", "on", "is", "has"))
_OTHERWISE = re.compile(r"\b(?:or|either)\b")
_OR_MORE = re.compile(r"\bor (?:more|fewer|less|later|earlier|above|below|higher|lower|over|under|so|not)\b")
_SEVERAL = re.compile(r"\b(?:several|multiple|repeat\w*|again|twice|once|common|shared?|same|one|single|duplicates?)\b")
_LINED_UP = frozenset({"group", "ordered", "order", "partition"})


@dataclass(frozen=True)
class Constants:
    """Judges what no slot explains. `explained` are the ids of the literals that stand for slots."""

    tree: exp.Expr
    names: Names
    slots: Sequence[Slot]
    grounding: Grounding
    lexicon: Lexicon
    compared: Sequence[Compared]
    explained: frozenset[int]

    @cached_property
    def timed(self) -> bool:
        return any(slot.time is not None for slot in self.slots)

    @cached_property
    def masked(self) -> str:
        return mask(self.grounding.question, self.grounding)

    def is_constant(self, literal: exp.Literal) -> bool:
        """Whether a literal that no slot explains cannot hang on the literals of the question.

        What a glossary term says is constant. A time or a key never is: it is an answer learned by heart.
        """
        around = literal.parent
        if around is not None and around.key in _LINED_UP:
            return True
        held = next((one for one in self.compared if one.literal is literal), None)
        if self._echoes_a_slot(literal, held):
            return False
        if self._in_glossary(literal):
            return held is None or self._is_said(held)
        if self._is_time(literal, held) or (held is not None and self._is_key(held.other)):
            return False
        if isinstance(around, exp.Interval | exp.Offset):
            return False
        return self._is_constant_text(literal, held) if literal.is_string else self._is_constant_number(literal, held)

    def _echoes_a_slot(self, literal: exp.Literal, held: Compared | None) -> bool:
        """Whether a literal is a slot's own in another place, or a part of it."""
        core = fold(re.sub(r"[\W_]+", "", literal.name))
        number = None if literal.is_string else number_in(literal.name)
        for slot in self.slots:
            if slot.kind == "value" and literal.is_string and core:
                value = fold(re.sub(r"[\W_]+", "", slot.text))
                shared = core in value or value in core
                if shared and (len(core) > 1 or held is not None or core == value):
                    return True
            elif slot.kind in ("number", "key", "limit"):
                own = Decimal(slot.text)
                if number is not None and (number == own or (slot.percent and number * 100 == own)):
                    return True
                if literal.is_string and slot.text in re.findall(r"\d+(?:\.\d+)?", literal.name):
                    return True
        return False

    def _is_time(self, literal: exp.Literal, held: Compared | None) -> bool:
        dated = held is not None and self.names.date_part(held.other) is not None
        if self.slots and dated:
            return True
        return _TIME_LIKE.search(literal.name) is not None and (literal.is_string or dated or self.timed)

    def _is_constant_text(self, literal: exp.Literal, held: Compared | None) -> bool:
        """A text that is held against something must be said by the question; any other must be no stored value."""
        if self._in_words(literal.name):
            return True
        return held is None and not any(m.kind == "value" for m in meanings_of(literal.name, self.lexicon))

    def _is_constant_number(self, literal: exp.Literal, held: Compared | None) -> bool:
        number, around = number_in(literal.name), literal.parent
        if isinstance(around, exp.Limit | exp.Fetch) or (held is not None and self.names.ranks(held.other)):
            return number == 1 and (self.grounding.direction is not None or self.grounding.limit == 1)
        shown = around.parent if isinstance(around, exp.Alias) else around
        if isinstance(shown, exp.Select):
            return isinstance(shown.parent, exp.Exists)
        if held is not None:
            several = number == 0 or not self.names.counts(held.other) or _SEVERAL.search(self.masked) is not None
            return number in (0, 1) and not held.negative and several and self._is_said(held)
        if number in (0, 1, 100):
            return True
        return isinstance(around, exp.Anonymous) and str(around.this).lower() == "round"

    def _is_said(self, held: Compared) -> bool:
        """Whether a column that is held against a constant is spoken of; as the glossary has it, where it has it."""
        column = self.names.column(held.other)
        if column is None:
            return True
        name = rf"(?<!\w){re.escape(column[1])}\"?\s*"
        if re.search(rf"{name}[<>=!]", self.grounding.told):
            sign = "(?:<>|!=)" if held.operator == "<>" else held.operator
            return (
                re.search(rf"{name}{sign}\s*{re.escape(held.literal.sql())}(?![\w.])", self.grounding.told) is not None
            )
        return self._names(column)

    def _names(self, column: Column) -> bool:
        """Whether a word of the question is a word of a column's name, or a term of the glossary is about it."""
        said = {token.stem for token in tokens(self.grounding.question)}
        own = self.lexicon.column_words.get(column, frozenset())
        own = own - _PLAIN_WORDS or own
        return bool(own & said) or re.search(rf"(?<!\w){re.escape(column[1])}(?!\w)", self.grounding.told) is not None

    def conditions_are_said(self) -> bool:
        """Whether what else keeps rows or leaves them out is said as well, or follows from how tables are joined."""
        return all(map(self._is_fair, self.tree.walk()))

    def _is_fair(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Or):
            return isinstance(node.parent, exp.Or) or self._is_said_or(node)
        if isinstance(node, exp.Is | exp.EQ | exp.NEQ) and isinstance(node.expression, exp.Null | exp.Boolean):
            return self._is_said_state(node.this)
        if isinstance(node, exp.Column) and isinstance(node.parent, exp.Where | exp.Having | exp.Not | exp.Connector):
            return self._is_said_state(node)
        if isinstance(node, exp.LT | exp.LTE | exp.GT | exp.GTE):
            left, right = self.names.column(node.this), self.names.column(node.expression)
            keyed = self._is_key(node.this) or self._is_key(node.expression)
            return left is None or right is None or not keyed or left == right
        return not isinstance(node, exp.Like) or self.names.column(node.expression) is None

    def _is_said_or(self, node: exp.Or) -> bool:
        """Whether literals in an OR stand beside others of their own column, or the question says `or`."""
        leaves: list[exp.Expr] = []
        waiting: list[exp.Expr] = [node]
        while waiting:
            here = waiting.pop()
            if isinstance(here, exp.Or | exp.Paren):
                waiting += [inner for inner in (here.this, here.args.get("expression")) if inner is not None]
            else:
                leaves.append(here)
        inside = (literal for leaf in leaves for literal in leaf.find_all(exp.Literal))
        if not any(id(literal) in self.explained for literal in inside):
            return True
        if _OTHERWISE.search(_OR_MORE.sub(" ", self.masked)):
            return True
        held = [[one for one in self.compared if one.node is leaf] for leaf in leaves]
        if not all(held) or any(one.operator != "=" for leaf in held for one in leaf):
            return False
        columns = {self._column_of(one.other) for leaf in held for one in leaf}
        return len(columns) == 1 and None not in columns

    def _column_of(self, other: exp.Expr) -> Column | None:
        """The column that an expression is, or is a part of the date in."""
        date = self.names.date_part(other)
        return self.names.column(other) if date is None else date.column

    def _is_said_state(self, node: exp.Expr) -> bool:
        """Whether a column that must be there or true, or not, is spoken of, used elsewhere, or joins as a key."""
        column = self.names.column(node)
        if column is None or self._is_key(node) or self._names(column):
            return True
        states = exp.Is | exp.EQ | exp.Where | exp.Having | exp.Not | exp.Connector
        others = (other for other in self.tree.find_all(exp.Column) if not isinstance(other.parent, states))
        return any(self.names.column(other) == column for other in others)

    def _is_key(self, other: exp.Expr) -> bool:
        column = self.names.column(other)
        keys = self.lexicon.primary_keys
        return column is not None and (column[1] in keys.get(column[0], ()) or column in self.lexicon.foreign)

    def _in_glossary(self, literal: exp.Literal) -> bool:
        return re.search(rf"(?<![\w.']){re.escape(literal.sql())}(?![\w.'])", self.grounding.told) is not None

    def _in_words(self, text: str) -> bool:
        """Whether the words around the slots say a constant (`cancelled`)."""
        said = {token.stem for token in tokens(re.sub(r"<\w+>", " ", self.masked))}
        own = [token.stem for token in tokens(text)]
        return bool(own) and said.issuperset(own)
