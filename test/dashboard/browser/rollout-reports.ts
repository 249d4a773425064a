/** Reports of rollouts (D148), as the operator sends them. */
import type { RolloutBody } from '../../../src/protocol/index.ts'
import { rolloutReport } from '../../kit/rollout-report.ts'

const MINUTE = 60

/** A report of the type `mailer`: a rollout in its second stage, whose gate has failed. */
export function reportOf(name: string, change: Partial<RolloutBody> = {}, now = Date.now() / 1_000): RolloutBody {
  return rolloutReport({
    set: { namespace: 'prod', name, uid: '1a2b3c4d-5e6f-4a1b-8c2d-3e4f5a6b7c8d' },
    managed_by: `kubernetes:prod/fleetworkersets/${name}#1a2b3c4d`,
    update_revision: '91bc02f7a1c4',
    current_revision: '7f3ac1d09b2e',
    cause: 'edit',
    phase: 'RollingBack',
    stage: 2,
    stages: 3,
    stage_list: [{ workers: 1, bake_seconds: 300, approval: 'Auto' }],
    limit: 24,
    started_at: now - 8 * MINUTE,
    since: now - 10,
    counts: {
      matched: 240,
      online: 237,
      updated: 4,
      acknowledged: 233,
      ready: 232,
      unavailable: 1,
      absent: 3,
      pending: 0,
      failed: 0,
      pinned: 1,
      conflicted: 0,
      cordoned: 0,
    },
    gates: [
      { name: 'errors', verdict: 'Passed', updated: '0 of 24', allowed: '0' },
      {
        name: 'failureRate',
        verdict: 'Failed',
        updated: '31.0 %',
        current: '2.1 %',
        allowed: '+2.0 points',
        updated_runs: 412,
        current_runs: 9_871,
        message: '31.0 % of 412 runs failed; before the change, 2.1 %',
      },
      {
        name: 'runSeconds',
        verdict: 'Passed',
        updated: '1.9 s',
        current: '1.8 s',
        allowed: 'x 1.3',
        updated_runs: 412,
        current_runs: 9_871,
      },
      { name: 'counter.http_5xx', verdict: 'NoTraffic', message: 'no run ended' },
    ],
    worst: Array.from({ length: 8 }, (_, n) => ({
      worker: `m-${n + 1}`,
      reason: n % 2 === 0 ? 'WorkerError' : 'AckTimeout',
      message:
        n % 2 === 0 ? 'depth must be at most 5' : 'the worker has not applied generation 15 in time; see its log',
    })),
    changed_fields: ['/depth', '/proxy/timeout_seconds'],
    failed: [
      {
        revision: '91bc02f7a1c4',
        attempts: 1,
        failed_at: now - 10,
        stage: 2,
        gate: 'failureRate',
        message: '31.0 % of 412 runs failed; before the change, 2.1 %',
      },
    ],
    message:
      '31.0 % of 412 runs failed; before the change, 2.1 %; 4 workers must still acknowledge the current revision',
    next: {
      text: 'Wait until the workers are back on 7f3ac1d09b2e. Then change the config, or retry.',
      command: `muster rollout retry -n prod ${name}`,
    },
    ...change,
  })
}
