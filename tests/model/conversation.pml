/* Two runs of one conversation (design 02 §9): it is held from the claim on, and given back with the status
 * that ends the hold. Whatever the order of claims, parkings, answers and lost leases, both come to their end.
 *
 * -DOLDER_FIRST: a claim lets an older run stand before the one that holds the conversation. That was the code
 * once; neither could be claimed then.   -DPAUSE_KEEPS: a pause doesn't give the conversation back.
 */

mtype = { queued, running, waiting, tooled, paused, ended };

mtype status[2] = queued;   /* 0 is the older */
byte holder = 2;            /* 2: nobody */
byte parks[2], losses[2], pauses[2];

#define FREE(r) (holder == 2 || holder == r)
#define BEHIND(r) (r == 1 && status[0] == queued)
#ifdef OLDER_FIRST
#define FIRST(r) (!BEHIND(r))
#else
#define FIRST(r) (holder == r || !BEHIND(r))
#endif

inline give_back(r) { if :: holder == r -> holder = 2 :: else fi }

proctype Run(byte r) {
end:
    do
    :: atomic { status[r] == queued && FREE(r) && FIRST(r) -> status[r] = running; holder = r }
    :: atomic { status[r] == running -> assert(holder == r); status[r] = ended; give_back(r) }
    :: atomic { status[r] == running && losses[r] < 2 -> losses[r]++; status[r] = queued }
    :: atomic { status[r] == running && parks[r] < 2 -> parks[r]++; status[r] = waiting; give_back(r) }
    :: atomic { status[r] == running && parks[r] < 2 -> parks[r]++; status[r] = tooled }
    :: atomic { (status[r] == waiting || status[r] == tooled) -> status[r] = queued }
    od
}

#define CAN_PAUSE(r) (pauses[r] == 0 && (status[r] == queued || status[r] == waiting || status[r] == tooled))

inline pause(r) {
    pauses[r]++;
    status[r] = paused;
#ifndef PAUSE_KEEPS
    give_back(r)
#endif
}

active proctype User() {
end:
    do
    :: break                                                    /* leaves for ever */
    :: atomic { CAN_PAUSE(0) -> pause(0) }
    :: atomic { CAN_PAUSE(1) -> pause(1) }
    od
}

/* A pause may last a week: nothing may have to wait for its end but the paused run itself. */
active proctype Reconciler() {
end:
    do
    :: atomic { status[0] == paused && (status[1] == ended || status[1] == paused) -> status[0] = queued }
    :: atomic { status[1] == paused && (status[0] == ended || status[0] == paused) -> status[1] = queued }
    od
}

active proctype Watch() {
    timeout;
    assert(status[0] == ended && status[1] == ended)            /* no stranded run */
}

init { atomic { run Run(0); run Run(1) } }
