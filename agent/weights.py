"""The synapses of a brain as its snapshots have them: plain records, each with what its bucket stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from memory.chain import Content
from memory.ledger import EventKind, Ledger, Transaction
from procedural.store import Bucket, SynapseStore, replayed
from procedural.synapse import Synapse

_FIELDS = tuple(one.name for one in fields(Synapse))


@dataclass(frozen=True, slots=True)
class KeptWeights:
    """Reads synapses out of a history and sets them back; a `memory.brain.reading.Weights`."""

    ledger: Ledger
    synapses: SynapseStore

    def read(self, moved: Iterable[Content], *, within: Transaction | None = None) -> Iterable[Content]:
        """The bodies of synapse records after these contents of `weights_moved` events, oldest first."""
        with self.ledger.connection(within) as connection:
            buckets = {bucket.bucket: bucket for bucket in self.synapses.buckets(connection)}
        return [_body(synapse, buckets) for synapse in replayed(moved)]

    def write(self, entry: Transaction, wanted: Iterable[Content], gone: Iterable[Content]) -> None:
        """Set synapses to these bodies, take the others away, and write down that weights were moved."""
        wanted = tuple(wanted)
        buckets = {str(body["bucket"]): _bucket(body) for body in wanted}
        moved = self.synapses.restore(
            entry.connection, map(synapse_from, wanted), buckets.values(), map(synapse_from, gone)
        )
        entry.append(EventKind.WEIGHTS_MOVED, "restored", moved)


def _body(synapse: Synapse, buckets: Mapping[str, Bucket]) -> Content:
    bucket = buckets.get(synapse.bucket, Bucket(synapse.bucket, "", ()))
    return {**asdict(synapse), "kind": bucket.kind, "tables": list(bucket.tables)}


def synapse_from(body: Content) -> Synapse:
    """The synapse that the body of a record holds."""
    told: dict[str, Any] = {name: body[name] for name in _FIELDS}
    return Synapse(**told)


def _bucket(body: Content) -> Bucket:
    told: Any = body["tables"]
    return Bucket(str(body["bucket"]), str(body["kind"]), tuple(told))
