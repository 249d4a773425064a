/** `muster why` (D153). */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { runMaster, type TestMaster } from '../../kit/running-master.ts'
import { cells, lines, muster } from './fixture.ts'

const ERROR = 'getaddrinfo ENOTFOUND old.invalid'
const HARDWARE = '{"cores":1,"ram_gb":1,"hostname":"h","kernel":"k"}'
const ENABLED = '{"enabled":true,"slots":4}'

let master: TestMaster

/** Records workers as a master does: `good` works, `bad` has failed each task since its config changed. */
beforeEach(async () => {
  master = await runMaster()
  const { backend } = master
  await backend.meta.beat('m')
  const connOf = (id: string) => ({ type: 'mailer', id, conn: `m/${id}` })
  const register = (id: string) => ({ ...connOf(id), instance: id, hardware: HARDWARE, defaults: ENABLED })
  await backend.workers.register([register('good'), register('bad')])
  const body = { host: 'old.invalid' }
  await master.call('PATCH', '/api/v1/automations/mailer/workers/bad/config', { body })
  await master.call('PATCH', '/api/v1/automations/mailer/workers/bad/config', { body: { host: 'older.invalid' } })
  const frame = (gen: number, counters: object) =>
    JSON.stringify({
      slots: 4,
      cpu_pct: 1,
      rss_mb: 1,
      ts: Date.now() / 1_000,
      per_slot: [],
      metrics: { ...counters, 'gauge.muster.config_gen': gen },
    })
  const failed = {
    'counter.muster.runs_failed': 30,
    'counter.muster.runs_died': 20,
    'counter.muster.last_error_runs': 30,
  }
  await backend.workers.beat([
    { ...connOf('good'), state: { state: 'RUNNING', gen: 0, lastError: null }, stats: [frame(0, {})] },
    { ...connOf('bad'), state: { state: 'ERROR', gen: 2, lastError: ERROR }, stats: [frame(2, failed)] },
  ])
  await master.call('POST', '/api/v1/automations/mailer/tasks', { body: { payload: { to: 'a' } } })
})

describe('muster why', () => {
  it('names the worker that fails each task, with the commands that fix it (D153)', async () => {
    const ran = await muster(master.url, 'why mailer')
    expect(ran).toMatchObject({ code: 0, err: '' })
    expect(lines(ran.out)[0]).toMatch(
      /^✗ bad has failed every task since its config .*\(host, by admin\): getaddrinfo ENOTFOUND old\.invalid\./,
    )
    expect(lines(ran.out)[0]).toContain('30 runs failed in the last ')
    expect(cells(ran.out).slice(1, 5)).toEqual([
      ['', 'edit its config', 'muster config set mailer/bad FIELD=VALUE'],
      ['', 'show the change', 'muster config history mailer/bad --limit 2 -o yaml'],
      ['', 'drain it', 'muster workers drain mailer/bad'],
      ['', 'replay the dead tasks', 'muster dead replay mailer'],
    ])
  })

  it('explains one worker, by either form of its name, and shows its error once', async () => {
    const ran = await muster(master.url, 'why mailer bad')
    expect(lines(ran.out)[0]).toMatch(/^✗ It has failed every task since its config .*\(host, by admin\)\. 30 runs/)
    expect(ran.out.split(ERROR)).toHaveLength(2)
    expect(lines(ran.out).at(-1)).toBe(`Last error: ${ERROR}`)
    expect((await muster(master.url, 'why mailer/bad')).out).toContain('It has failed every task')
    expect(await muster(master.url, 'why mailer ghost')).toMatchObject({ code: 3, out: '' })
  })

  it('prints causes, commands and runs as JSON', async () => {
    const ran = await muster(master.url, 'why mailer --json')
    const json = JSON.parse(ran.out)
    expect(json).toMatchObject({ type: 'mailer', worker_id: null, causes: [{ tone: 'bad' }] })
    expect(json.causes[0].fixes[2]).toEqual({ text: 'drain it', command: 'muster workers drain mailer/bad' })
    expect(json.runs.workers).toMatchObject([{ worker_id: 'bad', failed: 30, died: 20, config_changed: ['host'] }])
    expect(JSON.parse((await muster(master.url, 'why mailer bad -o json')).out)).toMatchObject({
      worker_id: 'bad',
      last_error: ERROR,
    })
  })

  it('explains the workers of a continuous automation, and rejects an unknown type', async () => {
    expect((await muster(master.url, 'why probe')).out).toMatch(/^✗ No worker of probe has registered yet\./)
    expect(await muster(master.url, 'why ghost')).toMatchObject({ code: 3, out: '' })
    expect((await muster(master.url, 'why')).err).toMatch(/^error: muster why cannot run: 1 fault/)
  })

  it('explains with states alone at a master of an earlier release', async () => {
    const older = createServer(({ url = '', headers }, response) => {
      const path = url.includes('/runs') ? '/api/v1/automations/mailer/unknown' : url
      void fetch(`${master.url}${path}`, { headers: { authorization: headers.authorization ?? '' } }).then(
        async (passed) => {
          const kept = [...passed.headers].filter(([name]) => name === 'content-type' || name.startsWith('muster-'))
          response.writeHead(passed.status, Object.fromEntries(kept)).end(await passed.text())
        },
      )
    }).listen(0, '127.0.0.1')
    await once(older, 'listening')
    const ran = await muster(`http://127.0.0.1:${(older.address() as AddressInfo).port}`, 'why mailer')
    older.close()
    expect(lines(ran.out)[0]).toMatch(/^✗ bad has failed every task since .*: getaddrinfo ENOTFOUND old\.invalid\.$/)
  })
})
