/**
 * `muster doctor` through real nginx and haproxy, each with one defect: the finding names the directive. All are
 * checked at the same time, because the long poll takes 20 s.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, HAS_OPENSSL, makeCertificates, SLACK, type Certificate, type Certificates } from '../../kit/index.ts'
import { SETTINGS, startTestMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'
import { doctor, type Diagnosis } from './fixture.ts'
import { isInstalled, openDoors, type Door } from './proxies.ts'

jest.setTimeout(60_000 * SLACK)

type Defect = Readonly<Record<string, string>>

interface Case {
  readonly name: string
  readonly defect?: Defect | ((unused: number) => Defect)
  readonly certificate?: keyof Certificates & ('expired' | 'elsewhere' | 'stranger')
  /** The check that fails; the others must not, apart from those that need it. */
  readonly fails?: string
  /** What its finding contains. */
  readonly names?: readonly (string | RegExp)[]
  readonly skips?: readonly string[]
}

const AFTER_HEALTHZ = ['token', 'versions', 'store', 'workers', 'websocket', 'events', 'clock', 'body', 'long-poll']
const AFTER_TLS = ['healthz', ...AFTER_HEALTHZ]
const ALWAYS_SKIPPED = ['crds', 'operator-lease', 'tenants'] // There is no kubeconfig.

const certificateCases: readonly Case[] = [
  {
    name: 'expired',
    certificate: 'expired',
    fails: 'tls',
    names: ['has expired', /ssl_certificate .*crt of the bind line.*SVC_TLS_CERT_FILE/],
    skips: AFTER_TLS,
  },
  {
    name: 'wrong-name',
    certificate: 'elsewhere',
    fails: 'tls',
    names: ['is not for 127.0.0.1', 'redis.example', /ssl_certificate .*crt of the bind line/],
    skips: AFTER_TLS,
  },
  {
    name: 'untrusted',
    certificate: 'stranger',
    fails: 'tls',
    names: ['not trusted', 'other-ca', '.ca-file', '--ca-file', 'NODE_EXTRA_CA_CERTS'],
    skips: AFTER_TLS,
  },
]

const CASES: Readonly<Record<'nginx' | 'haproxy', readonly Case[]>> = {
  nginx: [
    { name: 'correct' },
    ...certificateCases,
    {
      name: 'body-limit',
      defect: { 'client_max_body_size 2m': 'client_max_body_size 100k' },
      fails: 'body',
      names: ['900 KiB', 'HTTP 413 from a proxy', 'client_max_body_size 2m'],
    },
    {
      name: 'no-upgrade',
      defect: {
        'proxy_set_header Upgrade $http_upgrade;': '',
        'proxy_set_header Connection $connection_upgrade;': 'proxy_set_header Connection "";',
      },
      fails: 'websocket',
      names: ['instead of 101', 'proxy_set_header Upgrade $http_upgrade', 'proxy_http_version 1.1'],
    },
    {
      name: 'buffering',
      defect: { 'proxy_buffering off': 'proxy_buffering on; proxy_ignore_headers X-Accel-Buffering' },
      fails: 'events',
      names: ['no byte of the event stream', 'proxy_buffering off', 'proxy_ignore_headers X-Accel-Buffering'],
      skips: ['clock'],
    },
    {
      name: 'read-timeout',
      defect: { 'proxy_read_timeout 75s': 'proxy_read_timeout 10s' },
      fails: 'long-poll',
      names: ['long poll of 20 s', 'HTTP 504 from a proxy', 'proxy_read_timeout 75s'],
    },
    {
      name: 'wrong-upstream',
      defect: (unused) => ({ 'proxy_pass http://muster': `proxy_pass http://127.0.0.1:${unused}` }),
      fails: 'healthz',
      names: ['HTTP 502 from the proxy', 'proxy_pass'],
      skips: AFTER_HEALTHZ,
    },
  ],
  haproxy: [
    { name: 'correct' },
    ...certificateCases,
    {
      name: 'body-limit',
      defect: {
        'http-request deny':
          'http-request deny deny_status 413 if { req.hdr_val(content-length) gt 102400 }\n  http-request deny',
      },
      fails: 'body',
      names: ['900 KiB', 'http-request deny'],
    },
    {
      name: 'no-upgrade',
      defect: { 'http-request deny': 'http-request del-header Upgrade\n  http-request deny' },
      fails: 'websocket',
      names: ['instead of 101', 'http-request del-header Upgrade'],
    },
    {
      name: 'read-timeout',
      defect: { 'timeout server 75s': 'timeout server 10s' },
      fails: 'long-poll',
      names: ['long poll of 20 s', 'HTTP 504 from a proxy', 'timeout server 75s'],
    },
    {
      name: 'wrong-upstream',
      defect: (unused) => ({ 'default-port': `127.0.0.1:${unused}` }),
      fails: 'healthz',
      names: ['HTTP 503 from the proxy', 'server line'],
      skips: AFTER_HEALTHZ,
    },
    // A master of an earlier release ignores the header.
    {
      name: 'earlier-release',
      defect: { 'http-request deny': 'http-request del-header Prefer\n  http-request deny' },
      skips: ['long-poll'],
    },
  ],
}

const PROGRAMS = ['nginx', 'haproxy'] as const
type Program = (typeof PROGRAMS)[number]

const absent = (program: Program): string | undefined =>
  HAS_OPENSSL ? [program].find((each) => !isInstalled(each)) : 'openssl'

/** By program and name of the case. */
const diagnoses = new Map<string, Diagnosis>()
const stops: (() => Promise<void> | void)[] = []

beforeAll(async () => {
  if (PROGRAMS.every(absent)) return
  const master = await startTestMaster({ settings: { ...SETTINGS, maxBodyBytes: 1_048_576 }, version: '0.1.0' })
  stops.push(() => master.stop())
  const certificates = makeCertificates()
  stops.push(() => certificates.close())
  const present = PROGRAMS.filter((program) => absent(program) === undefined)
  await Promise.all(present.map((program) => diagnoseAll(program, certificates, master)))
})
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop()
})

async function diagnoseAll(program: Program, certificates: Certificates, master: TestMaster): Promise<void> {
  const unused = await freePort()
  const doors = CASES[program].map((each) => doorOf(each, certificates, unused, master.port))
  const { urls, stop } = await openDoors(program, doors, `127.0.0.1:${master.port}`)
  stops.push(stop)
  const environment = { SVC_MASTER_URL: '', SVC_API_TOKEN: '', XDG_CONFIG_HOME: contextsFor(urls, certificates.ca) }
  const check = async (name: string) =>
    diagnoses.set(`${program} ${name}`, await doctor('', ['--context', name], environment))
  await Promise.all([...urls.keys()].map(check))
}

for (const program of PROGRAMS)
  describe(`doctor through ${program}`, () => {
    const lacks = absent(program)
    if (lacks !== undefined) {
      it.skip(`${lacks} is not installed`, () => undefined)
      return
    }
    it('counts the remaining days of a certificate, and warns of few', () => {
      const correct = diagnoses.get(`${program} correct`)
      expect(correct?.named('warn')).toEqual(['tls', 'store'])
      expect(correct?.of('tls')?.text).toMatch(/^TLSv1\.\d, certificate of ca for 127\.0\.0\.1, 1 day left$/)
    })

    it.each(CASES[program])('$name', ({ name, fails, names = [], skips = [] }) => {
      const diagnosis = diagnoses.get(`${program} ${name}`)
      const context = JSON.stringify(diagnosis?.checks, null, 2)
      expect([diagnosis?.named('fail'), context]).toEqual([fails === undefined ? [] : [fails], context])
      expect(diagnosis?.code).toBe(fails === undefined ? 0 : 1)
      expect(diagnosis?.named('skip').toSorted()).toEqual([...skips, ...ALWAYS_SKIPPED].toSorted())
      const { text, cause, next } = diagnosis?.of(fails ?? 'settings') ?? {}
      for (const each of names) expect(`${text}\n${cause}\n${next}`).toMatch(each)
    })
  })

function doorOf({ name, defect = {}, certificate }: Case, all: Certificates, unused: number, port: number): Door {
  const given = typeof defect === 'function' ? defect(unused) : defect
  const { 'default-port': server, ...others } = given
  return {
    name,
    certificate: all[certificate ?? 'server'],
    defect: server === undefined ? others : { [`server master 127.0.0.1:${port}`]: `server master ${server}` },
  }
}

/** @returns the folder of a file with one context for each URL. */
function contextsFor(urls: ReadonlyMap<string, string>, ca: Certificate): string {
  const home = temporaryFolder()
  const token = join(home, 'token')
  mkdirSync(join(home, 'muster'))
  writeFileSync(token, TOKENS.admin)
  const contexts = Object.fromEntries(
    [...urls].map(([name, url]) => [name, { 'master-url': url, 'token-file': token, 'ca-file': ca.certFile }]),
  )
  writeFileSync(join(home, 'muster', 'config.yaml'), JSON.stringify({ contexts }), { mode: 0o600 })
  return home
}
