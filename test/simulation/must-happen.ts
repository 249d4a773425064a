/**
 * Lists the situations that simulations must reach. A search that never reaches one of them does not test it, so the
 * seeds at commit fail below their count, and a search of 10,000 seeds fails with a count of 0. A shorter search prints
 * the counts, but does not fail.
 */

/** A search of so many seeds has to reach every situation. */
export const GATE_SEEDS = 10_000

/** Each with the count that the seeds at commit have to reach; 0 where it is too rare for so few seeds. */
export const MUST_HAPPEN = {
  'ack after the task was leased again': 1,
  'ack repeated after a lost response': 1,
  'config generation raised after a restore': 0,
  'config PATCH lost in a failover': 0,
  'config PATCH met another one': 1,
  'connection replaced by one to another master': 1,
  'drain of a worker with running tasks': 0,
  'drain while the owning master is paused': 0,
  'draining process registered again': 1,
  'duplicate by unique key': 1,
  'event reader lost its place': 1,
  'full queue refused a submit': 1,
  'full queue refused a task with an idempotency key': 1,
  'group as full as it may be': 1,
  'idempotency key used again after its window': 1,
  'idempotency key used again within its window': 1,
  'in flight task cancelled': 1,
  'lease expired': 1,
  'lease without a recipient released': 0,
  'master lost together with its workers': 0,
  'operator applied the spec of another FleetWorker': 1,
  'operator reset a config': 0,
  'outcome expired': 1,
  'outcome read by a client': 1,
  'output push repeated': 0,
  'outputs refused by a full store': 0,
  'pending task cancelled': 1,
  'reserve during a pause': 1,
  'reserve of a draining worker refused': 1,
  'reserve on a third master during a drain': 0,
  'scheduled task cancelled': 1,
  'settle in a full store': 0,
  'settle of a lease that the store lost': 0,
  'stale If-Match refused': 1,
  'store returned while tasks waited': 0,
  'stream reader received a gap': 0,
  'submit lost in a failover': 0,
  'task continued from its progress': 1,
  'task dead after its last attempt': 1,
  'task dead after lost leases': 0,
  'waiting task replaced': 1,
  'worker forgotten while connected': 0,
  'worker received a cancel': 1,
} as const satisfies Record<string, number>

export type Situation = keyof typeof MUST_HAPPEN

/** The situations that a search did not reach. */
export const neverReached = (counted: Readonly<Record<string, number>>): readonly Situation[] =>
  (Object.keys(MUST_HAPPEN) as Situation[]).filter((situation) => (counted[situation] ?? 0) === 0)
