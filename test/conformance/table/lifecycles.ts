/** States and transitions: workers, their registry, config generations, tasks. */
import { by, type Row } from './row.ts'

export const LIFECYCLES: readonly Row[] = [
  // Worker states
  ['worker-state/IDLE', 'A worker can be IDLE.'],
  ['worker-state/RUNNING', 'A worker can be RUNNING.'],
  ['worker-state/ERROR', 'A worker can be in ERROR.'],
  ['worker-state/DRAINING', 'A worker can be DRAINING.'],
  ['state/frame-values', 'A state frame carries IDLE, RUNNING or ERROR and nothing else.'],
  ['state/draining-until-gone', 'DRAINING stays until the process is gone.'],
  ['state/drain', 'A drain by POST makes any state DRAINING.'],
  [
    'state/drain-finishes',
    'A draining worker takes nothing new, finishes what runs and exits.',
    by('e2e/fleet.test.ts', 'drains a worker: what runs is finished, nothing new is taken, exit 0'),
  ],
  [
    'state/disabled',
    'A running worker that is told `enabled` false winds its slots down and is IDLE.',
    by('worker/slots.test.ts', 'says "disabled" to its slots when the config is'),
    by('worker/slots.test.ts', 'runs as many as asked for, and none when not enabled'),
  ],
  ['state/reported', 'A state frame makes the state the reported one and stores last_seen and last_error.'],
  [
    'state/cadence',
    'State is reported every 15 s and at each change.',
    by('worker/parts.test.ts', 'is told at each change and every 15 s'),
  ],

  // Worker registry lifecycle
  ['registry/unknown-register', 'The first register makes the record.'],
  ['registry/indices', 'A record is found by its type and among all workers.'],
  ['registry/again', 'A second register changes nothing but the hardware.'],
  ['registry/forget', "DELETE clears the master's view alone; a live worker registers again."],
  [
    'registry/forget-live',
    'A live worker that was forgotten comes back by itself.',
    by('worker/worker.test.ts', 'registers again when the master forgot it'),
  ],
  ['registry/never-removed', 'No worker is removed by itself; one that is offline stays listed.'],

  // Config generation rule
  ['generation/increments', 'Every successful PATCH raises config_gen.'],
  [
    'generation/ignored',
    'A worker ignores a config whose generation is not above its own.',
    by('worker/config.test.ts', 'ignores a generation at or below its own within an epoch'),
  ],
  ['generation/after-loss', 'A worker that knows a higher generation gets none below it.'],

  // Task lifecycle
  ['task/submit', 'A valid new task is pending in the tier of its priority, `queued` true.'],
  ['task/duplicate', 'A second submit under one key changes nothing and answers the first id, `duplicate` true.'],
  ['task/reserve', 'A reserve takes high, then normal, then low, first in first out, and leases until a deadline.'],
  ['task/ttl', 'A reserve drops what is older than its ttl.'],
  ['task/ack', 'An ack removes the task.'],
  ['task/nack-attempts-left', 'A nack with attempts left schedules the task, with growing delay.'],
  ['task/nack-promoted-by-sweep', 'A scheduled task is pending again when its time has come.'],
  ['task/nack-exhausted', 'A nack at max_attempts sends the task to the DLQ.'],
  ['task/visibility', 'A task whose deadline passed is queued again by a sweep every 10 s.'],
  ['task/replay', 'A replay puts up to n dead tasks to the back of the normal tier, attempt 0.'],
  ['task/clear', 'A clear removes dead tasks for good.'],
  [
    'task/usable-id',
    'No task is without a usable id: the master makes one, and refuses what cannot be one.',
    by(
      'master/queue/submit.test.ts',
      'queues it under a UUID of 32 hex digits that begins with the time, and returns its priority',
    ),
    by('conformance/tasks.test.ts', 'holds names, priority and ttl_seconds to their bounds'),
  ],
]
