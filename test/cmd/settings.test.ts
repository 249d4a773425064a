import { describe, expect, it } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { backendUrl } from '../../src/cmd/backend.ts'
import {
  atLeast,
  duration,
  environmentName,
  hostPort,
  httpUrl,
  integer,
  kubeName,
  kubeNames,
  masterUrl,
  oneOf,
  origins,
  text,
  workerId,
  workerLabels,
  time,
} from '../../src/cmd/readers.ts'
import { describeSettings, readSettings, setting } from '../../src/cmd/settings.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const TABLE = {
  listen: setting(hostPort, { name: 'SVC_LISTEN', help: 'Where to listen.', fallback: '0.0.0.0:8080' }),
  token: setting(text, { name: 'SVC_TOKEN', help: 'Who we are.', secret: true, required: true }),
  level: setting(oneOf('low', 'high'), { name: 'SVC_LEVEL', help: 'How loud.' }),
} as const

describe('origins', () => {
  it('are kept as a browser writes them', () => {
    expect(origins('https://app.example.com, http://localhost:3000,http://[::1]:8080')).toEqual([
      'https://app.example.com',
      'http://localhost:3000',
      'http://[::1]:8080',
    ])
  })

  it.each([
    '*',
    'null',
    'https://*',
    'https://*.example.com',
    'app.example.com',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://app.example.com:443',
    'https://APP.example.com',
    'https://user@app.example.com',
    'https://app.example.com\nX-Injected: 1',
    'file:///etc/passwd',
    'chrome-extension://abcdef',
    'javascript:alert(1)',
    'https://app.example.com,*',
  ])('%j are rejected', (given) => {
    expect(() => origins(given)).toThrow('is not the exact origin of a page')
  })
})

describe('a listening address', () => {
  it.each([
    ['0.0.0.0:8080', { host: '0.0.0.0', port: 8080 }],
    ['[::1]:8080', { host: '::1', port: 8080 }],
    [':8080', { host: '', port: 8080 }],
  ])('%s is accepted', (given, address) => {
    expect(hostPort(given)).toEqual(address)
  })

  it.each(['8080', ':', 'a b:1', ':65536'])('%s is rejected', (given) => {
    expect(() => hostPort(given)).toThrow('is not host:port')
  })
})

describe('the name of an environment', () => {
  it.each(['production', 'EU 2', 'Prüfung', 'x', 'x'.repeat(32)])('%j is accepted', (given) => {
    expect(environmentName(given)).toBe(given)
  })

  it.each(['', ' ', ' a', 'a ', 'a\nb', 'a\u202eb', '\u200b', 'x'.repeat(33)])('%j is rejected', (given) => {
    expect(() => environmentName(given)).toThrow('is not a name of 1 to 32 visible characters; for example production')
  })
})

describe('readSettings', () => {
  it('prefers the flag to the variable, and the variable to the default (D34)', () => {
    const read = (environment: Record<string, string>, ...argv: string[]) =>
      readSettings(TABLE, { SVC_TOKEN: 't', ...environment }, argv).values.listen.port
    expect(read({})).toBe(8080)
    expect(read({ SVC_LISTEN: '127.0.0.1:1' })).toBe(1)
    expect(read({ SVC_LISTEN: '127.0.0.1:1' }, '--listen', '127.0.0.1:2')).toBe(2)
    expect(read({ SVC_LISTEN: '127.0.0.1:1' }, '--listen=127.0.0.1:3')).toBe(3)
  })

  it('reports all faults together (D34)', () => {
    const { faults } = readSettings(TABLE, { SVC_LISTEN: '8080', SVC_LEVEL: 'loud' }, [
      '--lisen',
      'x',
      'stray',
      '--level',
    ])
    expect(faults).toEqual([
      { name: '--lisen', problem: 'is not known; did you mean --listen?; see --help' },
      { name: 'stray', problem: 'is not known; see --help' },
      { name: '--level', problem: 'needs a value' },
      { name: 'SVC_LISTEN', problem: '"8080" is not host:port; for example 0.0.0.0:8080' },
      { name: 'SVC_TOKEN', problem: 'is required; set it, or give SVC_TOKEN_FILE' },
      { name: 'SVC_LEVEL', problem: '"loud" is not known; known: low, high' },
    ])
  })

  it('rejects a secret as a flag without showing it', () => {
    const { faults } = readSettings(TABLE, { SVC_TOKEN: 't' }, ['--token', 'hunter2'])
    expect(faults).toEqual([{ name: '--token', problem: 'secrets are never flags; set SVC_TOKEN or SVC_TOKEN_FILE' }])
    expect(JSON.stringify(readSettings(TABLE, { SVC_TOKEN: 't' }, ['--token=hunter2']))).not.toContain('hunter2')
  })

  it('reads a secret from the file named by its _FILE variable (D22)', () => {
    const directory = temporaryFolder()
    const file = join(directory, 'token')
    writeFileSync(file, 'from-the-file\n')
    expect(readSettings(TABLE, { SVC_TOKEN_FILE: file }, []).values.token).toBe('from-the-file')
    expect(readSettings(TABLE, { SVC_TOKEN_FILE: file, SVC_TOKEN: 'both' }, []).faults).toEqual([
      { name: 'SVC_TOKEN', problem: 'and SVC_TOKEN_FILE are both set; unset one of them' },
    ])
    expect(readSettings(TABLE, { SVC_TOKEN_FILE: join(directory, 'absent') }, []).faults).toEqual([
      { name: 'SVC_TOKEN', problem: 'SVC_TOKEN_FILE cannot be read: ENOENT' },
    ])
  })

  it('lists every setting with its forms and its default', () => {
    const help = describeSettings(TABLE)
    expect(help).toContain('SVC_LISTEN, --listen\n      Where to listen. (default 0.0.0.0:8080)')
    expect(help).toContain('SVC_TOKEN, or SVC_TOKEN_FILE\n      Who we are. (required)')
  })
})

describe('the readers', () => {
  it.each<[string, (value: string) => unknown, string, unknown]>([
    ['host:port', hostPort, '[::1]:80', { host: '::1', port: 80 }],
    ['whole number', integer(0, 10), '10', 10],
    ['number', atLeast(0), '0.5', 0.5],
    ['seconds', duration, '90s', 90],
    ['minutes', duration, '30m', 1_800],
    ['hours', duration, '1.5h', 5_400],
    ['days', duration, '2d', 172_800],
    ['unix seconds', time, '1700000000.25', 1_700_000_000.25],
    ['ISO 8601', time, '2030-01-31T09:00:00.5+01:00', 1_896_076_800.5],
    ['namespaces', kubeNames, 'team-a, team-b,team-a', ['team-a', 'team-b']],
    ['memory://', backendUrl, 'memory://', { scheme: 'memory' }],
    ['mem://', backendUrl, 'mem://', { scheme: 'memory' }],
    ['relative filedb', backendUrl, 'filedb://.muster/master.db', { scheme: 'filedb', path: '.muster/master.db' }],
    ['absolute filedb', backendUrl, 'filedb:///var/lib/m.db', { scheme: 'filedb', path: '/var/lib/m.db' }],
  ])('read %s', (_name, read, value, expected) => {
    expect(read(value)).toEqual(expected)
  })

  it.each<[(value: string) => unknown, string, RegExp]>([
    [hostPort, 'localhost', /not host:port/],
    [hostPort, 'a:70000', /not host:port/],
    [integer(0, 10), '11', /from 0 to 10/],
    [integer(0, 10), '1.5', /whole number/],
    [atLeast(0), 'NaN', /0 or more/],
    [atLeast(0), '-1', /0 or more/],
    [duration, '', /30m or 2h/],
    [duration, '30', /is not a duration/],
    [duration, '1h30m', /is not a duration/],
    [time, '', /is not a time/],
    [time, '2030-01-31', /is not a time/],
    [time, '2030-13-31T08:00:00Z', /is not a time/],
    [time, '0x10', /is not a time/],
    [httpUrl, 'ftp://u:p@x', /^is not an http or https URL/],
    [httpUrl, 'http://u:p@h', /user name or a password/],
    [masterUrl, 'http://h/?token=x', /query or a fragment/],
    [masterUrl, 'http://u:p@h', /user name or a password/],
    [kubeName, 'Team', /not a valid Kubernetes name/],
    [kubeName, '', /not a valid Kubernetes name/],
    [kubeName, 'a'.repeat(64), /not a valid Kubernetes name/],
    [kubeNames, 'a,b/c', /"b\/c" is not a valid Kubernetes name/],
    [workerId, 'a/b', /not a valid worker ID/],
    [workerId, '..', /not a valid worker ID/],
    [workerLabels, 'zone', /^"zone" is not KEY=VALUE; for example zone=eu-1,tier=spot$/],
    [workerLabels, 'zone=a,,tier=b', /^"" is not KEY=VALUE/],
    [workerLabels, 'tier=spot,Zone=eu-1', /^"Zone=eu-1" has an invalid key: use 1 to 63 lower-case letters/],
    [workerLabels, '=eu-1', /^"=eu-1" has an invalid key/],
    [workerLabels, `${'k'.repeat(64)}=v`, /has an invalid key/],
    [workerLabels, 'zone=ü', /^"zone=ü" has an invalid value: use at most 63 printable ASCII characters/],
    [workerLabels, `zone=${'v'.repeat(64)}`, /has an invalid value/],
    [workerLabels, 'zone=a,zone=b', /^has the key of "zone=b" twice/],
    [workerLabels, Array.from({ length: 17 }, (_, i) => `k${i}=v`).join(','), /^has 17 labels; at most 16/],
    [backendUrl, 'postgres://h/db', /scheme "postgres" is not known; known: memory, mem, filedb, kvstore/],
    [backendUrl, 'filedb://', /needs the path/],
    [backendUrl, 'memory://x', /must not be followed/],
    [backendUrl, 'x', /not a URL/],
  ])('%p rejects %j (D2, D34)', (read, value, problem) => {
    expect(() => read(value)).toThrow(problem)
  })

  it.each([
    ['zone=eu-1,tier=spot', { zone: 'eu-1', tier: 'spot' }],
    [' zone=eu-1 , example.com/tier= ', { zone: 'eu-1', 'example.com/tier': '' }],
    ['a=b=c', { a: 'b=c' }],
    ['', {}],
  ])('workerLabels reads %j (D136)', (value, labels) => {
    expect(workerLabels(value)).toEqual(labels)
  })
})
