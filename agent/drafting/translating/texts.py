"""Calls on texts: parts of them, and texts put together."""

from __future__ import annotations

from sqlglot import exp

from agent.drafting.translating.templates import Rule, filled_in, is_text, whole_number


def left_part(node: exp.Expr, dialect: str) -> exp.Expr | None:
    return filled_in("SUBSTR(_0, 1, _1)", dialect, *node.expressions) if len(node.expressions) == 2 else None


def right_part(node: exp.Expr, dialect: str) -> exp.Expr | None:
    if len(node.expressions) != 2:
        return None
    number = whole_number(node.expressions[1])
    if number is not None and number > 0:
        return filled_in(f"SUBSTR(_0, -{number})", dialect, node.expressions[0])
    return filled_in("CASE WHEN _1 > 0 THEN SUBSTR(_0, -_1) ELSE '' END", dialect, *node.expressions)


def concat(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """CONCAT leaves NULL out, in SQLite 3.44 too; || would make the whole NULL."""
    given = node.expressions
    if not given:
        return None
    parts = [
        value if isinstance(value, exp.Literal) else filled_in("COALESCE(_0, '')", dialect, value) for value in given
    ]
    made = parts[0].copy()
    for part in parts[1:]:
        made = exp.DPipe(this=made, expression=part.copy())
    return made


def concat_ws(node: exp.Expr, dialect: str) -> exp.Expr | None:
    given = node.expressions
    if len(given) < 2 or not is_text(given[0]):
        return None
    texts = [f"COALESCE(_0 || _{number}, '')" for number in range(1, len(given))]
    if len(given) > 9:
        return None
    return filled_in(f"SUBSTR({' || '.join(texts)}, {len(given[0].name) + 1})", dialect, *given)


def padded(side: str) -> Rule:
    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        given = node.expressions
        width = whole_number(given[1]) if len(given) in (2, 3) else None
        fill = given[2].name if len(given) == 3 and is_text(given[2]) else " " if len(given) == 2 else ""
        if width is None or not 0 < width <= 100 or len(fill) != 1:
            return None
        filled = exp.Literal.string(fill * width)
        joined = f"SUBSTR(_1 || _0, -{width})" if side == "left" else f"SUBSTR(_0 || _1, 1, {width})"
        text = f"CASE WHEN LENGTH(_0) >= {width} THEN SUBSTR(_0, 1, {width}) ELSE {joined} END"
        return filled_in(text, dialect, given[0], filled)

    return rule


def like_for_ilike(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """SQLite's LIKE does not mind case."""
    return exp.Like(
        **{name: value.copy() if isinstance(value, exp.Expr) else value for name, value in node.args.items()}
    )
