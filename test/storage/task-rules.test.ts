/**
 * Checks the rules of tasks against literal cases. The model of the contract suites uses the same functions, so this
 * table is their independent check.
 */
import { describe, expect, it } from '@jest/globals'
import {
  dueOf,
  earlierOf,
  expiryOf,
  extendedDeadline,
  hasExpired,
  isLostTooOften,
  lastingPause,
  lostLeaseError,
  maxAttemptsOf,
  nackOutcome,
} from '../../src/storage/index.ts'

const RETRY = { baseMs: 1_000, factor: 2, capMs: 60_000 }
const NACK = { error: 'boom', retryInMs: null, permanent: false, jitter: 0.5 }

describe('nackOutcome', () => {
  it.each([
    { title: 'retries the first of three runs', run: [0, 3], nack: {}, outcome: ['retry', 1, 500] },
    { title: 'retries the second of three runs later', run: [1, 3], nack: {}, outcome: ['retry', 2, 1_000] },
    { title: 'moves the third of three runs to the dead letters (D26)', run: [2, 3], nack: {}, outcome: ['dead', 3] },
    { title: 'never retries a task of one run', run: [0, 1], nack: {}, outcome: ['dead', 1] },
    { title: 'takes the delay of the nack', run: [1, 3], nack: { retryInMs: 7 }, outcome: ['retry', 2, 7] },
    { title: 'takes a delay of 0 of the nack', run: [1, 3], nack: { retryInMs: 0 }, outcome: ['retry', 2, 0] },
    {
      title: 'never retries a permanent failure (D55)',
      run: [0, 3],
      nack: { permanent: true, retryInMs: 7 },
      outcome: ['dead', 1],
    },
  ])('$title', ({ run: [attempt = 0, maxAttempts = 0], nack, outcome: [kind, attempts, delayMs] }) => {
    expect(nackOutcome({ attempt, maxAttempts }, { ...NACK, ...nack }, RETRY)).toEqual({
      kind,
      attempt: attempts,
      ...(delayMs !== undefined && { delayMs }),
    })
  })
})

describe('a lost lease', () => {
  it.each([
    { lost: 1, maxLost: 0, isDead: false },
    { lost: 1_000, maxLost: 0, isDead: false },
    { lost: 1, maxLost: 1, isDead: true },
    { lost: 2, maxLost: 3, isDead: false },
    { lost: 3, maxLost: 3, isDead: true },
    { lost: 4, maxLost: 3, isDead: true },
  ])('number $lost of at most $maxLost: dead is $isDead (D26)', ({ lost, maxLost, isDead }) => {
    expect(isLostTooOften(lost, maxLost)).toBe(isDead)
  })

  it('is counted in the last error', () => {
    expect(lostLeaseError(3)).toBe('lease lost 3 times')
  })
})

describe('the times of a task', () => {
  it('end at the end of the ttl, or never', () => {
    expect(expiryOf(1_000, 5_000)).toBe(6_000)
    expect(expiryOf(null, 5_000)).toBeNull()
    expect(dueOf({}, 5_000)).toBe(5_000)
    expect(dueOf({ notBeforeMs: 4_999 }, 5_000)).toBe(5_000)
    expect(dueOf({ notBeforeMs: 5_001 }, 5_000)).toBe(5_001)
    expect(hasExpired(6_000, 5_999)).toBe(false)
    expect(hasExpired(6_000, 6_000)).toBe(true)
    expect(hasExpired(null, Infinity)).toBe(false)
  })

  it('end a pause at its end, or never (D106)', () => {
    const pause = { note: null, actor: 'ada', sinceMs: 1_000, untilMs: 6_000 }
    expect(lastingPause(pause, 5_999)).toBe(pause)
    expect(lastingPause(pause, 6_000)).toBeNull()
    expect(lastingPause({ ...pause, untilMs: null }, Infinity)).toMatchObject({ actor: 'ada' })
    expect(lastingPause(null, 0)).toBeNull()
    expect([earlierOf(1, 2), earlierOf(2, 1), earlierOf(null, 2), earlierOf(1, null), earlierOf(null, null)]).toEqual([
      1,
      1,
      2,
      1,
      null,
    ])
  })

  it('are extended, and never shortened', () => {
    expect(extendedDeadline(10_000, 5_000, 6_000)).toBe(11_000)
    expect(extendedDeadline(10_000, 5_000, 1_000)).toBe(10_000)
  })
})

describe('maxAttemptsOf', () => {
  it('prefers the number of the task to that of the config (D26)', () => {
    expect(maxAttemptsOf(1, 5)).toBe(1)
    expect(maxAttemptsOf(null, 5)).toBe(5)
  })
})
