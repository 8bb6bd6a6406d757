"""OpenAPI documents and contracts of the tests' own: a ticket service, and skills that take their time."""

from __future__ import annotations

from pathlib import Path

TICKETS = """\
openapi: 3.0.3
info: {title: Tickets, version: "1"}
servers: [{url: "SERVER"}]
paths:
  /tickets:
    post:
      operationId: createTicket
      summary: Open a ticket.
      parameters:
        - {name: X-Team, in: header, schema: {type: string}}
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/NewTicket"}}}
      responses:
        "201":
          description: made
          content: {application/json: {schema: {$ref: "#/components/schemas/Ticket"}}}
    get:
      operationId: findTickets
      summary: Find tickets.
      parameters:
        - {name: reference, in: query, required: true, schema: {type: string}}
        - {name: tag, in: query, schema: {type: array, items: {type: string}}}
      responses:
        "200":
          description: found
          content:
            application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Ticket"}}}
  /tickets/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      operationId: getTicket
      responses:
        "200": {description: it, content: {application/json: {schema: {$ref: "#/components/schemas/Ticket"}}}}
  /attachments:
    post:
      operationId: attach
      requestBody: {content: {multipart/form-data: {schema: {type: object}}}}
      responses: {"200": {description: ok}}
components:
  schemas:
    NewTicket:
      type: object
      required: [title]
      properties:
        id: {type: string, readOnly: true}
        title: {type: string, minLength: 1, maxLength: 200}
        priority: {type: integer, format: int32, minimum: 1, exclusiveMinimum: true, nullable: true}
        parent: {$ref: "#/components/schemas/Reference"}
    Reference: {type: object, properties: {number: {type: string}}}
    Ticket:
      type: object
      required: [id]
      properties:
        id: {type: string}
        title: {type: string}
        child: {$ref: "#/components/schemas/Ticket"}
...
"""

HELPDESK = """\
version: "1"
agent_name: helpdesk
sources:
  - name: tickets
    openapi: tickets.yaml
    credential: {secret: tickets_token}
allowed_tools:
  - name: helpdesk.open_ticket
    from: {source: tickets, operation: createTicket, key_header: Idempotency-Key}
    risk: medium
    effect_class: external_idempotent
    key_memory_seconds: 86400
  - name: helpdesk.find_tickets
    from: {source: tickets, operation: findTickets}
    risk: low
    effect_class: none
...
"""


def helpdesk(folder: Path, *, contract: str = HELPDESK, document: str = TICKETS, server: str) -> Path:
    """A module `helpdesk` below `folder`; returns the module's folder."""
    module = folder / "helpdesk"
    module.mkdir(parents=True, exist_ok=True)
    (module / "contract.yaml").write_text(contract)
    (module / "tickets.yaml").write_text(document.replace("SERVER", server))
    return module
