/** The history of queues. */
import { expect, it } from '@jest/globals'
import { eventually } from '../kit/index.ts'
import { API, onEachStore, SCOPED, SECOND, type ConformanceFixture, type Json } from './fixture.ts'

onEachStore('history', (open) => {
  /** One task is done, one waits. */
  const busy = async (): Promise<ConformanceFixture> => {
    const fixture = await open()
    await fixture.worker('w-1')
    for (let n = 0; n < 2; n += 1) await fixture.submit({})
    const [task] = await fixture.reserve('w-1')
    await fixture.settle('w-1', 'ack', task)
    await fixture.pass(31 * SECOND)
    return fixture
  }
  const history = (fixture: ConformanceFixture, query = ''): Promise<Json> =>
    fixture.ok('GET', `/mailer/history${query}`)
  const sum = (steps: readonly Json[], name: string): number =>
    steps.reduce((total, step) => total + ((step[name] as number | null) ?? 0), 0)

  it('D166a: has counts, gauges, and wait and run times by steps', async () => {
    const fixture = await busy()
    await eventually(async () => sum((await history(fixture)).steps, 'submitted') === 2)
    const { from, to, step, steps } = await history(fixture, '?seconds=600&step=15')
    expect([to - from, step]).toEqual([615, 15])
    expect([sum(steps, 'done'), sum(steps, 'failed'), sum(steps, 'died')]).toEqual([1, 0, 0])
    expect(steps.at(-1)).toMatchObject({ waiting: 1, normal: 1, high: 0, in_flight: 0, scheduled: 0, dead: 0 })
    expect(steps.at(-1).oldest_seconds).toBeGreaterThan(10)
    const latencies = steps.flatMap(({ wait, run }: Json) => [wait, run]).filter((each: Json) => each !== null)
    expect(latencies.map(({ count }: Json) => count)).toEqual([1, 1])
    const coarse = await history(fixture, '?seconds=86400')
    expect([coarse.step, sum(coarse.steps, 'submitted') <= 2]).toEqual([300, true])
  })

  it('D166b: rejects a wrong range', async () => {
    const fixture = await open()
    for (const query of ['step=20', 'step=0', 'from=9&to=8', 'seconds=9000&step=15', 'from=1&step=15', 'from=x'])
      expect([query, await fixture.status('GET', `/mailer/history?${query}`)]).toEqual([query, 422])
  })

  it('D166c: has the counts of all queues of the token', async () => {
    const fixture = await busy()
    const read = async (token?: string): Promise<Json> =>
      (await fixture.call('GET', `${API}/history?seconds=600`, token === undefined ? {} : { token })).body
    await eventually(async () => {
      await fixture.pass(6 * SECOND)
      return sum((await read()).automations.mailer, 'submitted') === 2
    })
    const { automations } = await read()
    expect(automations.mailer.at(-1)).toMatchObject({ waiting: 1, died: 0 })
    expect(Object.keys((await read(SCOPED)).automations)).toEqual(['mailer'])
  })
})
