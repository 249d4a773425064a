/** The findings of `muster doctor` without a proxy, against a real master. */
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WebSocket, WebSocketServer } from 'ws'
import { isException } from '../../../src/cmd/doctor/settings-checks.ts'
import { systemTime } from '../../../src/runtime/index.ts'
import { register } from '../../client/fixture.ts'
import { eventually, freePort, HAS_OPENSSL, makeCertificates, SLACK } from '../../kit/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'
import { doctor as doctorWith, doctorLines, type Diagnosis } from './fixture.ts'

jest.setTimeout(20_000 * SLACK)

const FAST = { longPollMs: 1_000 }
const doctor = (url: string, words: readonly string[] = [], environment: Readonly<Record<string, string>> = {}) =>
  doctorWith(url, words, environment, FAST)
const withToken = (url: string, token: string): Promise<Diagnosis> => doctor(url, [], { SVC_API_TOKEN: token })
const saidBy = (diagnosis: Diagnosis, check: string): string => Object.values(diagnosis.of(check) ?? {}).join('\n')

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** A server that is no master. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('muster doctor', () => {
  it('prints one line for each check, as soon as it and those before it are known', async () => {
    const master = await runMaster({ version: '0.1.0' })
    const seen: string[] = []
    let beforeLast = ''
    const { code, out, err } = await doctorLines(
      master.url,
      [],
      {
        onOut: (text) => {
          seen.push(text)
          if (!text.includes('long-poll')) beforeLast = text
        },
      },
      FAST,
    )
    expect([code, err]).toEqual([0, ''])
    const names = [...out.matchAll(/^(?:ok  |warn|fail|skip)  ([a-z-]+) {2,}\S/gm)].map(([, name]) => name)
    expect(names).toEqual([
      'settings',
      'proxy-variables',
      'dns',
      'tcp',
      'tls',
      'healthz',
      'token',
      'versions',
      'store',
      'workers',
      'websocket',
      'events',
      'clock',
      'body',
      'crds',
      'operator-lease',
      'tenants',
      'long-poll',
    ])
    expect(seen.length).toBe(names.length)
    expect(beforeLast).toContain('tenants')
    expect(out).toMatch(/^warn {2}store .*\n {6}cause: .*\n {6}next: {2}set SVC_BACKEND_URL/m)
  })

  it('changes nothing on the master', async () => {
    const master = await runMaster()
    await register(master, 'w1')
    const state = async (): Promise<unknown> => [
      (await master.call('GET', '/api/v1/automations/mailer/workers')).json,
      (await master.call('GET', '/api/v1/automations/mailer/tasks')).json,
      (await master.call('GET', '/api/v1/automations/mailer/dead')).json,
      (await master.call('GET', '/api/v1/audit')).json,
      master.backend.events.newest(),
    ]
    const before = await state()
    expect((await doctor(master.url)).named('ok')).toEqual(expect.arrayContaining(['websocket', 'body', 'long-poll']))
    expect(await state()).toEqual(before)
  })

  it.each([
    [['--contxt=x'], 'did you mean --context?'],
    [['now'], 'is not expected'],
    [['-o', 'yaml'], '"yaml" is not known'],
    [['--context', 'x', '--master-url', 'http://x'], 'cannot be combined'],
  ])('rejects %j', async (words, problem) => {
    await expect(doctorLines('http://127.0.0.1:1', words)).rejects.toMatchObject({
      faults: [expect.objectContaining({ problem: expect.stringContaining(problem) })],
    })
  })
})

describe('settings', () => {
  it('name the flag, the variable, the file and the context that each comes from', async () => {
    const master = await runMaster()
    const home = temporaryFolder()
    mkdirSync(join(home, 'muster'))
    const token = join(home, 'token')
    writeFileSync(token, TOKENS.admin)
    const contexts = { lab: { 'master-url': master.url, 'token-file': 'token' } }
    writeFileSync(join(home, 'muster', 'config.yaml'), JSON.stringify({ current: 'lab', contexts }), { mode: 0o600 })
    writeFileSync(join(home, 'muster', 'token'), TOKENS.admin)
    const [flag, file, context] = await Promise.all([
      doctor('', ['--master-url', master.url]),
      doctor(master.url, [], { SVC_API_TOKEN: '', SVC_API_TOKEN_FILE: token }),
      doctor('', [], { SVC_API_TOKEN: '', XDG_CONFIG_HOME: home }),
    ])
    expect(flag.of('settings')?.text).toBe(`master ${master.url}/ (--master-url), token (SVC_API_TOKEN)`)
    expect(file.of('settings')?.text).toBe(
      `master ${master.url}/ (SVC_MASTER_URL), token (SVC_API_TOKEN_FILE=${token})`,
    )
    expect(context.of('settings')?.text).toContain('(contexts.lab.master-url), token (contexts.lab.token-file=')
  })

  it('that are missing fail, and skip the rest', async () => {
    const diagnosis = await doctor('', [], { SVC_API_TOKEN: '' })
    expect([diagnosis.code, diagnosis.named('fail')]).toEqual([1, ['settings']])
    expect(saidBy(diagnosis, 'settings')).toMatch(/SVC_MASTER_URL is required.*SVC_API_TOKEN is required/)
    expect(diagnosis.of('long-poll')).toMatchObject({ status: 'skip', text: 'needs settings, which failed' })
  })

  it('that switch the verification of certificates off are a warning', async () => {
    const diagnosis = await doctor('http://127.0.0.1:1', [], { NODE_TLS_REJECT_UNAUTHORIZED: '0' })
    expect(diagnosis.of('settings')).toMatchObject({ status: 'warn', next: expect.stringContaining('--ca-file') })
  })

  it('warn of a proxy that Muster does not use, without its password', async () => {
    const proxy = { HTTPS_PROXY: 'http://me:secret@proxy:3128' }
    const [used, excepted, local] = await Promise.all([
      doctor(`https://${'x'.repeat(64)}`, [], proxy),
      doctor(`https://${'x'.repeat(64)}`, [], { ...proxy, NO_PROXY: 'x'.repeat(64) }),
      doctor('https://127.0.0.1:1', [], proxy),
    ])
    expect(used.of('proxy-variables')).toMatchObject({ status: 'warn', next: expect.stringContaining('NO_PROXY') })
    expect(saidBy(used, 'proxy-variables')).not.toContain('secret')
    expect([excepted.of('proxy-variables')?.status, local.of('proxy-variables')?.status]).toEqual(['ok', 'ok'])
  })

  it.each([
    ['muster.example.com', 'localhost,.example.com', true],
    ['muster.example.com', 'example.com', true],
    ['muster.example.com', '*', true],
    ['muster.example.com', 'muster.example.com:443', true],
    ['muster.example.com', 'ample.com, ,x', false],
    ['muster.example.com', '', false],
  ])('%s is an exception in NO_PROXY=%s: %s', (host, list, expected) => expect(isException(host, list)).toBe(expected))
})

describe('the way to the master', () => {
  it('fails at a name without an address', async () => {
    const diagnosis = await doctor(`http://${'x'.repeat(64)}:8080`) // Too long for the DNS, so no request is sent.
    expect(diagnosis.named('fail')).toEqual(['dns'])
    expect(saidBy(diagnosis, 'dns')).toContain('SVC_MASTER_URL')
  })

  it('fails at a wrong port', async () => {
    const diagnosis = await doctor(`http://127.0.0.1:${await freePort()}`)
    expect([diagnosis.code, diagnosis.named('fail')]).toEqual([1, ['tcp']])
    expect(saidBy(diagnosis, 'tcp')).toMatch(/ECONNREFUSED[^]*correct the port of SVC_MASTER_URL/)
  })

  it('fails at a port without TLS for https', async () => {
    const master = await runMaster()
    const diagnosis = await doctor(master.url.replace('http:', 'https:'))
    expect(diagnosis.named('fail')).toEqual(['tls'])
    expect(saidBy(diagnosis, 'tls')).toMatch(/does not use TLS[^]*use http in SVC_MASTER_URL/)
  })

  const withOpenssl = HAS_OPENSSL ? it : it.skip
  withOpenssl('names https for a port with TLS', async () => {
    const certificates = makeCertificates()
    const { cert, key } = certificates.server
    certificates.close()
    const server = createTlsServer({ cert, key }).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    const diagnosis = await doctor(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    expect(diagnosis.named('fail')).toEqual(['healthz'])
    expect(saidBy(diagnosis, 'healthz')).toContain('https')
  })

  it.each([
    ['a redirect', 301, { location: 'https://muster.example.com/healthz' }, '', /redirect to https:[^]*new address/],
    ['another server', 200, {}, '<html>', /not that of a master[^]*correct host, port and path/],
    ['an imitation', 200, {}, '{"status":"ok"}', /not that of a master/],
    ['a wrong path', 404, { server: 'nginx/1.22.1' }, '', /HTTP 404[^]*in nginx: location \/[^;]*\n?$/],
  ])('fails at %s', async (_, status, headers, text, expected) => {
    const diagnosis = await doctor(
      await serve((_request, response) => void response.writeHead(status, headers).end(text)),
    )
    expect(diagnosis.named('fail')).toEqual(['healthz'])
    expect(saidBy(diagnosis, 'healthz')).toMatch(expected)
  })
})

describe('the control channel', () => {
  it('that is closed with another code fails', async () => {
    const imitation = createServer((_request, response) =>
      response.writeHead(200, { 'muster-request-id': 'r' }).end('{"status":"ok"}'),
    ).listen(0, '127.0.0.1')
    servers.push(imitation)
    await once(imitation, 'listening')
    new WebSocketServer({ server: imitation }).on('connection', (socket) => socket.close(1011))
    const diagnosis = await doctor(`http://127.0.0.1:${(imitation.address() as AddressInfo).port}`)
    expect(diagnosis.of('websocket')).toMatchObject({ status: 'fail', text: expect.stringContaining('1011') })
  })
})

describe('the token', () => {
  it('that is wrong fails, and names where it comes from', async () => {
    const master = await runMaster()
    const diagnosis = await withToken(master.url, 'wrong-token-of-the-test')
    expect([diagnosis.code, diagnosis.named('fail')]).toEqual([1, ['token']])
    expect(saidBy(diagnosis, 'token')).toMatch(/HTTP 403: unknown token[^]*the token of SVC_API_TOKEN: /)
    expect(diagnosis.of('websocket')?.status).toBe('ok') // It needs no token.
  })

  it.each([
    ['admin', 'ok', 'role admin', []],
    ['viewer', 'ok', 'role scoped "viewer", may read for mailer', []],
    ['producer', 'ok', 'may submit for mailer', ['workers', 'events', 'clock']],
    ['worker', 'warn', 'tokens of workers', ['workers', 'events', 'clock', 'body']],
    ['scaler', 'warn', 'tokens of scalers', ['workers', 'events', 'clock', 'body']],
  ] as const)('of role %s', async (role, status, text, skipped) => {
    const master = await runMaster()
    const diagnosis = await withToken(master.url, TOKENS[role])
    expect([diagnosis.named('fail'), diagnosis.of('token')?.status]).toEqual([[], status])
    expect(saidBy(diagnosis, 'token').replace('a token of', 'tokens of')).toContain(text)
    expect(diagnosis.named('skip')).toEqual([...skipped, 'crds', 'operator-lease', 'tenants'])
  })
})

describe('the master and its fleet', () => {
  it('of another minor release is a warning', async () => {
    const [newer, older] = await Promise.all([runMaster({ version: '0.9.9' }), runMaster({ version: '0.0.9' })])
    expect(saidBy(await doctor(newer.url), 'versions')).toMatch(/warn[^]*install muster 0\.9\.9/)
    expect(saidBy(await doctor(older.url), 'versions')).toMatch(/warn[^]*upgrade the master/)
  })

  it.each([
    [-2_000, 'ok', 'behind'],
    [30_000, 'warn', 'ahead of'],
    [-120_000, 'fail', 'behind'],
  ])('with a clock that differs by %d ms', async (offsetMs, status, words) => {
    const clock = { wallMs: () => systemTime.wallMs() + offsetMs, monotonicMs: systemTime.monotonicMs.bind(systemTime) }
    const master = await runMaster({ clock })
    const { code, of } = await doctor(master.url)
    expect([of('clock')?.status, code]).toEqual([status, status === 'fail' ? 1 : 0])
    expect(of('clock')?.text).toContain(words)
  })

  it('with a worker that has not confirmed its config', async () => {
    const master = await runMaster()
    const socket = await behind(master)
    let diagnosis = await doctor(master.url)
    await eventually('the counts of the master show it', async () => {
      diagnosis = await doctor(master.url)
      return diagnosis.of('workers')?.status === 'warn'
    })
    expect(saidBy(diagnosis, 'workers')).toMatch(/1 of mailer[^]*muster why mailer/)
    socket.terminate()
  })
})

/** Connects a worker, lets it report generation 0, and raises the generation. */
async function behind(master: TestMaster): Promise<WebSocket> {
  const url = `${master.url.replace('http', 'ws')}/api/v1/automations/mailer/workers/w1/control`
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${TOKENS.worker}` } })
  await once(socket, 'open')
  const hardware = { cores: 1, ram_gb: 1, hostname: 'test', kernel: 'test' }
  const frames = [
    { type: 'register', worker_id: 'w1', automation_type: 'mailer', protocol_version: 1, hardware },
    { type: 'state', state: 'IDLE', config_gen: 0, ts: 1, last_error: null },
  ]
  for (const frame of frames) socket.send(JSON.stringify(frame))
  const path = '/api/v1/automations/mailer/workers/w1'
  await eventually('the worker has reported', async () =>
    (await master.call('GET', path)).text.includes('"applied_config_gen":0'),
  )
  expect((await master.call('PATCH', `${path}/config`, { body: { slots: 2 } })).status).toBe(200)
  return socket
}
