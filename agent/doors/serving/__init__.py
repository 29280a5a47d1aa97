"""One process that opens the brain once and serves it: HTTP API, page and tools, inside a trust boundary.

How a request goes: `boundary` (exact Host and Origin, time caps, safe headers) → `identity` (who asks, which tenant,
CSRF) → a route of `routes` or a tool → `desk` (permission, quota, deadline) → `owner` (the one thread that has brains
and model open) → `agent.app`. What comes back is checked by `telling.checked`: every episode in it is the tenant's.

Tenants. Each has a brain of its own: a folder with its ledger and its Cognee data. Nothing of one is within reach of
another, as no query, dataset or file is shared; Cognee, which serves one folder of a process at a time, is closed
before the next tenant's is opened (`owner.Owner._app`). Database, embedder and model are shared and know no tenant.
`home` is who started the server; `public` a demo brain that was frozen after it was set up.

Roles and permissions stand in `roles`. A route says what it takes with `Needs(Permission.…)` or `OPEN`; an
application with a route that says neither is not made (`application.declared`), and the role matrix is tested over
all that it has.

To plug in
- a page: files go into a folder that `application.Plan.static` names, served under `/static/`; its own routes are an
  `APIRouter` added to `Plan.routers`, each with `Depends(OPEN)`. It asks `GET /v1/session` for its role and CSRF token,
  and sends that as `X-CSRF-Token` with whatever changes something. Only scripts and styles from `/static/` run: none
  inline, as the boundary's Content-Security-Policy says.
- tools (MCP): an ASGI application in `guarded.Guarded(app, Permission.TOOLS)`, one of `Plan.mounts`, with its session
  manager in `Plan.lifespan`; a tool takes its identity from its request by `guarded.asking(request.scope)` and calls
  the desk. Over stdio there is no request: `starting.started(settings)` gives an owner, a `Desk` is made over it, and
  `Doorman.owner()` is who asks. Where a server has the brain open already, `agent.served.find` gives its address.
- any new work: `await desk.run(who, Permission.…, lambda app: …)`; it runs in the owner's thread on the tenant's own
  `App`. `desk.ask` streams the events of an answer, `desk.answer` gives the last of them. Work that takes long is a
  generator given to `owner.stream`, which is ended between two of its steps when its time is up.
"""
