-- The checks of integrity.sql that are about who said yes: votes, remembered approvals, one-time links.

-- i12_approval_is_stored --
-- Why: I12. What a person has to approve is tried only on an answer to a question, or on what a grant stored of it.
-- Locks: none.  Clock: none.
-- Result: attempts without either, or on a grant that had ended.
SELECT 'effect ' || e.effect_key || ' attempt ' || t.attempt AS subject,
       CASE WHEN a.grant_id IS NULL THEN 'approved without a question and without a grant'
            WHEN u.run_id IS NULL THEN 'the grant stored no approval of it'
            WHEN u.arguments_hash <> a.arguments_hash THEN 'the grant approved other arguments'
            WHEN g.ended_at < t.started_at THEN 'the grant had ended at ' || g.ended_at
            ELSE 'the grant held until ' || g.expires_at END AS detail
  FROM agent.effect_attempts t
  JOIN agent.effects e USING (effect_key)
  JOIN agent.actions a ON a.run_id = e.run_id AND a.index = e.index AND a.n = e.n AND a.approval AND a.decision = 'approve'
  LEFT JOIN agent.interrupts i ON i.id = a.interrupt_id AND i.status = 'resolved'
  LEFT JOIN agent.grants g ON g.id = a.grant_id
  LEFT JOIN agent.grant_uses u ON u.run_id = a.run_id AND u.index = a.index AND u.n = a.n AND u.grant_id = a.grant_id
 WHERE (a.grant_id IS NULL AND i.id IS NULL)
    OR (a.grant_id IS NOT NULL
        AND (u.run_id IS NULL OR u.arguments_hash <> a.arguments_hash OR g.ended_at < t.started_at
             OR g.expires_at <= t.started_at));

-- i12_votes_make_the_decision --
-- Why: I12, I13. A yes is what enough different persons said, and nobody's no.
-- Locks: none.  Clock: none.
-- Result: approved actions whose votes say something else.
SELECT 'action ' || a.index || '/' || a.n || ' of run ' || a.run_id AS subject,
       said.yes || ' yes and ' || said.no || ' no, ' || coalesce(i.resolution ->> 'needed', '1') || ' needed, resolved by '
       || i.resolved_by AS detail
  FROM agent.actions a
  JOIN agent.interrupts i ON i.id = a.interrupt_id AND i.status = 'resolved'
 CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE d ->> 'decision' = 'approve') AS yes,
                            count(*) FILTER (WHERE d ->> 'decision' = 'reject') AS no,
                            count(*) AS votes,
                            bool_or(v.voter = i.resolved_by) AS by_a_voter
                       FROM agent.approval_votes v
                      CROSS JOIN LATERAL jsonb_array_elements(v.resolution -> 'decisions') AS d
                      WHERE v.interrupt_id = i.id AND CAST(d ->> 'index' AS int) = a.index) AS said
 WHERE a.decision = 'approve'
   AND said.votes > 0
   AND (said.no > 0 OR said.yes < coalesce(CAST(i.resolution ->> 'needed' AS int), 1) OR NOT said.by_a_voter);

-- i13_grant_uses_within_limits --
-- Why: 02 §4. A grant approves as often as it was allowed to, and each time is stored.
-- Locks: none.  Clock: none.
-- Result: grants that count something else.
SELECT 'grant ' || g.id AS subject,
       g.uses || ' uses counted, ' || count(DISTINCT (u.run_id, u.index)) FILTER (WHERE u.run_id IS NOT NULL)
       || ' stored, ' || coalesce(CAST(g.max_uses AS text), 'any number') || ' allowed' AS detail
  FROM agent.grants g
  LEFT JOIN agent.grant_uses u ON u.grant_id = g.id
 GROUP BY g.id
HAVING g.uses <> count(DISTINCT (u.run_id, u.index)) FILTER (WHERE u.run_id IS NOT NULL)
    OR g.uses > g.max_uses;

-- i13_link_decided_once --
-- Why: I13. A link is spent by its approver's own vote, and by nothing else.
-- Locks: none.  Clock: none.
-- Result: spent links without their vote, votes without their spent link.
SELECT 'link ' || l.id AS subject, 'spent without a vote of ' || l.approver AS detail
  FROM agent.approval_links l
 WHERE l.spent_at IS NOT NULL
   AND NOT EXISTS (SELECT FROM agent.approval_votes v
                    WHERE v.interrupt_id = l.interrupt_id AND v.voter = l.approver AND v.link_id = l.id)
UNION ALL
SELECT 'vote of ' || v.voter || ' on ' || v.interrupt_id, 'by a link that is not spent, or is another person''s'
  FROM agent.approval_votes v
  LEFT JOIN agent.approval_links l ON l.id = v.link_id
 WHERE v.link_id IS NOT NULL
   AND (l.spent_at IS NULL OR l.interrupt_id <> v.interrupt_id OR l.approver <> v.voter);
