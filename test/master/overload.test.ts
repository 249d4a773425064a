import { afterEach, describe, expect, it } from '@jest/globals'
import { createOverload } from '../../src/master/overload.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import { recordingLog } from '../kit/index.ts'
import { runMaster } from '../kit/running-master.ts'

const stops: (() => void)[] = []
afterEach(() => stops.splice(0).forEach((stop) => stop()))

/** `p99`: the event loop delay of each measurement in turn, then 0. */
async function watched(p99: readonly number[]) {
  const time = new VirtualTime()
  const log = recordingLog()
  const { lines } = log
  const left = [...p99]
  const overload = createOverload(
    { timers: time, log },
    { takeP99Ms: () => left.shift() ?? 0, takeLongestMs: () => 0, stop: () => {} },
  )
  await overload.start?.()
  stops.push(() => void overload.stop?.())
  const after = async (seconds: number): Promise<boolean> => {
    await time.advance(seconds * 1_000)
    return overload.isOverloaded()
  }
  return { after, lines }
}

describe('a master', () => {
  it('is overloaded after its event loop was late for 5 s, until it is on time again, and logs both', async () => {
    const { after, lines } = await watched([101, 500, 101, 101, 101, 101, 100])
    expect(await after(4)).toBe(false)
    expect(await after(1)).toBe(true)
    expect(await after(1)).toBe(true)
    expect(await after(1)).toBe(false)
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'master overloaded: event loop is delayed, rejecting new tasks'],
      ['info', 'master recovered from overload: accepting new tasks'],
    ])
  })

  it('is not overloaded by one pause, however long, or by several separate ones', async () => {
    const { after, lines } = await watched([60_000, 0, 900, 900, 900, 900, 100])
    for (let second = 0; second < 8; second += 1) expect(await after(1)).toBe(false)
    expect(lines).toEqual([])
  })

  it('rejects new tasks while it is overloaded, and nothing else', async () => {
    const time = new VirtualTime()
    let p99Ms = 900
    const master = await runMaster({
      clock: time,
      timers: time,
      loopDelay: { takeP99Ms: () => p99Ms, takeLongestMs: () => 0, stop: () => {} },
    })
    const SUBMIT = '/api/v1/automations/mailer/tasks'
    const submit = (path = SUBMIT, body: object = { payload: { to: 'x' } }) => master.call('POST', path, { body })
    expect((await submit()).status).toBe(200)
    await time.advance(5_000)
    for (const reply of [await submit(), await submit(`${SUBMIT}/batch`, { tasks: [{ payload: { to: 'x' } }] })]) {
      expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1'])
      expect((reply.json as { detail: string }).detail).toContain('overloaded')
    }
    expect((await master.call('GET', '/metrics')).text).toContain(
      'svc_submits_refused_total{automation_type="mailer",reason="overloaded"} 2',
    )
    expect((await master.call('POST', '/api/v1/automations/mailer/dead/replay', { body: {} })).status).toBe(200)
    expect((await master.call('PATCH', '/api/v1/automations/mailer/workers/ghost/config', { body: {} })).status).toBe(
      404,
    )
    p99Ms = 0
    await time.advance(1_000)
    expect((await submit()).status).toBe(200)
  })
})
