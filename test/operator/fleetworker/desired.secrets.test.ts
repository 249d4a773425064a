import { describe, expect, it } from '@jest/globals'
import {
  secretActs,
  writeAhead,
  type Desired,
  type Observed,
  type SecretState,
} from '../../../src/operator/fleetworker/index.ts'

const desired: Desired = { named: { api_key: 'k', url: 'u' }, versions: new Map([['api_key', 's:2']]) }
const memory = (more: Partial<SecretState> = {}): SecretState => ({
  epoch: 'e1',
  generation: 7,
  sources: new Map([['api_key', 's:2']]),
  ...more,
})
const observed = (more: Partial<Observed> = {}): Observed => ({
  epoch: 'e1',
  configGen: 7,
  changedSince: new Set(),
  ...more,
})
const due = (remembered: SecretState, seen: Observed): readonly string[] => [
  ...secretActs(desired, remembered, seen).due,
]

describe('secretActs', () => {
  it('does not send a secret again while it is known to be in force', () => {
    expect(due(memory(), observed())).toEqual([])
    expect(due(memory(), observed({ configGen: 9, changedSince: new Set(['url']) }))).toEqual([])
  })

  it.each<[string, SecretState, Observed]>([
    ['its version changed', memory({ sources: new Map([['api_key', 's:1']]) }), observed()],
    ['it was never sent', memory({ sources: new Map() }), observed()],
    ['the operator stopped before sending it', memory({ sources: new Map([['api_key', '']]) }), observed()],
    ['the store is another one', memory(), observed({ epoch: 'e2' })],
    ['another client changed it since', memory(), observed({ configGen: 8, changedSince: new Set(['api_key']) })],
    ['the history does not go back far enough', memory(), observed({ configGen: 80, changedSince: null })],
    ['the generation decreased', memory(), observed({ configGen: 5, changedSince: null })],
  ])('sends a secret again when %s', (_, remembered, seen) => {
    expect(due(remembered, seen)).toEqual(['api_key'])
  })

  it('resets a secret that was sent and is no longer named', () => {
    expect([
      ...secretActs(
        desired,
        memory({
          sources: new Map([
            ['api_key', 's:2'],
            ['old', 's:1'],
          ]),
        }),
        observed(),
      ).forgotten,
    ]).toEqual(['old'])
  })
})

describe('writeAhead', () => {
  it('records a field before it is sent for the first time', () => {
    expect(Object.fromEntries(writeAhead(new Map([['old', 's:1']]), desired, { api_key: 'k' }))).toEqual({
      old: 's:1',
      api_key: '',
    })
    expect(Object.fromEntries(writeAhead(new Map([['api_key', 's:1']]), desired, { api_key: 'k' }))).toEqual({
      api_key: 's:1',
    })
  })

  it('leaves out a field that is not sent', () => {
    expect([...writeAhead(new Map(), desired, { url: 'u' })]).toEqual([])
  })
})
