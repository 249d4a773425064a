/** Tests how `muster rollout status` judges a set in each state of its life. States of one number are judged alike. */
import { describe, expect, it } from '@jest/globals'
import type { SetObject } from '../../../src/cmd/admin/rollout/set-object.ts'
import { stateOf } from '../../../src/cmd/admin/rollout/state.ts'
import { SET_STATES } from '../../operator/fleetworkerset/states.ts'

/** Exit codes: complete 0, failed 1; with --watch, waiting ends with the timeout. */
const OUTCOMES: Readonly<Record<string, string>> = {
  1: 'waiting',
  2: 'waiting',
  3: 'waiting',
  4: 'complete',
  5: 'failed',
  6: 'failed',
  7: 'complete',
  8: 'waiting',
  9: 'complete',
  10: 'failed',
}

describe('muster rollout status', () => {
  it.each(SET_STATES)('judges $name', ({ name, object: { deleting, generation, status } }) => {
    const metadata = { name: 'crawlers', namespace: 'prod', uid: 'u', generation }
    const set = {
      metadata: { ...metadata, ...(deleting && { deletionTimestamp: '2026-01-01T12:00:00Z' }) },
      spec: {},
      status,
    }
    const number = /^set (\d+) /.exec(name)?.[1] ?? ''
    expect(stateOf(set as unknown as SetObject).outcome).toBe(OUTCOMES[number])
  })

  it('knows every state', () => {
    const numbers = new Set(SET_STATES.map(({ name }) => name.split(' ')[1]))
    expect([...numbers].toSorted((a, b) => Number(a) - Number(b))).toEqual(Object.keys(OUTCOMES))
  })
})
