/** When alerts fire and when they are resolved (D200). */
import { describe, expect, it } from '@jest/globals'
import type { Problem } from '../../../src/diagnosis/index.ts'
import { AlertTracker } from '../../../src/master/alerts/alert-tracker.ts'
import type { StoredAlert } from '../../../src/master/alerts/stored-alert.ts'

const problem = (part: Partial<Problem> = {}): Problem => ({
  kind: 'offline',
  item: part.kind ?? 'offline',
  type: 'mailer',
  tone: 'offline',
  subject: 'mailer',
  text: '2 workers are offline',
  rate: null,
  since: null,
  count: 2,
  mark: null,
  affected: [],
  ...part,
})

const START = 1_750_000_000_000

/** Applies the changes of a tracker to a list, as the store does. */
function trial(afterMs = 30_000) {
  let tracker = new AlertTracker(afterMs)
  let stored: readonly StoredAlert[] = []
  return {
    at: (seconds: number, ...problems: readonly Problem[]): readonly StoredAlert[] => {
      const { changed, expired } = tracker.update(stored, problems, START + seconds * 1_000)
      const gone = new Set([...changed, ...expired].map(({ id }) => id))
      stored = [...stored.filter(({ id }) => !gone.has(id)), ...changed]
      return stored
    },
    changeLeader: () => (tracker = new AlertTracker(afterMs)),
    add: (alert: StoredAlert) => (stored = [...stored, alert]),
  }
}
const firing = (alerts: readonly StoredAlert[]) => alerts.filter(({ resolved_at: at }) => at === null)

describe('an alert', () => {
  it('fires when its problem has lasted, and is resolved when it has been gone for as long', () => {
    const { at } = trial()
    expect(at(0, problem())).toEqual([])
    expect(at(29, problem())).toEqual([])
    expect(at(30, problem())).toMatchObject([
      { type: 'mailer', kind: 'offline', severity: 'warning', since: START / 1_000, fired_at: START / 1_000 + 30 },
    ])
    expect(firing(at(40))).toHaveLength(1)
    expect(firing(at(69))).toHaveLength(1)
    expect(at(70)).toMatchObject([{ resolved_at: START / 1_000 + 70 }])
  })

  it('is one alert for a problem that comes and goes, and none for one that never lasts', () => {
    const { at } = trial()
    at(0, problem())
    at(30, problem())
    at(40)
    at(50, problem())
    at(60)
    expect(at(85)).toMatchObject([{ resolved_at: null }])
    const other = trial()
    for (let seconds = 0; seconds < 300; seconds += 20) {
      other.at(seconds, problem())
      expect(other.at(seconds + 10)).toEqual([])
    }
  })

  it('is another one when the problem is back after it was resolved', () => {
    const { at } = trial()
    at(0, problem())
    const [first] = at(30, problem())
    at(40)
    at(70)
    at(80, problem())
    const [second] = firing(at(110, problem()))
    expect(second?.id).not.toBe(first?.id)
    expect(at(110, problem())).toHaveLength(2)
  })

  it('keeps its id when the leader changes, and is resolved by the new one', () => {
    const { at, changeLeader } = trial()
    at(0, problem())
    const [first] = at(30, problem())
    changeLeader()
    expect(at(40, problem())).toMatchObject([{ id: first?.id, resolved_at: null }])
    changeLeader()
    expect(firing(at(50))).toHaveLength(1)
    expect(at(80)).toMatchObject([{ id: first?.id, resolved_at: START / 1_000 + 80 }])
  })

  it('that two leaders fired in succession is resolved once, the newer one', () => {
    const { at, add } = trial()
    at(0, problem())
    const [first] = at(30, problem())
    if (first === undefined) throw new Error('no alert')
    add({ ...first, id: 'mailer.offline.later', fired_at: first.fired_at + 1 })
    at(40, problem())
    expect(firing(at(70, problem()))).toMatchObject([{ id: first.id }])
  })

  it('follows its problem every 30 s at most', () => {
    const { at } = trial()
    at(0, problem())
    at(30, problem())
    expect(at(40, problem({ count: 3, text: '3 workers are offline' }))).toMatchObject([{ count: 2 }])
    expect(at(60, problem({ count: 3, tone: 'bad', rate: '5 a minute' }))).toMatchObject([
      { count: 3, severity: 'critical', text: '2 workers are offline; 5 a minute' },
    ])
  })

  it('of dying tasks is resolved ten times later, because tasks of one cause may die minutes apart', () => {
    const { at } = trial()
    const dead = problem({ kind: 'dead', tone: 'bad' })
    at(0, dead)
    at(30, dead)
    at(40)
    expect(firing(at(339))).toHaveLength(1)
    expect(firing(at(340))).toEqual([])
  })

  it('is kept for a day after it was resolved, the newest 20 of a type', () => {
    const { at } = trial(0)
    for (let n = 0; n < 25; n += 1) {
      at(n * 10, problem())
      at(n * 10 + 5)
    }
    expect(at(250)).toHaveLength(20)
    expect(at(250 + 86_401)).toEqual([])
  })
})
