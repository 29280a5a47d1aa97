"""The tables of the ledger and of what is projected from it."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, String, Table, Text

METADATA = MetaData()

BRAIN = Table(
    "brain",
    METADATA,
    Column("store", String(36), primary_key=True, comment="a random id, given once"),
    Column("generation", Integer, nullable=False, comment="how often the episode store was brought up to date"),
    Column("format", Integer, nullable=False),
    Column("database", Text, nullable=False, comment="the one database this brain is about"),
    Column("created", BigInteger, nullable=False, comment="microseconds since 1970, UTC"),
)

LEDGER = Table(
    "ledger",
    METADATA,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False, comment="microseconds since 1970, UTC"),
    Column("kind", String(40), nullable=False),
    Column("subject", Text, nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Index("ledger_by_subject", "subject"),
    Index("ledger_by_kind", "kind"),
)

CONTENT = Table(
    "content",
    METADATA,
    Column("position", Integer, ForeignKey("ledger.position"), primary_key=True, autoincrement=False),
    Column("salt", String(32), comment="NULL once erased, so that nothing can be guessed from the hash"),
    Column("body", Text, comment="canonical JSON; NULL once erased"),
)

EPISODES = Table(
    "episodes",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("state", String(10), nullable=False, comment="active, forgotten or erased"),
    Column("bucket", String(64), nullable=False),
    Column("kind", Text, nullable=False, comment="empty once erased, as are tables and batch"),
    Column("tables", Text, nullable=False, comment="JSON, sorted"),
    Column("batch", Text, nullable=False),
    Column("position", Integer, ForeignKey("ledger.position"), nullable=False, comment="where it was remembered"),
    Index("episodes_by_bucket", "bucket"),
    Index("episodes_by_intent", "kind", "tables"),
    Index("episodes_by_batch", "batch"),
    Index("episodes_by_position", "position"),
)

MASKED_QUESTIONS = Table(
    "masked_questions",
    METADATA,
    Column("position", Integer, ForeignKey("ledger.position"), primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False, comment="of an active episode's masked question"),
    Index("masked_questions_by_digest", "digest"),
)

LESSONS = Table(
    "lessons",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("bucket", String(64), nullable=False),
    Column("wrong", String(36), nullable=False, comment="the id that an episode with its wrong SQL has"),
    Column("fix", String(36), nullable=False, comment="likewise of its fix; empty while none is known"),
    Column("position", Integer, ForeignKey("ledger.position"), nullable=False, comment="its newest event"),
    Index("lessons_by_bucket", "bucket"),
    Index("lessons_by_wrong", "wrong"),
)

ATTEMPTS = Table(
    "attempts",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("state", String(10), nullable=False, comment="started, settled or abandoned"),
    Column("started", Integer, ForeignKey("ledger.position"), nullable=False),
    Column("settled", Integer, ForeignKey("ledger.position")),
    Index("attempts_by_state", "state"),
)

OUTBOX = Table(
    "outbox",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, ForeignKey("ledger.position"), nullable=False, comment="the event that asked for it"),
    Column("action", String(10), nullable=False, comment="remember, forget or rewrite"),
    Column("bucket", String(64), nullable=False),
    Column("subject", Text, nullable=False, comment="the episode; empty when the whole bucket is rewritten"),
    Column("acked", BigInteger, comment="microseconds since 1970, UTC; NULL while pending"),
    Index("outbox_by_acked", "acked"),
)

SCHEMA_VERSIONS = Table(
    "schema_versions",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("position", Integer, ForeignKey("ledger.position"), nullable=False),
)

TERM_NAMES = Table(
    "term_names",
    METADATA,
    Column("name", Text, primary_key=True, comment="casefolded"),
    Column("position", Integer, ForeignKey("ledger.position"), nullable=False, comment="the teaching that holds it"),
)
