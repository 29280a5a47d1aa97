"""The words of the names of a schema, as people say them. Language only: nothing here reads a database."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from agent.wording import is_plural, name_tokens, stem, words

if TYPE_CHECKING:
    from inflect import engine

_PREFIXES = words("tbl tb dim fact fct t vw v")
_KEY_WORDS = words("id key uuid guid pk fk")
_SECRET = words(
    "password passwd pwd pass hash salt token secret ssn iban bic card cvv cvc pin passport tax account otp credential "
    "session apikey cookie"
)
_PLACES = words(
    "city country region town state district county province village continent location place nation street area"
)
_CODES = words("code number no nr num zip postal postcode year month day lat latitude lon lng longitude phone fax")
_LEVELS = words(
    "price rate rating score age level rank grade percent percentage ratio discount stars salary wage temperature "
    "height floor position order sequence version capacity size max min limit priority balance"
)
_PROSE = words("comment comments note notes description remark remarks text memo body message summary url link path")
_PRICES = words("price cost fee fare rate tariff")
_BIRTH = words("birth birthday born dob")
_PARTICIPLES = words(
    "born built sent paid made sold bought taken held begun written seen read put shut lent left given"
)
_FLAG_VERBS = {"has": "have", "is": "are", "was": "were", "can": "can", "does": "do"}


@cache
def _engine() -> engine:
    import inflect

    return inflect.engine()


def said(name: str) -> str:
    """A name as people say it.

    >>> said("total_price"), said("UnitPrice"), said("Order Details")
    ('total price', 'unit price', 'order details')
    """
    return " ".join(token.folded for token in name_tokens(name))


def one_and_many(name: str) -> tuple[str, str]:
    """What one row of a table is called, and several.

    >>> one_and_many("Categories"), one_and_many("tbl_room_type"), one_and_many("staff")
    (('category', 'categories'), ('room type', 'room types'), ('staff', 'staff'))
    """
    parts = said(name).split()
    if len(parts) > 1 and parts[0] in _PREFIXES:
        parts = parts[1:]
    if not parts or not parts[-1].isascii() or not parts[-1].isalpha():
        return " ".join(parts) or name, " ".join(parts) or name
    before, last = parts[:-1], parts[-1]
    if last in {"staff", "data", "inventory", "stock"}:
        return " ".join(parts), " ".join(parts)
    single = str(_engine().singular_noun(last) or last) if is_plural(last) else last
    several = last if is_plural(last) else str(_engine().plural_noun(last))
    return " ".join([*before, single]), " ".join([*before, several])


def column_words(column: str, table: str) -> str:
    """What a column is called beside its table: without the words of the table that it begins with.

    >>> column_words("hotel_name", "hotels"), column_words("unit_price", "products"), column_words("status", "status")
    ('name', 'unit price', 'status')
    """
    own = {stem(word) for word in one_and_many(table)[0].split()}
    parts = said(column).split()
    kept = list(parts)
    while len(kept) > 1 and stem(kept[0]) in own:
        kept = kept[1:]
    return " ".join(kept)


def is_key_like(column: str) -> bool:
    """Whether a column is named like a key: `customer_id`, `uuid`."""
    return bool(set(said(column).split()[-1:]) & _KEY_WORDS)


def is_secret(column: str) -> bool:
    """Whether a column is named like what nobody shows around: passwords, cards, passports."""
    return bool(set(said(column).split()) & _SECRET)


def is_place(column: str) -> bool:
    return bool(set(said(column).split()[-1:]) & _PLACES)


def is_code(column: str) -> bool:
    """Whether the numbers of a column only name something, so that nobody adds them up."""
    parts = said(column).split()
    return bool(set(parts[-1:]) & (_CODES | _KEY_WORDS)) or parts[:1] == ["year"]


def is_level(column: str) -> bool:
    """Whether the numbers of a column are compared and averaged, but seldom added up: a rating, a unit price."""
    parts = said(column).split()
    return bool(set(parts) & _LEVELS) and not set(parts) & {"total", "sum", "amount"}


def is_price(column: str) -> bool:
    """Whether a column says what something costs: `unit_price`, `fee`."""
    return bool(set(said(column).split()[-1:]) & _PRICES)


def is_prose(column: str) -> bool:
    """Whether a column holds what somebody wrote: a comment, a description."""
    return bool(set(said(column).split()) & _PROSE)


def is_birth(column: str) -> bool:
    return bool(set(said(column).split()) & _BIRTH)


def done(column: str) -> str | None:
    """What happened on a date, as a past participle; None where the name does not say.

    >>> done("booked_on"), done("check_in"), done("hire_date"), done("OrderDate")
    ('booked', None, 'hired', 'ordered')
    """
    parts = [p for p in said(column).split() if p not in ("on", "at", "date", "time", "day")]
    if len(parts) != 1:
        return None
    word = parts[0]
    if word.endswith("ed") or word in _PARTICIPLES:
        return word
    if word in ("hire", "order", "ship", "open", "close", "start", "end", "publish", "issue", "release", "create"):
        return str(_past(word))
    return None


def _past(word: str) -> str:
    if word.endswith("e"):
        return word + "d"
    return word + "ped" if word == "ship" else word + "ed"


def flag_words(column: str) -> tuple[str, str]:
    """The verb and the rest of what a column of yes and no says.

    >>> flag_words("has_balcony"), flag_words("is_active"), flag_words("Discontinued")
    (('have', 'balcony'), ('are', 'active'), ('are', 'discontinued'))
    """
    parts = said(column).split()
    if len(parts) > 1 and parts[0] in _FLAG_VERBS:
        return _FLAG_VERBS[parts[0]], " ".join(parts[1:])
    return "are", " ".join(parts)


def article(noun: str) -> str:
    """A noun with `a` or `an` before it.

    >>> article("order"), article("guest")
    ('an order', 'a guest')
    """
    return str(_engine().a(noun)) if noun else noun
