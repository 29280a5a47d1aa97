"""Deciding what each linked stretch of a question means, and so which tables it needs."""

from __future__ import annotations

from collections.abc import Sequence

from agent.linking import Lexicon, Meaning, Span
from agent.wording import COMMON, DETERMINERS, NUMBER_WORDS, Token, is_plural, words

_SORTING = words("order sort rank group arrang")
_WE = words("we you they to i us")
_US = words("us we you")
_MUCH = words("much units pieces quantity quantities volume amount")
_MERIT = words(
    """best worst top biggest largest popular frequent frequently loyal valuable important busiest favourite favorite
    often successful productive"""
)
_WITH_MOST = words("active used busy")
_SOMEBODY = words("who whom anyone anybody everyone everybody someone somebody")
_OURSELVES = words("company firm business organisation organization")
_EACH = words("per each every")
_COUNTED = words("how many the a an different distinct several all our other more than at least which what")
_GOING = words("ship shipping deliveri deliv destin target receiv to")
_ALL = words("all any every each some both those")
_FAR = 3
_DONE = words("bought sold spent paid made took got sent kept held")
_SORTED_HOW = words("ascending descending alphabetical chronological reverse in")


class Choice:
    """The meaning of each stretch. Names decide first, then the glossary, then what lies nearest to both.

    `anchors` are the tables needed, in the order they were found. `chosen` gives for the place of a stretch its
    meanings, the chosen one first; a stretch that is not in it means nothing here.
    """

    def __init__(self, tokens: Sequence[Token], spans: Sequence[Span], lexicon: Lexicon) -> None:
        self.tokens = tokens
        self.spans = spans
        self.lexicon = lexicon
        self.anchors: list[str] = []
        self.chosen: dict[int, list[Meaning]] = {}
        self._mentions: list[tuple[int, str]] = []
        self._known = {table.name for table in lexicon.schema.tables}
        self._waiting: list[tuple[int, list[Meaning]]] = []
        self._common: list[tuple[int, list[Meaning]]] = []
        self._choose()

    def anchor(self, table: str) -> None:
        if table in self._known and table not in self.anchors:
            self.anchors.append(table)

    def away(self, table: str) -> int:
        """Joins from the tables already needed; 0 while there are none, the number of tables when out of reach."""
        far = len(self._known)
        distances = [self.lexicon.keys.distance(anchor, table) for anchor in self.anchors]
        return min((far if distance is None else distance for distance in distances), default=0)

    def is_entity(self, meaning: Meaning) -> bool:
        """Whether it stands for the rows of a table: its name, or a glossary word for it."""
        return meaning.kind == "table" or self.lexicon.class_of(meaning) == "entity"

    def side_by_side(self, *, held_against: bool) -> bool:
        """Whether the tables needed are looked at apart (`customers and suppliers in the UK`), with no join between.

        So when all of them hold one column or value that is linked, and no key joins any two directly. Also when the
        question holds two against each other (`the ratio of customers to suppliers`) that are three joins or more
        apart and says nothing of what lies between. Not where one is told by the other (`clerks whose customers`).
        """
        distance = self.lexicon.keys.distance
        if held_against and len(self.anchors) == 2 and len({table for _, table in self._mentions}) == 2:
            apart = distance(*self.anchors)
            plain = all(self.is_entity(meanings[0]) for meanings in self.chosen.values())
            if plain and (apart is None or apart >= _FAR):
                return True
        if any(token.folded == "whose" for token in self.tokens):
            return False
        if len(self.anchors) < 2 or any(distance(a, b) == 1 for a in self.anchors for b in self.anchors):
            return False
        for meanings in self.chosen.values():
            tables = {m.table for m in meanings if m.column}
            if len({m.column for m in meanings if m.column}) == 1 and tables.issuperset(self.anchors):
                return True
        return False

    def _choose(self) -> None:
        doubtful: list[tuple[int, Span]] = []
        for place, span in enumerate(self.spans):
            tables = [m for m in span.meanings if m.kind == "table" and m.quality != "part"]
            entities = [m for m in span.meanings if self.lexicon.class_of(m) == "entity"]
            others = any(m.kind == "column" or (m.kind == "term" and m not in entities) for m in span.meanings)
            if self._sorts(span) or self._asks(span) or self._idles(place, span) or self._told_by_a_condition(span):
                continue
            if tables and not any(m.kind == "column" for m in span.meanings):
                self._name(place, [*tables, *entities])
            elif entities and not tables:
                self._name(place, entities)
            elif tables or others or any(m.quality == "part" for m in span.meanings):
                doubtful.append((place, span))
            else:
                self._waiting.append((place, [m for m in span.meanings if m.kind == "value"]))
        for place, span in doubtful:
            if not self._only_money(span):
                self._decide(place, span)
        self._settle([(place, self._likely(found)) for place, found in self._waiting])
        self._settle_parts(doubtful)
        self._act()
        for place in sorted(self.chosen):
            self.chosen[place].sort(key=lambda meaning: self._preference(place, meaning))

    def _name(self, place: int, meanings: list[Meaning]) -> None:
        self.chosen[place] = meanings
        self.anchor(meanings[0].table)
        if not meanings[0].verb:
            self._mentions.append((self.spans[place].first, meanings[0].table))

    def _decide(self, place: int, span: Span) -> None:
        """A stretch that is a column or a term, and perhaps a table as well."""
        tables = [m for m in span.meanings if m.kind == "table"]
        columns = [m for m in span.meanings if m.kind == "column" and m.quality == "exact"]
        terms = [m for m in span.meanings if m.kind == "term"]
        here = [m for m in columns if m.table in self.anchors]
        if tables and all((m.table, m.column) in self.lexicon.foreign for m in here):
            here = []
        if span.quality == "part":
            parts = [m for m in span.meanings if m.kind == "column"]
            if tables and not any(m.table in self.anchors for m in parts):
                self._name(place, tables)
        elif self._unfit(terms):
            return
        elif terms and (longer := self._longer_names(terms[0])):
            self._waiting.append((place, longer))
        elif terms and not (here and not any(m.table in self.anchors for m in terms)):
            self.chosen[place] = [*terms, *(m for m in columns if not any(_same_column(m, term) for term in terms))]
            for table in self.lexicon.glossary[terms[0].term or 0].tables:
                self.anchor(table)
        elif columns and (there := self._goal(span, columns[0])):
            self.chosen[place] = [*there, *(m for m in columns if m not in there)]
        elif here:
            self.chosen[place] = [*here, *(m for m in columns if m not in here)]
        elif tables:
            self._name(place, [*tables, *columns])
        elif columns:
            self._decide_column(place, span, columns)

    def _longer_names(self, term: Meaning) -> list[Meaning]:
        """The columns of other tables whose name goes on with words that are said: `ContactTitle` for the `job` of a
        contact. Only while the table of the term itself is not needed."""
        if term.column is None or term.table in self.anchors or self.lexicon.class_of(term) != "column":
            return []
        if (term.table, term.column) in self.lexicon.amounts:
            return []
        words_of = self.lexicon.column_words
        own, stems = words_of.get((term.table, term.column), frozenset()), {token.stem for token in self.tokens}
        parts = [m for m in self.lexicon.parts_of(term) if m.table != term.table]
        return [m for m in parts if words_of[m.table, m.column or ""] - own <= stems]

    def _goal(self, span: Span, column: Meaning) -> list[Meaning]:
        """The columns of where something goes (`ShipCountry`) for the `countries` of "went to 18 countries"."""
        at = span.first - 1
        while at >= 0 and (self.tokens[at].folded in _COUNTED or self.tokens[at].kind == "number"):
            at -= 1
        if at < 0 or self.tokens[at].folded != "to":
            return []
        own = self.lexicon.column_words[column.table, column.column or ""]
        words_of = self.lexicon.column_words
        parts = (m for m in self.lexicon.parts_of(column) if m.table in self.anchors)
        return [m for m in parts if words_of[m.table, m.column or ""] - own <= _GOING]

    def _decide_column(self, place: int, span: Span, columns: list[Meaning]) -> None:
        """A column of no table named so far: a longer name of a table needed that ends so (`ShipCountry`) goes first.

        So does a longer name that is said in pieces (`ship to how many cities`).
        """
        parts = self.lexicon.parts_of(columns[0])
        own = {token.stem for token in self.tokens}
        whole = [m for m in parts if self.lexicon.column_words[m.table, m.column or ""] <= own]
        near = [m for m in parts if m.table in self.anchors]
        if whole and (not self.anchors or any(m in near for m in whole)):
            self._waiting.append((place, [m for m in whole if m in near] or whole))
        elif near:
            self.chosen[place] = [*near, *columns]
        elif span.last - span.first > 1 or self.tokens[span.first].folded not in COMMON:
            self._waiting.append((place, columns))
        else:
            self._common.append((place, columns))

    def _act(self) -> None:
        """Anchor what the only table needed is judged by: `our most frequent buyers` are so by their orders.

        So, too, where the only thing said is the name of a group (`all beverages`): its members are meant.
        """
        if self.anchors and not self._mentions_beside_verbs() and any(t.folded in _SOMEBODY for t in self.tokens):
            for token in self.tokens:
                for table in self.lexicon.doers(token)[:1]:
                    self.anchor(table)
        if not self.anchors or any(self._measures(self.spans[place]) for place in self.chosen):
            return
        keys, chosen = self.lexicon.keys, [meanings[0] for meanings in self.chosen.values()]
        dated = {(date.table, date.column) for date in self.lexicon.date_columns}
        tables = {table for table, _ in dated}
        if tables.intersection(keys.grain(self.anchors)) and len(self.anchors) > 1:
            return
        said = {token.folded for token in self.tokens}
        judged = bool(said & _MERIT or (said & _WITH_MOST and "most" in said)) and not said & {"number", "count"}
        if any(m.kind == "column" for m in chosen):
            judged = judged and bool(said & _EACH) and not any((m.table, m.column) in dated for m in chosen)
        judged = judged or bool(said & {"days", "weeks", "hours"} and not tables.intersection(self.anchors))
        activity = keys.activity(self._judged(), tables)
        if activity is not None and (judged or (len(self.anchors) == 1 and self._only_a_group(chosen))):
            self.anchor(activity)

    def _judged(self) -> str:
        """The table of the first name behind a word of merit, else the first table needed."""
        at = next((place for place, token in enumerate(self.tokens) if token.folded in _MERIT), 0)
        return next((table for first, table in sorted(self._mentions) if first >= at), self.anchors[0])

    def _only_a_group(self, chosen: Sequence[Meaning]) -> bool:
        """Whether all that is said are names of groups, written as one writes of their members."""
        if not chosen or len(self.lexicon.keys.neighbours(self.anchors[0])) != 1:
            return False
        spans = [self.spans[place] for place in self.chosen]
        loose = any(is_plural(self.tokens[s.last - 1].folded) or self.tokens[s.first].text.islower() for s in spans)
        return loose and all(m.kind == "value" and self._names_row(m) for m in chosen)

    def _mentions_beside_verbs(self) -> bool:
        """Whether somebody is named who may be meant by `who`: a table that a doer's name stands for."""
        return any(table in self.lexicon.doing for _, table in self._mentions)

    def _only_money(self, span: Span) -> bool:
        """Whether it is an everyday word for a measure (`money`, `spent`) beside one that is named outright."""
        if span.last - span.first != 1 or self.tokens[span.first].folded not in COMMON or not self._measures(span):
            return False
        return any(
            self._measures(other) and any(self.tokens[at].folded not in COMMON for at in range(other.first, other.last))
            for other in self.spans
            if other is not span and not any(self.lexicon.class_of(m) == "condition" for m in other.meanings)
        )

    def _measures(self, span: Span) -> bool:
        return any(self.lexicon.class_of(m) in {"measure", "aggregate"} for m in span.meanings) or any(
            (m.table, m.column) in self.lexicon.amounts and m.quality == "exact" for m in span.meanings
        )

    def _unfit(self, terms: Sequence[Meaning]) -> bool:
        """Whether a condition over several tables is about another one than the question (`products never ordered`)."""
        if not terms or not self.anchors or self.lexicon.class_of(terms[0]) != "condition":
            return False
        return len(self.lexicon.glossary[terms[0].term or 0].tables) > 1 and terms[0].table not in self.anchors

    def _settle(self, waiting: Sequence[tuple[int, list[Meaning]]]) -> None:
        """Give values and columns a table: one already needed, else the one fewest joins away that explains most."""
        references = {table.name: len(table.foreign_keys) for table in self.lexicon.schema.tables}
        while homeless := [found for _, found in waiting if not any(m.table in self.anchors for m in found)]:
            coverage: dict[str, int] = {}
            named: dict[str, bool] = {}
            kinds: dict[str, int] = {}
            for found in homeless:
                for meaning in found:
                    size = self.lexicon.distinct.get((meaning.table, meaning.column or ""), 0)
                    kinds[meaning.table] = max(kinds.get(meaning.table, 0), size)
                for table in {m.table for m in found}:
                    coverage[table] = coverage.get(table, 0) + 1
                    named[table] = named.get(table, False) or any(
                        m.table == table and self._names_row(m) for m in found
                    )
            order = self.lexicon.keys.in_order(coverage)
            if not order:
                break
            self.anchor(min(order, key=lambda t: (self.away(t), -coverage[t], not named[t], references[t], -kinds[t])))
        for place, found in waiting:
            self.chosen[place] = list(found)

    def _settle_parts(self, doubtful: Sequence[tuple[int, Span]]) -> None:
        """Words that are only a part of a column's name count where that column's table is needed anyway."""
        parts = [(place, [m for m in span.meanings if m.kind == "column"]) for place, span in doubtful]
        parts = [(place, found) for place, found in parts if place not in self.chosen and found] + self._common
        if parts and not self.anchors:
            self._settle(parts)
        for place, found in parts:
            if here := [m for m in found if m.table in self.anchors]:
                self.chosen[place] = here

    def _likely(self, found: list[Meaning]) -> list[Meaning]:
        """Those to choose from: what names a row of a table needed or next to one, else what is in a table needed."""
        naming = [m for m in found if self._names_row(m)]
        near = [m for m in naming if self.away(m.table) == 0] or [m for m in naming if self.away(m.table) == 1]
        return near or [m for m in found if m.table in self.anchors] or naming or found

    def _names_row(self, meaning: Meaning) -> bool:
        return (meaning.table, meaning.column) in self.lexicon.naming

    def _preference(self, place: int, meaning: Meaning) -> tuple[bool, int, int, int]:
        """Sort key: tables needed, then kinds as they were, columns whose own words are used, the nearest mention.

        A mention before the stretch counts as nearer than one after it.
        """
        if meaning.kind not in {"value", "column"}:
            return (False, 0, 0, 0)
        own = {token.stem for token in self.tokens}
        column = self.lexicon.column_words.get((meaning.table, meaning.column or ""), frozenset())
        first = self.spans[place].first
        gaps = [
            first - at if at < first else 2 * (at - first) + 1 for at, table in self._mentions if table == meaning.table
        ]
        return (meaning.table not in self.anchors, 1, -len(own & column), min(gaps, default=2 * len(self.tokens)))

    def _sorts(self, span: Span) -> bool:
        """Whether `ordered` in "ordered by price" or `order` in "in descending order" is about sorting."""
        word = self.tokens[span.first]
        if span.last - span.first != 1 or word.stem not in _SORTING:
            return False
        before = self.tokens[span.first - 1].folded if span.first else ""
        if before in _SORTED_HOW and word.folded == "order":
            return True
        follows = self.tokens[span.last].folded if span.last < len(self.tokens) else ""
        if follows != "by" or not word.folded.endswith("ed"):
            return False
        after = next((other for other in self.spans if other.first >= span.last), None)
        return after is None or not any(m.kind in {"table", "value"} for m in after.meanings)

    def _asks(self, span: Span) -> bool:
        """Whether it is the verb of "name the five …"."""
        if span.first or span.last != 1 or self.tokens[0].folded != "name" or len(self.tokens) < 2:
            return False
        follows = self.tokens[1].folded
        return follows in DETERMINERS | _ALL or follows in NUMBER_WORDS or self.tokens[1].kind == "number"

    def _told_by_a_condition(self, span: Span) -> bool:
        """Whether it is the `sold` of the glossary's `sold out`: a word of a condition over other tables."""
        for other in self.spans:
            if other is span or not (other.first <= span.first and span.last <= other.last):
                continue
            terms = [m for m in other.meanings if self.lexicon.class_of(m) == "condition"]
            tables = {table for m in terms for table in self.lexicon.glossary[m.term or 0].tables}
            if terms and not any(m.table in tables for m in span.meanings):
                return True
        return False

    def _idles(self, place: int, span: Span) -> bool:
        """Whether it is the `sell` of "products we sell" or the `buy` of "those who buy from us".

        Said of every row, such a verb asks for nothing more, so it counts only where nothing else names a table.
        """
        word = self.tokens[span.first]
        if span.last - span.first == 1 and place and word.folded in _OURSELVES:
            lead = self.tokens[span.first - 1].folded if span.first else ""
            follows = self.tokens[span.last].folded if span.last < len(self.tokens) else ""
            return lead in {"the", "our", "this"} and follows not in {"that", "which", "who", "with", "whose"}
        if span.last - span.first != 1 or word.folded not in COMMON or word.folded.endswith(("ed", "ing", "s")):
            return False
        if word.folded in _DONE or not any(self.is_entity(meaning) for meaning in span.meanings):
            return False
        before = {token.folded for token in self.tokens[max(0, span.first - 2) : span.first]}
        after = {token.folded for token in self.tokens[span.last : span.last + 2]}
        others = (other for at, other in enumerate(self.spans) if at != place)
        known = any(meaning.quality != "part" for other in others for meaning in other.meanings)
        if any(token.folded in _MUCH for token in self.tokens[: span.first]):
            return False
        return known and bool(before & _WE or after & _US)


def _same_column(one: Meaning, other: Meaning) -> bool:
    return one.column is not None and (one.table, one.column) == (other.table, other.column)
