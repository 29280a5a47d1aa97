"""Tokens, quotas and the sessions of pages."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from agent.doors.serving.identity import COOKIE, Doorman
from agent.doors.serving.problems import ForeignRequest, QuotaExhausted, Unknown, Unusable
from agent.doors.serving.quotas import Quotas
from agent.doors.serving.roles import Identity, Quota
from agent.doors.serving.tokens import Tokens

if TYPE_CHECKING:
    from tests.agent.doors.serving.conftest import Server

Right = Callable[[httpx.Response], Any]


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "runs" / "access.sqlite")


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def test_a_token_is_kept_as_a_hash_in_a_file_for_its_owner_alone(tokens: Tokens, tmp_path: Path) -> None:
    text, token = tokens.create(tenant="acme")
    assert tokens.find(text) == token and len(text) > 50
    file = tmp_path / "runs" / "access.sqlite"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert text.rpartition("_")[2].encode() not in file.read_bytes()
    assert tokens.create(tenant="acme")[0] != text


def test_what_is_nearly_a_token_is_none(tokens: Tokens) -> None:
    text, _ = tokens.create(tenant="acme")
    other, _ = tokens.create(tenant="acme")
    mixed = text[:13] + other[13:]
    for wrong in ("", "hbq_", text[:-1], text + "A", text.upper(), mixed, f" {text}", f"{text}\n", "x" * 1_000_000):
        assert tokens.find(wrong) is None


def test_a_tenant_and_a_role_must_be_ones_that_a_token_can_have(tokens: Tokens) -> None:
    for tenant in ("", "Acme", "../acme", "a/b", "-a", "public", "a" * 41, "acme\n"):
        with pytest.raises(Unusable):
            tokens.create(tenant=tenant)
    for role in ("owner", "public"):
        with pytest.raises(Unusable):
            tokens.create(tenant="acme", role=role)


def test_a_token_that_another_process_revokes_holds_for_no_further_request(server: Server) -> None:
    made = server.home.run("token", "create", "--tenant", "acme", "--json").json
    client = server.client(made["token"])
    assert client.get("/v1/runs").status_code == 200
    page = server.client()
    assert page.post("/v1/session", json={"token": made["token"]}).status_code == 200
    assert page.get("/v1/runs").status_code == 200
    listed = server.home.run("token", "list")
    assert made["id"] in listed.out and made["token"] not in listed.out
    assert server.home.run("token", "revoke", made["id"]).code == 0
    assert client.get("/v1/runs").status_code == 401 and page.get("/v1/runs").status_code == 401
    assert server.home.run("token", "revoke", made["id"]).code == 1


def test_a_wrong_token_is_never_taken_for_none(tokens: Tokens) -> None:
    doorman = Doorman(tokens=tokens, key="k", public=True)
    assert doorman.who({}, {}, method="GET", address="a").role == "public"
    for header in ("Bearer wrong", "Basic k", "k", "Bearer"):
        with pytest.raises(Unknown):
            doorman.who({"authorization": header}, {}, method="GET", address="a")


def test_a_page_changes_something_only_with_its_own_csrf_token_and_from_our_origin(tokens: Tokens) -> None:
    doorman = Doorman(tokens=tokens, key="k")
    sid, session = doorman.enter("k")
    other = doorman.enter("k")[1]
    cookies, ours = {COOKIE: sid}, {"origin": "http://127.0.0.1:1"}
    assert doorman.who({}, cookies, method="GET", address="a").role == "owner"
    for headers in ({}, ours, {"x-csrf-token": session.csrf}, {**ours, "x-csrf-token": other.csrf}):
        with pytest.raises(ForeignRequest):
            doorman.who(headers, cookies, method="POST", address="a")
    sent = {**ours, "x-csrf-token": session.csrf}
    assert doorman.who(sent, cookies, method="POST", address="a").role == "owner"
    doorman.leave(sid)
    with pytest.raises(Unknown):
        doorman.who({}, cookies, method="GET", address="a")


def test_the_link_lets_a_browser_in_by_a_cookie_that_no_script_reads_and_no_other_site_sends(server: Server) -> None:
    with server.client() as browser:
        answer = browser.get("/enter", params={"key": server.key})
        cookie = answer.headers["set-cookie"].lower()
        assert answer.status_code == 303 and answer.headers["location"] == "/"
        assert "httponly" in cookie and "samesite=strict" in cookie and server.key.lower() not in cookie
        told = browser.get("/v1/session").json()
        assert (told["role"], told["tenant"]) == ("owner", "home")
        body = {"text": "zappy means Products.UnitPrice > 60"}
        assert browser.post("/v1/teach", json=body).status_code == 403
        headers = {"x-csrf-token": told["csrf"], "origin": server.url}
        assert browser.post("/v1/teach", json=body, headers=headers).status_code == 200
        assert browser.delete("/v1/session", headers=headers).status_code == 200
        assert browser.get("/v1/session").json()["role"] == "public"
    assert server.client().get("/enter", params={"key": "wrong"}).status_code == 401


def test_rate_concurrency_and_money_are_counted_by_token(tokens: Tokens) -> None:
    quotas = Quotas(tokens)

    def named(name: str) -> Identity:
        return Identity(name, "acme", "member", Quota(per_minute=3, at_once=2, usd_per_day=0.5), f"token:{name}")

    one, other = named("one"), named("other")
    for _ in range(3):
        quotas.count(one)
    with pytest.raises(QuotaExhausted) as refused:
        quotas.count(one)
    assert refused.value.again and 0 < refused.value.again <= 60
    quotas.count(other)
    with quotas.running(one), quotas.running(one):
        with pytest.raises(QuotaExhausted), quotas.running(one):
            raise AssertionError("a third one at the same time")
        with quotas.running(other):
            pass
    with quotas.running(one):
        pass
    quotas.pay(one, 0.4)
    quotas.afford(one)
    quotas.pay(one, 0.2)
    with pytest.raises(QuotaExhausted, match="USD"):
        Quotas(tokens).afford(one)
    quotas.afford(other)


def test_who_used_up_a_quota_is_told_when_to_come_again(server: Server) -> None:
    text, _ = server.tokens.create(tenant="acme", quota=Quota(per_minute=2, at_once=1))
    client = server.client(text)
    answers = [client.get("/v1/runs") for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429] and int(answers[2].headers["retry-after"]) >= 1
