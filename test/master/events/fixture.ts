/** A whole master with real HTTP, on the memory backend and on virtual time. */
import { systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import type { MasterOptions } from '../../../src/master/index.ts'
import type { Backend, NewEvent } from '../../../src/storage/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { runMaster, type TestMaster } from '../../kit/running-master.ts'

export interface EventsFixture {
  readonly master: TestMaster
  readonly backend: Backend
  readonly time: VirtualTime
  /** Appends events and advances the time until the readers are notified. */
  readonly tell: (...events: readonly NewEvent[]) => Promise<void>
}

export async function openEventsFixture({
  wrap = (real) => real,
  ...options
}: Partial<MasterOptions> & { wrap?: (real: Backend) => Backend } = {}): Promise<EventsFixture> {
  const time = new VirtualTime()
  const backend = wrap(new MemoryBackend({ clock: time, random: systemRandom }))
  const master = await runMaster({ backend, clock: time, timers: time, ...options })
  const tell = async (...events: readonly NewEvent[]): Promise<void> => {
    await backend.events.append(events)
    await time.advance(50)
  }
  return { master, backend, time, tell }
}

/** `real` with some of its groups replaced. */
export function replaced(real: Backend, groups: Partial<Backend>): Backend {
  return new Proxy(real, {
    get: (target, key) => {
      const value: unknown = Reflect.get(Object.hasOwn(groups, key) ? groups : target, key)
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value
    },
  })
}

/** An event about a worker; `n` distinguishes events. */
export function happened(n: number, scope = 'mailer', more = ''): NewEvent {
  return {
    name: 'worker.state',
    scope,
    data: JSON.stringify({ type: scope, worker_id: 'w', ts: 1, n, ...(more !== '' && { last_error: more }) }),
  }
}

/** An entry with the events `from` to `from + count - 1`. */
export function together(from: number, count: number, scope = 'mailer'): NewEvent {
  const [first = happened(from, scope), ...more] = range(from, count).map((n) => happened(n, scope))
  return { ...first, more: more.map(({ data }) => data) }
}

export const range = (from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, at) => from + at)
