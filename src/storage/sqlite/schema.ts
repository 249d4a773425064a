/**
 * @module storage/sqlite/schema
 * The tables, and the statements that lead from one version of them to the next. `user_version` holds the version.
 *
 * `name` turns types, pools and namespaces into integers, so that each row and index entry carries a few bytes of them.
 * A task is two rows: `task`, small, rewritten at every step; `body`, written once. Its `place` is 0 pending,
 * 1 in flight, 2 scheduled, 3 dead, and there is one partial index per place, so a row stands in exactly one queue:
 *
 *   place 0: by (tier, ord)   `ord` grows at the back and sinks at the front
 *   place 1: by due           the deadline of the lease
 *   place 2: by (due, ord)    when the retry is due; `ord` grows with the nacks
 *   place 3: by ord           the order of death; `due` is its time. Up to `fence.dead_cut` the rows count as absent
 *
 * `outcome` has a row for each retained task that was acknowledged or expired; `result` is NULL for none, '' for one
 * that was too large. `task.retain` is how long the outcome of the task will be retained. `attempts` is a list of the
 * newest failed attempts as JSON; NULL if there is none. `progress` is what a run reported at `progress_at`.
 *
 * `pause` has a row for each queue that was paused, also if the pause has ended by time. `cancelled` has the number of
 * cancelled tasks of each queue that had any.
 *
 * `task.ukey` is the unique key that names the task, and `task.ufinished` is 1 if it conflicts until the task has
 * finished. A key names one task, so a task that was submitted later takes it over.
 *
 * `task.grp` is the name of the task's group. In a type with a group policy, '' is the group `null`, so that the index
 * of groups has all pending rows of such a type, and none of types that have neither groups nor a policy. `group_rate`
 * has the time up to which a group has used its rate (group-rules.ts); without a row it is unused.
 *
 * `task.egroup` is the group of the error of a dead task (error-pattern.ts). It counts only if `egroup_ord` is the
 * number of the death: a program that does not know groups leaves those of an earlier death.
 *
 * `worker.ended` is `seen` if the process ended in an orderly way. Each register changes `seen`, also one by an earlier
 * program. `departure` describes the end of the last connection and `drained` the request of a drain, as JSON whose
 * first value says when they are valid: while `seen`, or `since`, has that value (departures.ts).
 *
 * `revision` has the named configs of a type in the order of `n`. `cfg.revision` and `cfg.variant` are the label of the
 * last bulk change, which wrote generation `variant_gen` (config-labels.ts). The `config` of a bulk change in
 * `cfg_history` is that revision with the fields that differ. `enrolment` has the rules by which a type enrols workers;
 * `enrolled` counts their changes, and has the time of the last one. `rollout` has the reports of rollouts.
 * `operation` and `operation_part` have operations, `audit` has the audit log.
 * `rollup` has the steps of rollups: step `n` of the resolution `step`, in ms, at its place in the ring
 * (rollup-steps.ts).
 *
 * `pool_item.holder` is the list of token, type, slot, task and time of the last claim, as JSON. It and `renewals`
 * are valid only if its token is that of the row: a program that does not know them leaves those of an earlier claim.
 *
 * `tier` is the queue the task waits in, `own_tier` that of its priority: they differ after a replay only.
 */

/** 'Mstr', so that a file of another program is not taken for ours. */
export const APPLICATION_ID = 0x4d737472

const VERSION_1 = `
CREATE TABLE meta(k TEXT PRIMARY KEY, v ANY) STRICT, WITHOUT ROWID;
CREATE TABLE name(n INTEGER PRIMARY KEY, kind INTEGER NOT NULL, s TEXT NOT NULL, UNIQUE(kind, s)) STRICT;

CREATE TABLE worker(type INTEGER, id TEXT, instance TEXT, conn TEXT, registered INTEGER, hardware TEXT, state TEXT,
  since INTEGER, seen INTEGER, error TEXT, applied_gen INTEGER, drain TEXT, managed_by TEXT, frames INTEGER, stats TEXT,
  PRIMARY KEY(type, id)) STRICT, WITHOUT ROWID;
CREATE TABLE cfg(type INTEGER, id TEXT, gen INTEGER NOT NULL, config TEXT, changed INTEGER, actor TEXT,
  PRIMARY KEY(type, id)) STRICT, WITHOUT ROWID;
CREATE INDEX cfg_forgotten ON cfg(type, gen) WHERE config IS NULL;
CREATE TABLE cfg_history(type INTEGER, id TEXT, gen INTEGER, ts INTEGER, actor TEXT, changed TEXT, config TEXT,
  PRIMARY KEY(type, id, gen)) STRICT, WITHOUT ROWID;
CREATE TABLE stat(type INTEGER, id TEXT, slot INTEGER, n INTEGER, ts REAL, frame TEXT,
  PRIMARY KEY(type, id, slot)) STRICT, WITHOUT ROWID;

CREATE TABLE segment(type INTEGER, first INTEGER, n INTEGER, ms INTEGER, bytes INTEGER, body TEXT,
  PRIMARY KEY(type, first)) STRICT, WITHOUT ROWID;
CREATE TABLE stream(type INTEGER PRIMARY KEY, head INTEGER, next INTEGER, last_ms INTEGER, gone_ms INTEGER) STRICT;
CREATE TABLE producer(type INTEGER, producer TEXT, seq INTEGER, ms INTEGER,
  PRIMARY KEY(type, producer)) STRICT, WITHOUT ROWID;

CREATE TABLE task(pk INTEGER PRIMARY KEY, type INTEGER NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL,
  tier INTEGER NOT NULL, own_tier INTEGER NOT NULL, ord INTEGER NOT NULL, submitted INTEGER NOT NULL,
  due INTEGER, ttl_at INTEGER, ttl INTEGER, own_max INTEGER, attempt INTEGER NOT NULL, lost INTEGER NOT NULL,
  token INTEGER, lease_max INTEGER, worker TEXT, error TEXT, UNIQUE(type, id)) STRICT;
CREATE INDEX task_ready ON task(type, tier, ord) WHERE place = 0;
CREATE INDEX task_in_flight ON task(type, due) WHERE place = 1;
CREATE INDEX task_scheduled ON task(type, due, ord) WHERE place = 2;
CREATE INDEX task_dead ON task(type, ord) WHERE place = 3;
CREATE TABLE body(pk INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE idem(type INTEGER, key TEXT, id TEXT, expires INTEGER, PRIMARY KEY(type, key)) STRICT, WITHOUT ROWID;
CREATE INDEX idem_expires ON idem(type, expires);
CREATE TABLE fence(n INTEGER PRIMARY KEY, last INTEGER NOT NULL, dead_cut INTEGER NOT NULL,
  submitted INTEGER NOT NULL, acked INTEGER NOT NULL, nacked INTEGER NOT NULL, died INTEGER NOT NULL) STRICT;
CREATE TABLE acked(type INTEGER, segment INTEGER, bits BLOB, PRIMARY KEY(type, segment)) STRICT, WITHOUT ROWID;

CREATE TABLE pool_item(pool INTEGER, id TEXT, tags TEXT, payload TEXT, expires INTEGER, put INTEGER, used INTEGER,
  until INTEGER, token INTEGER, owner TEXT,
  PRIMARY KEY(pool, id)) STRICT, WITHOUT ROWID;
CREATE INDEX pool_put ON pool_item(pool, put);
CREATE INDEX pool_free ON pool_item(pool, used) WHERE until IS NULL;
CREATE INDEX pool_held ON pool_item(pool, until) WHERE until IS NOT NULL;
CREATE INDEX pool_expires ON pool_item(pool, expires) WHERE expires IS NOT NULL;
CREATE TABLE counter(ns INTEGER, name TEXT, v INTEGER NOT NULL, PRIMARY KEY(ns, name)) STRICT, WITHOUT ROWID;
CREATE TABLE kv(ns INTEGER, k TEXT, v TEXT NOT NULL, expires INTEGER, PRIMARY KEY(ns, k)) STRICT, WITHOUT ROWID;
CREATE INDEX kv_expires ON kv(ns, expires) WHERE expires IS NOT NULL;
CREATE TABLE lock(ns INTEGER, name TEXT, token INTEGER NOT NULL, until INTEGER NOT NULL, owner TEXT,
  PRIMARY KEY(ns, name)) STRICT, WITHOUT ROWID;
CREATE INDEX lock_until ON lock(ns, until);
`

/** Element n leads from version n to n + 1; all that are missing run in one transaction. */
export const MIGRATIONS: readonly string[] = [VERSION_1]
/** The version this program writes and reads. */
export const SCHEMA = MIGRATIONS.length

/**
 * Tables that this version gained later, created at every open where they are missing. A program that does not know
 * them ignores them, so they need no new version, and an earlier program still opens the file.
 */
export const ADDITIONS = `
CREATE TABLE IF NOT EXISTS pause(type INTEGER PRIMARY KEY, until INTEGER, since INTEGER NOT NULL, actor TEXT NOT NULL,
  note TEXT) STRICT;
CREATE TABLE IF NOT EXISTS outcome(pk INTEGER PRIMARY KEY, type INTEGER NOT NULL, id TEXT NOT NULL,
  kind TEXT NOT NULL, finished INTEGER NOT NULL, until INTEGER NOT NULL, attempt INTEGER NOT NULL, worker TEXT,
  result TEXT, bytes INTEGER NOT NULL, UNIQUE(type, id)) STRICT;
CREATE INDEX IF NOT EXISTS outcome_until ON outcome(type, until);
CREATE TABLE IF NOT EXISTS group_rate(type INTEGER, grp TEXT, tat REAL NOT NULL, PRIMARY KEY(type, grp))
  STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS group_rate_tat ON group_rate(type, tat);
CREATE TABLE IF NOT EXISTS cancelled(type INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS revision(type INTEGER, n INTEGER, name TEXT NOT NULL, created INTEGER NOT NULL,
  actor TEXT NOT NULL, managed_by TEXT, first_used INTEGER, last_used INTEGER, body TEXT NOT NULL,
  PRIMARY KEY(type, n), UNIQUE(type, name)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS enrolment(type INTEGER, name TEXT, revision TEXT NOT NULL, variant TEXT NOT NULL,
  managed_by TEXT, body TEXT NOT NULL, PRIMARY KEY(type, name)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS enrolled(type INTEGER PRIMARY KEY, changes INTEGER NOT NULL, changed INTEGER NOT NULL)
  STRICT;
CREATE TABLE IF NOT EXISTS rollout(type INTEGER, name TEXT, reported INTEGER NOT NULL, head TEXT NOT NULL,
  body TEXT NOT NULL, PRIMARY KEY(type, name)) STRICT;
CREATE TABLE IF NOT EXISTS replay(type INTEGER, id TEXT, done INTEGER NOT NULL, died INTEGER NOT NULL,
  PRIMARY KEY(type, id)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS operation(type INTEGER, id TEXT, version INTEGER NOT NULL, head TEXT NOT NULL,
  PRIMARY KEY(type, id)) STRICT;
CREATE TABLE IF NOT EXISTS operation_part(type INTEGER, id TEXT, n INTEGER, body TEXT NOT NULL,
  PRIMARY KEY(type, id, n)) STRICT;
CREATE TABLE IF NOT EXISTS audit(n INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS rollup(type INTEGER, step INTEGER, place INTEGER, n INTEGER NOT NULL, numbers TEXT NOT NULL,
  PRIMARY KEY(type, step, place)) STRICT, WITHOUT ROWID;
`
/** Columns that tables of this version gained later, in the same way: null in the rows of an earlier program. */
export const ADDED_COLUMNS: readonly { readonly table: string; readonly column: string; readonly type: string }[] = [
  { table: 'task', column: 'retain', type: 'INTEGER' },
  { table: 'task', column: 'attempts', type: 'TEXT' },
  { table: 'outcome', column: 'attempts', type: 'TEXT' },
  { table: 'task', column: 'progress', type: 'TEXT' },
  { table: 'task', column: 'progress_at', type: 'INTEGER' },
  { table: 'task', column: 'ukey', type: 'TEXT' },
  { table: 'task', column: 'ufinished', type: 'INTEGER' },
  { table: 'task', column: 'grp', type: 'TEXT' },
  { table: 'task', column: 'egroup', type: 'TEXT' },
  { table: 'task', column: 'egroup_ord', type: 'INTEGER' },
  { table: 'worker', column: 'labels', type: 'TEXT' },
  { table: 'worker', column: 'ended', type: 'INTEGER' },
  { table: 'worker', column: 'drained', type: 'TEXT' },
  { table: 'worker', column: 'departure', type: 'TEXT' },
  { table: 'cfg', column: 'revision', type: 'TEXT' },
  { table: 'cfg', column: 'variant', type: 'TEXT' },
  { table: 'cfg', column: 'variant_gen', type: 'INTEGER' },
  { table: 'revision', column: 'tally', type: 'TEXT' },
  { table: 'pool_item', column: 'holder', type: 'TEXT' },
  { table: 'pool_item', column: 'renewals', type: 'INTEGER' },
]
/** Indexes of these columns. */
export const ADDED_INDEXES = `
CREATE UNIQUE INDEX IF NOT EXISTS task_unique ON task(type, ukey) WHERE ukey IS NOT NULL;
CREATE INDEX IF NOT EXISTS task_group ON task(type, grp, tier, ord) WHERE place = 0 AND grp IS NOT NULL;
CREATE INDEX IF NOT EXISTS task_dead_group ON task(type, egroup, due, ord) WHERE place = 3 AND egroup_ord = ord;
CREATE INDEX IF NOT EXISTS task_dead_ungrouped ON task(type, ord) WHERE place = 3 AND egroup_ord IS NOT ord;
CREATE INDEX IF NOT EXISTS cfg_revision ON cfg(type, revision) WHERE revision IS NOT NULL;
`
