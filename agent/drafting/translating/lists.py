"""Lists of the values of several rows in one text, and the order in them."""

from __future__ import annotations

from sqlglot import exp

from agent.drafting.translating.templates import filled_in, is_text


def string_agg(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """STRING_AGG and GROUP_CONCAT with an order inside: SQLite before 3.44 has neither.

    An order is left where it stands for `ordered_lists`.
    """
    if isinstance(node, exp.GroupConcat):
        separator = node.args.get("separator")
        given = [node.this] + ([separator] if separator is not None else [])
    else:
        given = list(node.expressions)
    if not given or len(given) > 2:
        return None
    order: exp.Expr | None = None
    for place, one in enumerate(given):
        if isinstance(one, exp.Order):
            order = one
            if one.args.get("this") is None:
                return None
            given[place] = one.args["this"]
    value = given[0]
    changed = str(node.this).lower() == "string_agg" if isinstance(node, exp.Anonymous) else dialect != "sqlite"
    if dialect == "postgres":
        return _string_agg_of_postgres(value, given[1] if len(given) == 2 else None, order)
    if isinstance(value, exp.Distinct) and len(given) == 2:
        if not (is_text(given[1]) and given[1].name == ","):
            return None
        given = given[:1]
    out_of_place = order is not None and not any(isinstance(one, exp.Order) for one in node.expressions[-1:])
    if not (changed or out_of_place) and not (isinstance(value, exp.Distinct) and len(node.expressions) == 2):
        return None
    kept = [value.copy(), *(one.copy() for one in given[1:])]
    if order is not None:
        kept[-1] = exp.Order(this=kept[-1], expressions=[one.copy() for one in order.expressions])
    return exp.Anonymous(this="GROUP_CONCAT", expressions=kept)


def _string_agg_of_postgres(value: exp.Expr, separator: exp.Expr | None, order: exp.Expr | None) -> exp.Expr:
    between = separator.copy() if separator is not None else exp.Literal.string(",")
    if isinstance(value, exp.Distinct) and len(value.expressions) == 1:
        text: exp.Expr = exp.Distinct(expressions=[filled_in("CAST(_0 AS TEXT)", "postgres", value.expressions[0])])
    else:
        text = filled_in("CAST(_0 AS TEXT)", "postgres", value)
    if order is not None:
        between = exp.Order(this=between, expressions=[one.copy() for one in order.expressions])
    return exp.Anonymous(this="STRING_AGG", expressions=[text, between])


def ordered_lists(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """A SELECT whose lists are ordered inside: the rows that it reads are ordered instead.

    SQLite keeps the order of a subquery for GROUP_CONCAT, also within groups. So the rows are read in a subquery that
    gives the columns which the SELECT uses. None where lists have different orders, or columns cannot be told.
    """
    own = [one for one in node.find_all(exp.Anonymous) if one.find_ancestor(exp.Select) is node]
    lists = {id(one): order for one in own if (order := _order_in(one)) is not None}
    orders = list({order.sql(): order for order in lists.values()}.values())
    if len(orders) != 1 or len(list(node.find_all(exp.Select))) > 1 or list(node.find_all(exp.Window)):
        return None
    source, joins = node.args.get("from_"), node.args.get("joins") or []
    tables = [source.this, *(join.this for join in joins)] if source is not None else []
    stars = [star for star in node.find_all(exp.Star) if not isinstance(star.parent, exp.Anonymous)]
    if not tables or stars or node.args.get("with_") is not None or any(join.args.get("using") for join in joins):
        return None
    made, names = node.copy(), _Names(node)
    inner = exp.Select(from_=made.args.pop("from_"), joins=made.args.pop("joins", None))
    if made.args.get("where") is not None:
        inner.set("where", made.args.pop("where"))
    groups = made.args["group"].expressions if made.args.get("group") is not None else []
    steps = [exp.Ordered(this=one.copy()) for one in groups if not isinstance(one, exp.Literal)]
    steps += [one.copy() for one in orders[0].expressions]
    for projection in made.expressions:
        if isinstance(projection, exp.Column):
            projection.replace(exp.alias_(projection.copy(), projection.name, quoted=True))
    for one in list(made.find_all(exp.Anonymous)):
        if (order := _order_in(one)) is not None:
            order.replace(order.this.copy())
    for column in list(made.find_all(exp.Column)):
        names.take(column)
    inner.set("expressions", names.given)
    inner.set("order", exp.Order(expressions=[names.opened(step) for step in steps]))
    made.set("from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("listed")))))
    return made


class _Names:
    """The columns that a SELECT takes from its rows, each under a name of its own."""

    def __init__(self, select: exp.Expr) -> None:
        self._aliases = {one.alias: one.this for one in select.expressions if isinstance(one, exp.Alias)}
        self._names: dict[exp.Expr, str] = {}

    @property
    def given(self) -> list[exp.Expr]:
        return [exp.alias_(column.copy(), name) for column, name in self._names.items()]

    def take(self, column: exp.Column) -> None:
        """Put the name of a column in its place, unless it is that of an output."""
        if not column.table and column.name in self._aliases and column.find_ancestor(exp.Order, exp.Group, exp.Having):
            return
        name = self._names.setdefault(column.copy(), f"value_{len(self._names)}")
        column.replace(exp.column(name))

    def opened(self, step: exp.Expr) -> exp.Expr:
        """A step of an order with what outputs stand for in their place."""
        for column in list(step.find_all(exp.Column)):
            if not column.table and column.name in self._aliases:
                column.replace(self._aliases[column.name].copy())
        return step


def _order_in(node: exp.Anonymous) -> exp.Order | None:
    """The order in a call of GROUP_CONCAT."""
    if str(node.this).upper() != "GROUP_CONCAT" or not node.expressions:
        return None
    last = node.expressions[-1]
    return last if isinstance(last, exp.Order) and last.args.get("this") is not None else None
