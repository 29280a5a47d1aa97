"""Making the query of a remembered question fit another one, without a model.

The query is taken apart into what the two questions may differ in: the rows and values asked about, amounts, filters,
times, numbers, limit and direction. Each part is filled anew from what the question links to; the joins follow. What
fits badly is strained, and a part that cannot be filled gives no query at all.
"""

from __future__ import annotations

from agent.drafting.adapting.fitting import Adapted, adapt, remembered
from agent.drafting.adapting.work import Remembered

__all__ = ["Adapted", "Remembered", "adapt", "remembered"]
