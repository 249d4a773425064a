import { describe, expect, it } from '@jest/globals'
import type { WorkerBody } from '../../../src/protocol/index.ts'
import { configText, displayState, isBehind, stateNote } from '../../../src/dashboard/workers/display-state.ts'

const NOW = 1_000_000
const seen = (state: WorkerBody['state'], connected = true, age = 3) => ({
  state,
  connected,
  last_seen: NOW - age,
  config_gen: 1,
  applied_config_gen: 1,
})

describe('the displayed state of a worker', () => {
  it('is the state reported by the master while the worker is connected and sends heartbeats', () => {
    for (const state of ['IDLE', 'RUNNING', 'ERROR', 'DRAINING'] as const)
      expect(displayState(seen(state), NOW)).toMatchObject({ word: state, was: null })
  })

  it('is offline without a connection, together with the last stored state', () => {
    expect(displayState(seen('RUNNING', false), NOW)).toMatchObject({ word: 'offline', was: 'RUNNING' })
  })

  it('is late after 45 s without a frame on an open connection', () => {
    expect(displayState(seen('RUNNING', true, 45), NOW).word).toBe('RUNNING')
    expect(displayState(seen('RUNNING', true, 46), NOW)).toMatchObject({ word: 'late', was: 'RUNNING' })
    expect(displayState(seen('RUNNING', false, 46), NOW).word).toBe('offline')
  })

  it('is late only if the worker was late when its row was read', () => {
    expect(displayState({ ...seen('RUNNING', true, 90), read_at: NOW - 60 }, NOW).word).toBe('RUNNING')
    expect(displayState({ ...seen('RUNNING', true, 90), read_at: NOW - 40 }, NOW).word).toBe('late')
  })
})

describe('what stands behind the state of a worker that is offline', () => {
  const gone = (kind: 'drained' | 'stopped' | 'evicted' | 'lost') => ({
    ...seen('RUNNING', false),
    departure: { kind, at: NOW, by: null, code: 1006, reason: '' },
  })
  it('is how it departed, with the stored state unless it ended on purpose (D195)', () => {
    const notes = (['drained', 'stopped', 'evicted', 'lost'] as const).map((kind) => stateNote(gone(kind), 'RUNNING'))
    expect(notes).toEqual(['drained', 'stopped', 'evicted, was RUNNING', 'lost, was RUNNING'])
    expect(stateNote(seen('RUNNING', false), 'RUNNING')).toBe('was RUNNING')
    expect(stateNote({ ...gone('lost'), connected: true }, null)).toBe('')
  })
})

describe('the config column', () => {
  it('shows the saved and the applied generation if they differ', () => {
    expect(configText({ config_gen: 14, applied_config_gen: 14 })).toBe('14')
    expect(configText({ config_gen: 14, applied_config_gen: 12 })).toBe('14 (12 applied)')
    expect(configText({ config_gen: 14, applied_config_gen: null })).toBe('14 (not applied yet)')
  })

  it('reports a worker as behind only if it runs an older config', () => {
    expect(isBehind({ config_gen: 14, applied_config_gen: 12 })).toBe(true)
    expect(isBehind({ config_gen: 14, applied_config_gen: null })).toBe(false)
    expect(isBehind({ config_gen: 14, applied_config_gen: 15 })).toBe(false) // After the master lost its state.
  })
})
