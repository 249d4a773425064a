/** The metrics of operations. */
import { describe, expect, it } from '@jest/globals'
import { OperationFixture } from './fixture.ts'

const WORKERS = ['a', 'b', 'c']
const BODY = { kind: 'patch', workers: WORKERS, patch: { slots: 4 }, per_second: 1, bake_seconds: 0 }

async function metric({ master }: OperationFixture, series: string): Promise<number> {
  const { text } = await master.call('GET', '/metrics')
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return Number(line?.slice(series.length + 1) ?? Number.NaN)
}

describe('the metrics of operations', () => {
  it('are the operations that run, the age of the oldest, and the workers by result', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect(...WORKERS)
    await fixture.disconnect('c')
    await fixture.create({ ...BODY, workers: ['a'], per_second: 0.1, wait_seconds: 600 })
    await fixture.advance(5_000)
    await fixture.create({ ...BODY, workers: ['b', 'c'] })
    await fixture.advance(6_000)
    const running = 'svc_operations_running{automation_type="mailer",kind="patch"}'
    const oldest = 'svc_operation_oldest_seconds{automation_type="mailer"}'
    const items = (result: string) =>
      `svc_operation_items_total{automation_type="mailer",kind="patch",result="${result}"}`
    expect(await metric(fixture, running)).toBe(2)
    expect(await metric(fixture, oldest)).toBe(11)
    expect([await metric(fixture, items('offline')), await metric(fixture, items('done'))]).toEqual([1, Number.NaN])
    await fixture.applyAll()
    await fixture.advance(6_000)
    expect(await metric(fixture, items('done'))).toBe(2)
    expect([await metric(fixture, running), await metric(fixture, oldest)]).toEqual([Number.NaN, Number.NaN])
  })

  it('leave the gauges to the leader', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect(...WORKERS)
    await fixture.create(BODY)
    await fixture.advance(2_000)
    const running = 'svc_operations_running{automation_type="mailer",kind="patch"}'
    expect(await metric(fixture, running)).toBe(1)
    await fixture.backend.meta.beat('!')
    await fixture.advance(6_000)
    expect(await metric(fixture, running)).toBeNaN()
  })
})
