/** Runs that fail on workers outside ERROR (D200). */
import { describe, expect, it } from '@jest/globals'
import type { RunsBody } from '../../src/protocol/index.ts'
import { findFailingRuns, type WorkerFacts } from '../../src/diagnosis/index.ts'
import { NOW, worker, workerRuns } from './facts.ts'

const runsOf = (...workers: RunsBody['workers']): RunsBody => ({
  ts: NOW,
  window_seconds: 60,
  done: 30,
  failed: 30,
  died: 10,
  workers,
})
const find = (workers: readonly WorkerFacts[], runs: RunsBody) => findFailingRuns('mailer', workers, runs, NOW)

describe('runs that fail', () => {
  it('are a problem of the worker that fails them', () => {
    expect(find([worker(), worker({ worker_id: 'w-2' })], runsOf(workerRuns()))).toMatchObject({
      kind: 'failing',
      item: 'failing',
      subject: 'mailer/w-1',
      count: 1,
      text: expect.stringMatching(/^w-1 has failed every task/),
    })
  })

  it('are a problem of the type if no worker stands out', () => {
    expect(find([worker()], { ...runsOf(), failed: 30, done: 70 })).toMatchObject({
      subject: 'mailer',
      text: expect.stringMatching(/^30 % of the runs failed/),
    })
  })

  it('are none of workers in ERROR, which are another problem, and none if they are few', () => {
    expect(find([worker({ state: 'ERROR' })], runsOf(workerRuns()))).toBeNull()
    expect(find([worker()], { ...runsOf(), failed: 1 })).toBeNull()
  })
})
