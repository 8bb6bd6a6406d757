-- view_interrupts --
-- Why: interrupts as the API shows them, one or a page.
-- Locks: none.  Clock: none.
-- Result: newest first, without anything of the conversation.
SELECT i.*, (SELECT jsonb_agg(jsonb_build_object('by', v.voter, 'decision', v.decision, 'at', v.voted_at,
                                            'by_link', v.link_id IS NOT NULL) ORDER BY v.voted_at)
          FROM agent.approval_votes v
         WHERE v.interrupt_id = i.id) AS votes
  FROM agent.interrupts i
 WHERE (CAST(:id AS uuid) IS NULL OR i.id = CAST(:id AS uuid))
   AND (CAST(:user_id AS text) IS NULL OR i.user_id = CAST(:user_id AS text)
        OR (CAST(:approvals_too AS boolean) AND i.kind = 'approval'))
   AND (CAST(:kind AS text) IS NULL OR i.kind = CAST(:kind AS text))
   AND (CAST(:status AS text) IS NULL OR i.status = CAST(:status AS text))
   AND (CAST(:before AS uuid) IS NULL OR i.id < CAST(:before AS uuid))
 ORDER BY i.id DESC
 LIMIT :limit;

-- interrupt_standing --
-- Why: what a decision is checked against: whose run, whose arguments, and the key it was decided under.
-- Locks: none (run and interrupt are held).  Clock: none.
-- Result: one row.
SELECT i.user_id, i.risk, i.candidates, i.input_schema, i.resolution_key, i.resolved_by,
       (SELECT jsonb_agg(jsonb_build_object('index', a.index, 'author', a.author, 'risk', a.risk))
          FROM agent.actions a
         WHERE a.interrupt_id = i.id AND a.status <> 'withdrawn') AS actions
  FROM agent.interrupts i
 WHERE i.id = :id;
