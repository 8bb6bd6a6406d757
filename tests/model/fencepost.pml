/* The protocol of one run (design 02 §1, §2, §4, §5, §7), small enough to be searched to the end.
 *
 * One atomic block is one transaction that holds the run's row from its check to its write. Nobody who wrote
 * once is ever told to stop: a Hand is a claim as its worker remembers it, and stays for ever as a zombie.
 * A write that the fence refuses changes nothing, so only those that pass are steps here.
 *
 * Laws: at most one live owner; no zombie write; at most one open attempt; what happened lands once and its
 * outcome is recorded; an ended run stays ended; no lost wake; and when nobody can do anything any more
 * (timeout) the run has ended: no stranded run. Budgets bound every loop, so each history comes to that point.
 *
 * -D<NAME> makes a broken protocol; test_promela.py shows that each breaks the law it should.
 */

/* Three views, each searched to its end: what may happen to a run's life, to its waits, to its effect. */
#define ATTEMPTS 2  /* counted claims; then the sweep ends the run */
#ifdef LIFE
#define PARKS 1
#define PAUSES 1
#define DEFERS 1
#define BEATS 1
#define FACTS 0
#define REQUESTS 0
#endif
#ifdef WAITS
#define PARKS 2
#define PAUSES 0
#define DEFERS 0
#define BEATS 0
#define FACTS 1
#define REQUESTS 0
#endif
#ifdef EFFECTS
#define PARKS 2
#define PAUSES 0
#define DEFERS 0
#define BEATS 0
#define FACTS 0
#define REQUESTS 2
#endif
#define CALLS 2     /* effect attempts */

mtype = { queued, running, waiting, paused, cancelling, ended };
mtype = { nothing, person, tool };
mtype = { unasked, asked, answered, lapsed };
mtype = { idle, started, unknown, absent, settled };

/* the run's row */
mtype status = queued;
mtype on = nothing;
byte revision, owner, wakes, attempts;
bool leased, pause_asked, counts = true;
/* its question, its effect */
mtype question = unasked;
bool approved, approval_over;
mtype effect = idle;
byte call;                                  /* number of the newest effect attempt */
bool sending[CALLS + 1], landing[CALLS + 1], over[CALLS + 1];
chan commits = [2] of { byte, byte, byte };  /* owner, revision, claim */
/* ghosts: who truly owns the run (the claim's number), and what truly happened in the world */
byte claims, holder, landed;
bool stop_asked;
/* budgets */
byte parks, beats, requests, defers, pauses, resumes, facts;

#ifdef NO_STATUS
#define STATUS(s) (status != ended)
#else
#define STATUS(s) (status == s)
#endif
#ifdef NO_OWNER
#define OWNER(o) true
#else
#define OWNER(o) (owner == o)
#endif
#ifdef NO_REVISION
#define REVISION(r) true
#else
#define REVISION(r) (revision == r)
#endif
#ifdef NO_EXPIRY
#define LEASE true
#else
#define LEASE leased
#endif
#define RECORD(o, r) (STATUS(running) && OWNER(o) && REVISION(r) && LEASE)
#define DRAIN(o, r) (STATUS(cancelling) && OWNER(o) && REVISION(r) && LEASE)
#define APPROVED (question == answered && approved && !approval_over)
#ifdef EARLIER_TX
#define FENCE_NOW(o, r) early_fence
#else
#define FENCE_NOW(o, r) RECORD(o, r)
#endif
#ifdef STALE_APPROVAL
#define APPROVAL_NOW early_approval
#else
#define APPROVAL_NOW APPROVED
#endif
#ifdef STALE_EFFECT
#define EFFECT_NOW early_effect
#else
#define EFFECT_NOW CAN_OPEN
#endif
#ifdef ABSENT_EARLY
#define MAY_LOOK_UP (effect == started || effect == unknown)
#else
#define MAY_LOOK_UP (effect == unknown)
#endif
#ifdef NO_WAKES
#define NOT_OVERTAKEN (wakes == seen || saw == asked)  /* what was asked before is parked on as it was seen */
#else
#define NOT_OVERTAKEN (wakes == seen)
#endif
#define CAN_OPEN ((effect == idle || effect == absent) && call < CALLS)

inline move(to) {
    assert(status != ended);                /* terminal is for ever */
    status = to;
#ifndef NO_BUMP
    revision++;
#endif
    on = nothing
}

inline let_go() { owner = 0; leased = false; holder = 0 }

/* Every write of an owner: it is the true one, and in time. */
inline as_owner(mine) { assert(holder == mine); assert(leased) }

inline finish() {
    move(ended);
    let_go();
    if :: question == asked -> question = lapsed :: else fi
}

inline stop() {
    stop_asked = true;
    if
    :: status != running && effect != started -> finish()
    :: else -> move(cancelling)             /* an owner keeps run and lease, to drain */
    fi
}

/* What may end a wait raises `wakes`, whatever the status; a waiting run is queued in the same transaction. */
inline wake() {
    wakes++;
    if :: status == waiting && on == person -> move(queued) :: else fi
}

/* A fact from outside (an outcome, a child's end): it isn't known whether the run waits for it. */
inline wake_by_fact() { wakes++ }

inline no_lost_wake() { assert(!(status == waiting && on == person && question != asked)) }

/* ── workers ─────────────────────────────────────────────────────────────────────────────────────────── */

proctype Hand(byte me; byte rev; byte seen; byte mine) {
    bool looked, drains;
    mtype saw;
end:
    do
    :: atomic { !looked && holder == mine -> looked = true; saw = question }      /* without a lock, as the graph does */

    :: atomic { looked && (saw == unasked || saw == asked) && !drains && parks < PARKS && RECORD(me, rev) ->
           as_owner(mine);
           parks++;
           if :: question == unasked -> question = asked :: else fi;
           if
           :: NOT_OVERTAKEN -> move(waiting); on = person
           :: else -> move(queued)
           fi;
           counts = false; let_go(); no_lost_wake() }

    :: atomic { effect == started && !drains && parks < PARKS && RECORD(me, rev) ->
           as_owner(mine);
           parks++;
           if
           :: NOT_OVERTAKEN -> move(waiting); on = tool
           :: else -> move(queued)
           fi;
           counts = false; let_go() }

    :: atomic { !drains && defers < DEFERS && RECORD(me, rev) ->
           as_owner(mine); defers++; move(queued); counts = true; let_go() }

    :: atomic { pause_asked && !drains && RECORD(me, rev) ->
           as_owner(mine); pause_asked = false; move(paused); counts = false; let_go() }

    :: atomic { !drains && RECORD(me, rev) ->
           as_owner(mine); finish() }

    :: atomic { beats < BEATS && status == running && owner == me && revision == rev && !leased ->
           beats++; leased = true }                             /* past, but not taken: renewed */

    :: atomic { !drains && status == cancelling && owner == me && holder == mine ->
           drains = true; rev = revision; leased = true }       /* the heartbeat's answer: stop */

    :: atomic { drains && DRAIN(me, rev) ->
           as_owner(mine); assert(status == cancelling); finish() }

    :: atomic { question == answered && requests < REQUESTS && nfull(commits) ->
           requests++; commits ! me, rev, mine }                /* over HTTP, with the fence it remembers */
    od
}

proctype Slot(byte me) {
end:
    do
    :: atomic { status == queued ->
           assert(holder == 0);                                 /* at most one live owner */
           move(running);
           owner = me; leased = true; claims++; holder = claims;
           if :: counts -> attempts++ :: else fi;
           counts = false;
           run Hand(me, revision, wakes, claims) }
    od
}

/* ── tool-gateway: two requests at once; between look and transaction anything may happen ───────────────── */

proctype Gateway() {
    byte o, r, m;
    bool early_fence, early_approval, early_effect;
end:
    do
    :: atomic { commits ? o, r, m ->
           early_fence = RECORD(o, r); early_approval = APPROVED; early_effect = CAN_OPEN };
       atomic {
           if
           :: FENCE_NOW(o, r) && APPROVAL_NOW && EFFECT_NOW ->
              as_owner(m);
              assert(!stop_asked);                              /* no attempt after the cancel's commit */
              assert(APPROVED);
              assert(effect != started);                        /* at most one open attempt */
              call++; effect = started; sending[call] = true
           :: else
           fi;
           o = 0; r = 0; m = 0; early_fence = false; early_approval = false; early_effect = false }
    od
}

/* The world and the executor: it sends only before the attempt's end, may die before or after. */
proctype Executor(byte k) {
end:
    do
    :: atomic { sending[k] && !over[k] ->
           sending[k] = false; landed++; landing[k] = true;
           assert(landed <= 1) }
    :: atomic { sending[k] -> sending[k] = false }
    :: atomic { landing[k] ->                                   /* its outcome: by the attempt, once */
           landing[k] = false;
#ifdef SETTLE_FENCED
           assert(status == running && leased);                 /* refused, and what happened is lost */
#endif
           if
           :: call == k && (effect == started || effect == unknown) -> effect = settled; wakes++
           :: else
           fi }
    :: atomic { landing[k] -> landing[k] = false }              /* died before it could say so */
    od
}

/* ── time, reconciler, person ────────────────────────────────────────────────────────────────────────── */

active proctype Clock() {
end:
    do
    :: atomic { leased -> leased = false }
    :: atomic { effect == started && !over[call] -> over[call] = true }
    :: atomic { question == answered && !approval_over -> approval_over = true }
    od
}

active proctype Reconciler() {
    byte listed;
end:
    do
#ifdef SWEEP_WITHOUT_REVISION
    :: atomic { listed == 0 && status == running && !leased -> listed = 1 };
       atomic { assert(status == running && !leased); listed = 2; move(queued); counts = true; let_go() }
#endif
#ifndef NO_LEASE_SWEEP
    :: atomic { status == running && !leased ->
           if
           :: attempts >= ATTEMPTS -> finish()
           :: else -> move(queued); counts = true; let_go()
           fi }
#endif
    :: atomic { question == asked && status != ended -> question = lapsed; wake(); no_lost_wake() }
#ifndef NO_WAIT_SWEEP
    :: atomic { status == waiting && on == tool && effect != started -> move(queued) }
#endif
#ifndef NO_DRAIN_SWEEP
    :: atomic { status == cancelling && !(owner != 0 && leased) -> finish() }
#endif
    :: atomic { status == paused -> stop() }
    :: atomic { effect == started && over[call] -> effect = unknown; wakes++ }
    :: atomic { MAY_LOOK_UP ->
           if :: landed > 0 -> effect = settled :: else -> effect = absent fi;
           wakes++ }
    od
}

active proctype User() {
end:
    do
    :: break                                                    /* a person may leave at any time, for ever */
    :: atomic { facts < FACTS && status != ended -> facts++; wake_by_fact() }
    :: atomic { question == asked && status != cancelling && status != ended ->
           question = answered;
           if :: approved = true :: approved = false fi;
           wake(); no_lost_wake() }
    :: atomic { !stop_asked && status != cancelling && status != ended -> stop() }
    :: atomic { pauses < PAUSES && (status == queued || status == waiting) -> pauses++; move(paused) }
    :: atomic { pauses < PAUSES && status == running -> pauses++; pause_asked = true }
    :: atomic { status == paused && resumes < PAUSES ->
           resumes++;
           if
           :: question == asked -> move(waiting); on = person
           :: else -> move(queued)
           fi }
    od
}

active proctype Watch() {
    timeout;                                                    /* nobody can do anything any more */
    assert(status == ended);                                    /* no stranded run */
    assert(effect != started && effect != unknown)              /* and no outcome waited for in vain */
}

init {
    atomic {
        run Slot(1);
#ifndef EFFECTS
        run Slot(2);                        /* the fence's owner matters between workers; LIFE and WAITS have it */
#endif
        run Gateway(); run Gateway();
        run Executor(1); run Executor(2)
    }
}
