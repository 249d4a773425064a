/** Events about worker states: published for changes only, and rate-limited per worker (D31, D51). */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Connection } from '../../../src/master/control/connection.ts'
import { StateEvents } from '../../../src/master/control/connection-state.ts'
import { StateEventThrottle } from '../../../src/master/control/state-event-throttle.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { stateFrame, RegistryFixture, type WorkerClient } from '../registry/fixture.ts'

let fixture: RegistryFixture
beforeEach(async () => {
  fixture = await RegistryFixture.open()
})
afterEach(() => fixture.close())

async function says(worker: WorkerClient, more: object = {}): Promise<void> {
  worker.send(stateFrame(more))
  await worker.settled()
}

const COMMON = ['type', 'worker_id', 'ts']
/** Names and changed fields of the events, starting with event number `from`. */
async function publishedEvents(from = 0): Promise<unknown[]> {
  return (await fixture.events())
    .slice(from)
    .map(({ name, data }) => [
      name,
      Object.fromEntries(Object.entries(data).filter(([field]) => !COMMON.includes(field))),
    ])
}

describe('a worker that reconnects', () => {
  it('publishes only the connection while its state, error and generation are unchanged', async () => {
    const frame = { state: 'ERROR', last_error: 'oh: no', config_gen: 0 }
    await says(await fixture.worker('w'), frame)
    const before = (await publishedEvents()).length
    for (const _ of [1, 2]) await says(await fixture.worker('w'), frame)
    expect(await publishedEvents(before)).toEqual([
      ['worker.connected', { connected: true }],
      ['worker.connected', { connected: true }],
    ])
    await says(await fixture.worker('w'), { ...frame, last_error: null, config_gen: 1 })
    expect(await publishedEvents(before + 3)).toEqual([
      ['worker.state', { state: 'ERROR', last_error: null }],
      ['worker.config_applied', { applied_config_gen: 1 }],
    ])
  })

  it('as a new process after a drain publishes that the drain has ended', async () => {
    const first = await fixture.worker('w', { instance: 'a' })
    await says(first)
    await fixture.call('POST', '/w/drain')
    await says(first, { state: 'IDLE' })
    const before = (await publishedEvents()).length
    await says(await fixture.worker('w', { instance: 'a' }), { state: 'IDLE' })
    await says(await fixture.worker('w', { instance: 'b' }), { state: 'RUNNING' })
    expect(await publishedEvents(before)).toEqual([
      ['worker.connected', { connected: true }],
      ['worker.connected', { connected: true, state: 'IDLE', draining: false }],
      ['worker.state', { state: 'RUNNING', last_error: null }],
    ])
  })

  it('publishes nothing when it repeats its register frame', async () => {
    const worker = await fixture.worker('w')
    worker.send({
      type: 'register',
      worker_id: 'w',
      automation_type: 'mailer',
      protocol_version: 1,
      hardware: { cores: 1, ram_gb: 1, hostname: 'h', kernel: 'k' },
    })
    await worker.settled()
    expect((await publishedEvents()).map((each) => (each as unknown[])[0])).toEqual([
      'worker.registered',
      'worker.connected',
    ])
  })
})

describe('a worker whose state flaps', () => {
  const flips = async (worker: WorkerClient, count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1)
      await says(worker, { state: n % 2 === 0 ? 'RUNNING' : 'IDLE', last_error: `${n}` })
  }

  it('publishes a burst of 10 events, then the newest state once per second', async () => {
    const worker = await fixture.worker('w')
    await flips(worker, 50)
    expect(await publishedEvents(13)).toEqual([])
    await fixture.time.advance(1_000)
    expect(await publishedEvents(13)).toEqual([['worker.state', { state: 'IDLE', last_error: '49' }]])
    await flips(worker, 5)
    await fixture.time.advance(1_000)
    expect(await publishedEvents(14)).toEqual([['worker.state', { state: 'RUNNING', last_error: '4' }]])
    await fixture.time.advance(10_000)
    expect(await publishedEvents(15)).toEqual([])
    await flips(worker, 5)
    expect(await publishedEvents(15)).toHaveLength(5)
  })

  it('publishes nothing more when it has returned to its last published state', async () => {
    const worker = await fixture.worker('w')
    await flips(worker, 10)
    const before = (await publishedEvents()).length
    await says(worker, { state: 'ERROR', last_error: 'x' })
    await says(worker, { state: 'IDLE', last_error: '9' })
    await fixture.time.advance(2_000)
    expect(await publishedEvents(before)).toEqual([])
  })

  it('publishes its last state before it disconnects, and nothing after another master drained it', async () => {
    const [leaver, drained] = [await fixture.worker('w'), await fixture.worker('v')]
    for (const worker of [leaver, drained]) await flips(worker, 20)
    await fixture.call('POST', '/v/drain')
    const before = (await publishedEvents()).length
    await leaver.close()
    await fixture.time.advance(3_000)
    expect(await publishedEvents(before)).toEqual([
      ['worker.state', { state: 'IDLE', last_error: '19' }],
      [
        'worker.disconnected',
        { connected: false, ended: false, departure: expect.objectContaining({ kind: 'lost', code: 1005, by: null }) },
      ],
      ['worker.state', { state: 'DRAINING', last_error: '19' }],
    ])
  })
})

describe('after the event log lost events', () => {
  it('publishes each worker again with its next report, once this master has written its heartbeat', async () => {
    let lose = (): void => {}
    await fixture.close()
    fixture = await RegistryFixture.open({
      backend: (real) => {
        const onAppend = real.events.onAppend.bind(real.events)
        real.events.onAppend = (on) => {
          lose = () => on([{ id: 'x-0', name: 'reset', scope: '*', data: '{}' }])
          return onAppend(on)
        }
        return real
      },
    })
    const worker = await fixture.worker('w')
    const frame = { state: 'RUNNING', config_gen: 0 }
    await says(worker, frame)
    const before = (await publishedEvents()).length
    lose()
    await fixture.beat()
    await says(worker, frame)
    expect(await publishedEvents(before)).toEqual([])
    await fixture.beat()
    for (const _ of [1, 2]) {
      await says(worker, frame)
      await fixture.time.advance(1_000) // Unchanged states are stored once per second.
    }
    await says(await fixture.worker('later'), { state: 'IDLE', config_gen: 0 })
    expect(await publishedEvents(before)).toEqual([
      ['worker.connected', { connected: true }],
      ['worker.state', { state: 'RUNNING', last_error: null }],
      ['worker.config_applied', { applied_config_gen: 0 }],
      ['worker.registered', { state: 'IDLE', config_gen: 0 }],
      ['worker.connected', { connected: true }],
      ['worker.config_applied', { applied_config_gen: 0 }],
    ])
  })
})

describe('a worker whose state did not change', () => {
  it('publishes all of it once more after the event log lost events', () => {
    const time = new VirtualTime()
    const announced: unknown[] = []
    const announce = (name: string, _ref: unknown, data: unknown): void => void announced.push([name, data])
    const throttle = new StateEventThrottle({ clock: time, timers: time, announce })
    const connection = {
      ref: { type: 'mailer', id: 'w' },
      stateEvents: new StateEvents(),
    } as unknown as Connection
    const status = { state: 'RUNNING', lastError: null, appliedGen: 3 } as const
    throttle.registered(connection)
    for (const _ of [1, 2]) throttle.update(connection, status)
    expect(announced.splice(0)).toHaveLength(2)
    throttle.eventsLost()
    for (const _ of [1, 2]) throttle.update(connection, status)
    expect(announced).toEqual([
      ['worker.connected', { connected: true }],
      ['worker.state', { state: 'RUNNING', last_error: null }],
      ['worker.config_applied', { applied_config_gen: 3 }],
    ])
  })
})
