/** States and transitions: workers, their registry, config generations, tasks. */
import { by, type Row } from './row.ts'

export const LIFECYCLES: readonly Row[] = [
  // Worker states
  ['worker-state/IDLE', 'A worker can be IDLE.'],
  ['worker-state/RUNNING', 'A worker can be RUNNING.'],
  ['worker-state/ERROR', 'A worker can be in ERROR.'],
  ['worker-state/DRAINING', 'A worker can be DRAINING.'],
  ['state/frame-values', 'A state frame contains IDLE, RUNNING or ERROR and no other state.'],
  ['state/draining-until-gone', 'DRAINING stays until the process is gone.'],
  ['state/drain', 'A drain by POST makes any state DRAINING.'],
  [
    'state/drain-finishes',
    'A draining worker takes no new task, finishes running ones and exits.',
    by('e2e/fleet.test.ts', 'drains a worker: it finishes running tasks, takes no new one, and exits with 0 (G14)'),
  ],
  [
    'state/disabled',
    'A running worker that receives `enabled` false stops its slots and becomes IDLE.',
    by('worker/slots.test.ts', 'stops its slots with "disabled" when the config is disabled'),
    by('worker/slots.test.ts', 'runs as many slots as requested, and none when disabled'),
  ],
  ['state/reported', 'A state frame sets the state and stores last_seen and last_error.'],
  [
    'state/cadence',
    'State is reported every 15 s and at each change.',
    by('worker/parts.test.ts', 'is sent after each change and every 15 s, with changes within 100 ms in one frame'),
  ],

  // Worker registry lifecycle
  ['registry/unknown-register', 'The first register creates the record.'],
  ['registry/indices', 'A record is found by its type and among all workers.'],
  ['registry/again', 'A second register changes only the hardware.'],
  ['registry/forget', "DELETE removes only the master's record; a live worker registers again."],
  [
    'registry/forget-live',
    'A live worker that was forgotten registers again on its own.',
    by('worker/worker.test.ts', 'registers again when the master has lost its record'),
  ],
  ['registry/never-removed', 'No worker is removed automatically; a disconnected one stays listed.'],

  // Config generation rule
  ['generation/increments', 'Every successful PATCH increments config_gen.'],
  [
    'generation/ignored',
    'A worker ignores a config whose generation is not above its own.',
    by('worker/config.test.ts', 'ignores generations up to its own in the same epoch'),
  ],
  ['generation/after-loss', 'A worker that knows a higher generation never receives a lower one.'],

  // Task lifecycle
  ['task/submit', 'A valid new task is pending in the tier of its priority, `queued` true.'],
  ['task/duplicate', 'A second submit with one key changes nothing and returns the first id, `duplicate` true.'],
  ['task/reserve', 'A reserve takes high, then normal, then low, first in, first out, and leases until a deadline.'],
  ['task/ttl', 'A reserve drops tasks older than their TTL.'],
  ['task/ack', 'An ack removes the task.'],
  ['task/nack-attempts-left', 'A nack with attempts left schedules the task with a growing delay.'],
  ['task/nack-promoted-by-sweep', 'A scheduled task becomes pending again when it is due.'],
  ['task/nack-exhausted', 'A nack at max_attempts moves the task to the DLQ.'],
  ['task/visibility', 'A sweep every 10 s requeues tasks whose deadline has passed.'],
  ['task/replay', 'A replay appends up to n dead tasks to the normal tier, attempt 0.'],
  ['task/clear', 'A clear removes dead tasks permanently.'],
  [
    'task/usable-id',
    'Every task has a usable id: the master generates one, and rejects invalid ones.',
    by(
      'master/queue/submit.test.ts',
      'queues it under a UUID of 32 hex digits that begins with the time, and returns its priority',
    ),
    by('conformance/tasks.test.ts', 'enforces the bounds of names, priority and ttl_seconds'),
  ],
]
