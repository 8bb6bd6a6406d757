-- see_declaration --
-- Why: what a source says of a tool is written down as it was seen; only an operator accepts it.
-- Locks: the row's index entry.  Clock: database.
-- Result: the status it has, and whether it was new.
INSERT INTO agent.tool_pins (module, tool, fingerprint, source, declaration)
VALUES (:module, :tool, :fingerprint, :source, :declaration)
ON CONFLICT (module, tool, fingerprint) DO UPDATE SET last_seen_at = clock_timestamp()
RETURNING status, xmax = 0 AS is_new;

-- pins_decided --
-- Why: what the catalogs may be made of: one accepted declaration a tool; and what nobody may call any more.
-- Locks: none.  Clock: none.
-- Result: accepted and revoked declarations, by module and tool.
SELECT module, tool, fingerprint, source, declaration, status, decided_at
  FROM agent.tool_pins
 WHERE status IN ('accepted', 'revoked')
 ORDER BY module, tool, fingerprint;

-- list_pins --
-- Why: what an operator decides on: each tool's accepted declaration beside what was seen last.
-- Locks: none.  Clock: none.
-- Result: pins by module, tool, and when they were seen last, newest first.
SELECT module, tool, fingerprint, source, declaration, status, seen_at, last_seen_at, decided_at, decided_by
  FROM agent.tool_pins
 WHERE (CAST(:module AS text) IS NULL OR module = :module)
 ORDER BY module, tool, last_seen_at DESC, fingerprint
 LIMIT 1000;

-- decide_pin --
-- Why: an operator's word on a declaration, audited; the function checks the rule.
-- Locks: the tool's pins.  Clock: database.
-- Result: one row, found.
SELECT agent.decide_pin(:module, :tool, :fingerprint, :wanted, :who) AS found;
