/** `muster workers ls --watch` against a real master with real sockets of workers (D214). */
import { afterEach, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { FaultyProxy } from '../../client/faulty-proxy.ts'
import { eventually, freePort } from '../../kit/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { registerFrame, stateFrame, WorkerClient } from '../../master/registry/fixture.ts'
import { cells, lines, muster, type Ran } from './fixture.ts'

const closing: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function join({ url }: TestMaster, id: string, type = 'mailer'): Promise<WorkerClient> {
  const path = `/api/v1/automations/${type}/workers/${id}/control`
  const headers = { authorization: `Bearer ${TOKENS.worker}` }
  const worker = new WorkerClient(new WebSocket(url.replace('http', 'ws') + path, { headers }))
  closing.push(() => worker.socket.terminate())
  await worker.opened
  worker.send(registerFrame(id, { type }))
  await worker.settled()
  return worker
}

interface Watch {
  /** The output so far. */
  readonly out: () => string
  /** Waits until a line of the output has these texts. */
  readonly until: (...texts: readonly string[]) => Promise<void>
  /** Closes the output. */
  readonly end: () => Promise<Ran>
}

function watch(url: string, words: string): Watch {
  const closed = new AbortController()
  let seen = ''
  const running = muster(url, `workers ls --watch ${words}`.trimEnd(), {
    unread: closed.signal,
    onOut: (out) => (seen = out),
  })
  closing.push(() => closed.abort())
  return {
    out: () => seen,
    until: (...texts) => eventually(async () => lines(seen).some((line) => texts.every((text) => line.includes(text)))),
    end: () => {
      closed.abort()
      return running
    },
  }
}

async function throughProxy(): Promise<{ readonly master: TestMaster; readonly proxy: FaultyProxy }> {
  const master = await runMaster()
  const proxy = await FaultyProxy.start(master.url)
  closing.push(() => proxy.stop())
  return { master, proxy }
}

const isStream = ({ url = '' }: { readonly url?: string | undefined }): boolean => url.startsWith('/api/v1/events')

describe('muster workers ls --watch', () => {
  it('prints the table, then a row per change, with one head', async () => {
    const master = await runMaster()
    const first = await join(master, 'w1')
    const watching = watch(master.url, '')
    await watching.until('mailer/w1', 'IDLE')
    first.send(stateFrame())
    await watching.until('mailer/w1', 'RUNNING')
    await join(master, 'p1', 'probe')
    await watching.until('probe/p1', 'yes')
    await master.call('PATCH', '/api/v1/automations/mailer/workers/w1/config', { body: { slots: 7 } })
    await watching.until('mailer/w1', '1, applied 0', '7')
    await first.close()
    await watching.until('mailer/w1', ' no')
    await master.call('DELETE', '/api/v1/automations/mailer/workers/w1')
    await watching.until('mailer/w1', 'FORGOTTEN')
    const { code, out, err } = await watching.end()
    expect([code, err, lines(out).filter((line) => line.startsWith('WORKER'))]).toMatchObject([0, '', { length: 1 }])
    const columns = lines(out).map((line) => line.slice(0, 'mailer/w1  RUNNING'.length).search(/ {2}[A-Z]/))
    expect(new Set(columns)).toEqual(new Set(['mailer/w1'.length]))
    expect(new Set(cells(out).map(([name]) => name))).toEqual(new Set(['WORKER', 'mailer/w1', 'probe/p1']))
  })

  it('prints lines of JSON, and only workers of the type and of the filter, and when one leaves it', async () => {
    const master = await runMaster()
    const worker = await join(master, 'w1')
    await join(master, 'p1', 'probe')
    const watching = watch(master.url, 'mailer --state RUNNING -o json')
    worker.send(stateFrame())
    await watching.until('"worker_id":"w1"', '"state":"RUNNING"')
    worker.send(stateFrame({ state: 'ERROR', last_error: 'no disk' }))
    await watching.until('"worker_id":"w1"', '"state":"ERROR"')
    await join(master, 'w2')
    worker.send(stateFrame())
    await eventually(async () => lines(watching.out()).length === 3)
    const printed = lines((await watching.end()).out).map((line) => JSON.parse(line) as object)
    expect(printed).toMatchObject([{ state: 'RUNNING' }, { state: 'ERROR' }, { state: 'RUNNING', worker_id: 'w1' }])
  })

  it('misses no worker that registers while it starts', async () => {
    const master = await runMaster()
    for (let round = 0; round < 10; round += 1) {
      const ids = Array.from({ length: 6 }, (_, at) => `r${round}-${at}`)
      const watching = watch(master.url, '-o name')
      for (const id of ids) await join(master, id)
      await Promise.all(ids.map((id) => watching.until(`mailer/${id}`)))
      const printed = lines((await watching.end()).out)
      expect(printed.filter((line) => ids.some((id) => line === `mailer/${id}`)).length).toBeGreaterThanOrEqual(6)
    }
  })

  it('misses no change while its stream is cut again and again, and lists again', async () => {
    const { master, proxy } = await throughProxy()
    const watching = watch(proxy.url, 'mailer -o name')
    for (let round = 0; round < 6; round += 1) {
      const before = join(master, `a${round}`)
      proxy.cut()
      await Promise.all([before, join(master, `b${round}`)])
      for (const id of [`a${round}`, `b${round}`]) await watching.until(`mailer/${id}`)
    }
    expect(await watching.end()).toMatchObject({ code: 0 })
  })

  it('reads the list after the stream is open: a change between both is not lost', async () => {
    const { master, proxy } = await throughProxy()
    await join(master, 'w1')
    const order: string[] = []
    proxy.rule = (request) => {
      order.push(isStream(request) ? 'stream' : 'list')
      return 'pass'
    }
    const watching = watch(proxy.url, 'mailer -o name')
    await watching.until('mailer/w1')
    expect(order).toEqual(['stream', 'list'])
    proxy.cut()
    await eventually(async () => order.length >= 4)
    expect(order.slice(2)).toEqual(['stream', 'list'])
    await watching.end()
  })

  it('prints a worker that was forgotten while the stream was lost, and a change of that time', async () => {
    const { master, proxy } = await throughProxy()
    const [one] = [await join(master, 'w1'), await join(master, 'w2')]
    const watching = watch(proxy.url, 'mailer -o json')
    await watching.until('"w2"')
    proxy.rule = (request) => (isStream(request) ? 'reset before' : 'pass')
    proxy.cut()
    one.send(stateFrame())
    await one.settled()
    await master.call('DELETE', '/api/v1/automations/mailer/workers/w2')
    proxy.rule = () => 'pass'
    await watching.until('"w1"', '"state":"RUNNING"')
    await watching.until('"w2"', '"forgotten":true')
    const { err } = await watching.end()
    expect(lines(err)[0]).toContain('cannot read the workers, retrying: ')
  })

  it('repeats a read that fails, because its event is not sent again', async () => {
    const { master, proxy } = await throughProxy()
    const worker = await join(master, 'w1')
    const watching = watch(proxy.url, 'mailer -o json --timeout 1')
    worker.send(stateFrame())
    await watching.until('"w1"', '"state":"RUNNING"', '"applied_config_gen":0')
    let refused = 0
    const body = '{"detail":"busy","code":"OVERLOADED"}'
    const headers = { 'content-type': 'application/json', 'muster-epoch': 'e' }
    proxy.rule = () => ((refused += 1) < 8 ? { status: 503, headers, body } : 'pass')
    worker.send(stateFrame({ state: 'ERROR', last_error: 'no disk' })) // One event.
    await watching.until('"w1"', '"state":"ERROR"')
    expect(refused).toBeGreaterThanOrEqual(8)
    await watching.end()
  })

  it('fails as every command does if it cannot begin', async () => {
    const nowhere = await muster(`http://127.0.0.1:${await freePort()}`, 'workers ls --watch')
    expect([nowhere.code, nowhere.out]).toEqual([1, ''])
    expect(nowhere.err).toContain('check that a master is running')
    const { url } = await runMaster()
    const environment = { SVC_API_TOKEN: 'not-a-token-of-this-fleet' }
    expect(await muster(url, 'workers ls --watch', { environment })).toMatchObject({ code: 4, out: '' })
  })
})
