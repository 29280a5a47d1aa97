"""The ground that the other tests stand on holds."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
import sqlalchemy


def test_a_connection_to_another_machine_is_refused() -> None:
    with socket.socket() as outside, pytest.raises(RuntimeError, match=r"may not reach '192\.0\.2\.1'"):
        outside.connect(("192.0.2.1", 80))


def test_a_name_is_not_looked_up() -> None:
    with pytest.raises(RuntimeError, match="may not reach"):
        socket.getaddrinfo("example.invalid", 80)


def test_a_loopback_connection_passes() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()[:2], timeout=5) as client,
    ):
        assert client.getpeername() == server.getsockname()


def test_a_child_process_is_sent_to_a_closed_port() -> None:
    code = "import urllib.request as r; r.urlopen('http://192.0.2.1/', timeout=5)"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert child.returncode != 0
    assert "refused" in child.stderr.lower()


def test_no_setting_or_key_of_the_caller_reaches_a_test() -> None:
    assert [name for name in os.environ if name.startswith(("HEBBQL_", "ANTHROPIC_", "OPENAI_"))] == []


def test_postgres_answers_as_itself(postgres_url: str) -> None:
    engine = sqlalchemy.create_engine(postgres_url)
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("SHOW server_encoding")).scalar() == "UTF8"
        assert connection.execute(sqlalchemy.text("SHOW listen_addresses")).scalar() == ""
    engine.dispose()


def test_each_test_gets_an_empty_postgres_database_of_its_own(postgres_database: str) -> None:
    engine = sqlalchemy.create_engine(postgres_database)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE mark (id integer)"))
        assert sqlalchemy.inspect(connection).get_table_names() == ["mark"]
    engine.dispose()
