import { describe, expect, it } from '@jest/globals'
import { sharedText } from '../../../src/master/metrics/shared-text.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { runMaster } from '../running-master.ts'

function counted(clock: VirtualTime): {
  read: () => Promise<Buffer>
  finish: (text: string) => void
  fail: () => void
  made: () => number
} {
  let made = 0
  let finish: (text: string) => void = () => {}
  let fail: (error: Error) => void = () => {}
  const read = sharedText(clock, () => {
    made += 1
    return new Promise((resolve, reject) => {
      finish = resolve
      fail = reject
    })
  })
  return { read, made: () => made, finish: (text) => finish(text), fail: () => fail(new Error('no text')) }
}

describe('a shared text', () => {
  it('is made once a second, however many ask for it (D72)', async () => {
    const time = new VirtualTime()
    const { read, finish, made } = counted(time)
    const first = Promise.all(Array.from({ length: 50 }, read))
    finish('one')
    const texts = await first
    expect([made(), new Set(texts).size, String(texts[0])]).toEqual([1, 1, 'one'])
    await time.advance(999)
    expect([String(await read()), made()]).toEqual(['one', 1])
    await time.advance(1)
    const second = read()
    finish('two')
    expect([String(await second), made()]).toEqual(['two', 2])
  })

  it('is not made twice at a time, however long it takes (D72)', async () => {
    const time = new VirtualTime()
    const { read, finish, made } = counted(time)
    const waiting = [read()]
    await time.advance(10_000)
    waiting.push(read())
    finish('late')
    expect((await Promise.all(waiting)).map(String)).toEqual(['late', 'late'])
    expect(made()).toBe(1)
  })

  it('that could not be made is made again a second later', async () => {
    const time = new VirtualTime()
    const { read, finish, fail } = counted(time)
    const failed = read()
    fail()
    await expect(failed).rejects.toThrow('no text')
    await time.advance(1_000)
    const next = read()
    finish('there')
    expect(String(await next)).toBe('there')
  })
})

describe('SVC_METRICS_LISTEN', () => {
  it('moves /metrics to an address of its own, with probes beside it, and ends with the master (D72)', async () => {
    const free = await runMaster()
    await free.stop() // Its port is free now.
    const address = { host: '127.0.0.1', port: free.port }
    const master = await runMaster({ metricsListen: address })
    expect((await master.call('GET', '/metrics', { token: '' })).status).toBe(401)
    expect((await master.call('GET', '/metrics')).status).toBe(404)
    const own = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${address.port}${path}`)
    expect(await (await own('/metrics')).text()).toContain('svc_master_up 1\n')
    expect([(await own('/healthz')).status, (await own('/readyz')).status, (await own('/api/v1/me')).status]).toEqual([
      200, 200, 404,
    ])
    await master.stop()
    await expect(own('/metrics')).rejects.toThrow('fetch failed')
  })
})
