/** Short forms of the contract suites of task groups. */
import { TYPE, ask, ids, reserve, sole, storeFixtures, submit, task } from './fixture.ts'
import type { Create, StoreFixture } from './fixture.ts'
import type { Backend, Counts, GroupPolicy, GroupRow, NewTask } from '../../../src/storage/index.ts'

export const UNBOUNDED: GroupPolicy = { maxInFlight: null, rate: null }
export const one: GroupPolicy = { maxInFlight: 1, rate: null }
export const rateOf = (intervalMs: number, burst: number): GroupPolicy => ({
  maxInFlight: null,
  rate: { intervalMs, burst },
})

/** A task whose group is the first letter of its id; that of `-1` is `null`. */
export const inGroup = (id: string, more: Partial<NewTask> = {}): NewTask => {
  const letter = id.charAt(0)
  return task(id, { ownId: true, ...(letter !== '-' && { group: letter }), ...more })
}
export const put = (backend: Backend, ...names: readonly string[]): Promise<void> =>
  submit(backend, ...names.map((id) => inGroup(id)))
export const setPolicy = (backend: Backend, policy: GroupPolicy | null): Promise<void> =>
  backend.tasks.setGroupPolicy(TYPE, policy)
export const leased = async (backend: Backend, limit?: number): Promise<string[]> => ids(await reserve(backend, limit))
export const countsOf = async (backend: Backend): Promise<Counts> => sole(await backend.tasks.counts([TYPE]))
export const rowsOf = (backend: Backend, limit = 1_000): Promise<readonly GroupRow[]> =>
  backend.tasks.groups(TYPE, limit)
export const dueOf = async (backend: Backend, limit = 1): Promise<number | null> =>
  (await ask(backend, [{ worker: 'w1', limit, defaultMaxAttempts: 3 }])).nextDueAtMs

/** Reserves and acks one task at a time. */
export async function turns(backend: Backend, count: number): Promise<string[]> {
  const seen: string[] = []
  for (let i = 0; i < count; i += 1) {
    const leases = await reserve(backend, 1)
    seen.push(...ids(leases))
    if (leases.length > 0) await backend.tasks.ack(TYPE, leases)
  }
  return seen
}

/** Returns a function that opens a fixture whose type has this policy. Call once per describe or suite. */
export function groupFixtures(create: Create): (policy?: GroupPolicy | null) => Promise<StoreFixture> {
  const openStore = storeFixtures(create)
  return async (policy = UNBOUNDED) => {
    const fixture = await openStore()
    if (policy !== null) await setPolicy(fixture.backend, policy)
    return fixture
  }
}
