/** Tests which workers of a StatefulSet are cordoned, and how far `replicas` is lowered. */
import { describe, expect, it } from '@jest/globals'
import type { PodWorker } from '../../../../src/operator/fleetworkerset/scale/plan.ts'
import { planStatefulSet, type StatefulSetFacts } from '../../../../src/operator/fleetworkerset/scale/stateful-set.ts'
import { busy, idle, worker } from './facts.ts'

const facts = (
  workers: Readonly<Record<string, PodWorker>>,
  more: Partial<StatefulSetFacts> = {},
): StatefulSetFacts => ({
  name: 'w',
  start: 0,
  desired: 2,
  actual: 5,
  workers: new Map(Object.entries(workers)),
  verified: new Set(['w-0', 'w-1', 'w-2', 'w-3', 'w-4', 'w-5']),
  ...more,
})
const five = (more: Readonly<Record<string, PodWorker>> = {}): Readonly<Record<string, PodWorker>> => ({
  'w-0': worker(),
  'w-1': worker(),
  'w-2': busy(),
  'w-3': busy(),
  'w-4': busy(),
  ...more,
})
const cordoned = (each: StatefulSetFacts): readonly string[] => [...planStatefulSet(each).cordon].toSorted()

describe('the plan for a StatefulSet', () => {
  it('cordons the ordinals that will be removed, and keeps replicas while they hold tasks', () => {
    const plan = planStatefulSet(facts(five()))
    expect([...plan.cordon]).toEqual(['w-2', 'w-3', 'w-4'])
    expect(plan.replicas).toBeUndefined()
    expect(plan.candidates).toEqual(['w-4', 'w-3', 'w-2'])
  })

  it('lowers replicas from the top as far as workers are idle', () => {
    expect(planStatefulSet(facts(five({ 'w-4': idle() }))).replicas).toBe(4)
    expect(planStatefulSet(facts(five({ 'w-4': idle(), 'w-2': idle() }))).replicas).toBe(4)
    expect(planStatefulSet(facts(five({ 'w-4': idle(), 'w-3': idle(), 'w-2': idle() }))).replicas).toBe(2)
  })

  it('never goes below the desired number, also if all workers are idle', () => {
    const all = Object.fromEntries(['w-0', 'w-1', 'w-2', 'w-3', 'w-4'].map((id) => [id, idle()]))
    expect(planStatefulSet(facts(all)).replicas).toBe(2)
    expect(planStatefulSet(facts(all, { desired: 0 })).replicas).toBe(0)
  })

  it('removes only workers whose records were read a moment ago', () => {
    const all = five({ 'w-4': idle(), 'w-3': idle(), 'w-2': idle() })
    expect(planStatefulSet(facts(all, { verified: new Set() })).replicas).toBeUndefined()
    expect(planStatefulSet(facts(all, { verified: new Set(['w-4', 'w-2']) })).replicas).toBe(4)
  })

  it('a pod without a registered worker can be removed', () => {
    const { 'w-4': _, ...others } = five()
    expect(planStatefulSet(facts(others)).replicas).toBe(4)
  })

  it('removes the cordon and raises replicas when load returns', () => {
    const returned = facts(five({ 'w-4': idle() }), { desired: 7 })
    expect(cordoned(returned)).toEqual([])
    expect(planStatefulSet(returned).replicas).toBe(7)
    expect(cordoned(facts(five({ 'w-4': idle() }), { desired: 4 }))).toEqual(['w-4'])
  })

  it('keeps the cordon of a pod that is ending, and removes it from one that has ended', () => {
    const ending = { 'w-0': worker(), 'w-1': worker(), 'w-2': idle(), 'w-3': { ...idle(), isConnected: false } }
    expect(cordoned(facts(ending, { actual: 2 }))).toEqual(['w-2'])
    expect(cordoned(facts({ ...ending, 'w-2': worker() }, { actual: 2 }))).toEqual([])
  })

  it('changes nothing when the numbers are equal', () => {
    const plan = planStatefulSet(facts(five(), { desired: 5 }))
    expect(plan).toEqual({ cordon: new Set(), replicas: undefined, marks: { add: [], remove: [] }, candidates: [] })
  })

  it('counts from the first ordinal', () => {
    const shifted = facts({ 'w-10': worker(), 'w-11': idle() }, { start: 10, desired: 1, actual: 2 })
    expect(cordoned(shifted)).toEqual(['w-11'])
    expect(planStatefulSet({ ...shifted, verified: new Set(['w-11']) }).replicas).toBe(1)
    expect(cordoned(facts({ 'w-2': busy() }, { start: 10, desired: 0, actual: 2 }))).toEqual([])
  })

  it('ignores ids that are no names of its pods', () => {
    const strange = ['w-04', 'w-', 'w--4', 'w-4x', 'w-1e1', 'w-0x4', 'w-4.0', ' w-4', 'w-99999999999999999999', 'x-4']
    expect(cordoned(facts(Object.fromEntries(strange.map((id) => [id, busy()]))))).toEqual([])
  })

  it('reads at most 50 records in one look', () => {
    const many = planStatefulSet(facts({}, { desired: 0, actual: 50_000 }))
    expect(many.candidates).toHaveLength(50)
    expect(many.candidates[0]).toBe('w-49999')
  })
})
