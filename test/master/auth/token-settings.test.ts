import { describe, expect, it } from '@jest/globals'
import {
  generateToken,
  parseTokens,
  readTokens,
  tokenWarnings,
  type TokenReading,
} from '../../../src/master/auth/index.ts'
import { seededRandom } from '../../../src/runtime/index.ts'

const SECRET = 'canary-3f9c-secret'
const parse = (environment: Parameters<typeof parseTokens>[0]): TokenReading =>
  parseTokens(environment, { allowShort: true })
const faultsOf = (reading: TokenReading): readonly string[] =>
  reading.kind === 'invalid' ? reading.faults.map(({ problem }) => problem) : []
const settingsOf = (reading: TokenReading): readonly string[] =>
  reading.kind === 'invalid' ? reading.faults.map(({ name }) => name) : []
const tokensOf = (reading: TokenReading) => {
  if (reading.kind === 'invalid') throw new Error(faultsOf(reading).join('; '))
  return reading.tokens
}

describe('parseTokens', () => {
  it('reads every form of token setting', () => {
    expect(
      tokensOf(
        parse({
          SVC_ADMIN_TOKEN: 'a',
          SVC_WORKER_TOKEN: 'w',
          SVC_WORKER_TOKENS: ' x , y',
          SVC_TOKEN_SCOPES: '{"s": ["mailer", "*"]}',
        }),
      ),
    ).toEqual({
      admin: 'a',
      worker: 'w',
      workerPeers: ['x', 'y'],
      scopes: new Map([['s', ['mailer', '*']]]),
      named: [],
    })
    expect(tokensOf(parse({ SVC_SCALER_TOKEN: 's' }))).toMatchObject({ admin: null, scaler: 's' })
    expect(tokensOf(parse({ SVC_WORKER_TOKENS: '["x", "y"]' })).workerPeers).toEqual(['x', 'y'])
    expect(tokensOf(parse({}))).toEqual({ admin: null, worker: null, workerPeers: [], scopes: new Map(), named: [] })
  })

  it.each([
    [{ SVC_ADMIN_TOKEN: '' }, 'SVC_ADMIN_TOKEN is empty'],
    [{ SVC_SCALER_TOKEN: '' }, 'SVC_SCALER_TOKEN is empty'],
    [{ SVC_ADMIN_TOKEN: SECRET, SVC_SCALER_TOKEN: SECRET }, 'SVC_SCALER_TOKEN and SVC_ADMIN_TOKEN are the same token'],
    [{ SVC_ADMIN_TOKEN: `${SECRET} two` }, 'SVC_ADMIN_TOKEN contains a space'],
    [{ SVC_WORKER_TOKEN: `${SECRET}é` }, 'SVC_WORKER_TOKEN contains a space or a non-ASCII character'],
    [{ SVC_WORKER_TOKEN: SECRET.repeat(300) }, 'SVC_WORKER_TOKEN is longer'],
    [{ SVC_WORKER_TOKENS: `${SECRET},,x` }, 'entry 2 of SVC_WORKER_TOKENS is empty'],
    [{ SVC_WORKER_TOKENS: `["${SECRET}", 5]` }, 'SVC_WORKER_TOKENS is not a list'],
    [{ SVC_WORKER_TOKENS: `["${SECRET}"` }, 'SVC_WORKER_TOKENS is not a list'],
    [{ SVC_TOKEN_SCOPES: `{"${SECRET}": ` }, 'SVC_TOKEN_SCOPES is not a JSON object'],
    [{ SVC_TOKEN_SCOPES: `["${SECRET}"]` }, 'SVC_TOKEN_SCOPES is not a JSON object'],
    [{ SVC_TOKEN_SCOPES: `{"x": ["a"], "${SECRET}": "mailer"}` }, 'entry 2 of SVC_TOKEN_SCOPES does not list'],
    [{ SVC_TOKEN_SCOPES: `{"${SECRET}": ["Not A Type"]}` }, 'entry 1 of SVC_TOKEN_SCOPES does not list'],
    [{ SVC_ADMIN_TOKEN: SECRET, SVC_WORKER_TOKEN: SECRET }, 'SVC_WORKER_TOKEN and SVC_ADMIN_TOKEN are the same token'],
    [
      { SVC_WORKER_TOKEN: SECRET, SVC_TOKEN_SCOPES: `{"${SECRET}": ["a"]}` },
      'entry 1 of SVC_TOKEN_SCOPES and SVC_WORKER_TOKEN are the same token',
    ],
  ])('rejects fault %#, names the setting and does not repeat the token (D21)', (environment, sentence) => {
    const faults = faultsOf(parse(environment))
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(sentence)
    expect(faults.join()).not.toContain(SECRET)
  })

  it('reports all faults together', () => {
    expect(faultsOf(parse({ SVC_ADMIN_TOKEN: '', SVC_WORKER_TOKENS: '[', SVC_TOKEN_SCOPES: '5' }))).toHaveLength(3)
    expect(faultsOf(parse({ SVC_ADMIN_TOKEN: SECRET, SVC_WORKER_TOKEN: SECRET, SVC_TOKEN_SCOPES: '{' }))).toEqual([
      expect.stringContaining('SVC_TOKEN_SCOPES is not a JSON object'),
      'SVC_WORKER_TOKEN and SVC_ADMIN_TOKEN are the same token; each role needs its own',
    ])
    expect(faultsOf(parse({ SVC_ADMIN_TOKEN: '', SVC_WORKER_TOKEN: '' }))).toEqual([
      'SVC_ADMIN_TOKEN is empty',
      'SVC_WORKER_TOKEN is empty',
    ])
  })

  it('returns the name of the setting with each fault', () => {
    expect(settingsOf(parse({ SVC_WORKER_TOKENS: `${SECRET},,x`, SVC_TOKENS: '5' }))).toEqual([
      'SVC_WORKER_TOKENS',
      'SVC_TOKENS',
    ])
    expect(settingsOf(parse({ SVC_ADMIN_TOKEN: SECRET, SVC_WORKER_TOKENS: SECRET }))).toEqual(['SVC_WORKER_TOKENS'])
  })

  it('allows a worker token to be listed twice, as during a rotation', () => {
    expect(faultsOf(parse({ SVC_WORKER_TOKEN: 'w', SVC_WORKER_TOKENS: 'w,x' }))).toEqual([])
  })
})

describe('SVC_TOKENS (D86)', () => {
  const DIGEST = 'ab'.repeat(32)
  const entry = { name: 'ci', role: 'producer', types: ['mailer'], sha256: DIGEST }

  it('reads name, types, permissions and digest of each entry', () => {
    expect(
      tokensOf(
        parse({
          SVC_TOKENS: JSON.stringify([
            entry,
            { name: 'on-call', permissions: ['read', 'operate'], types: ['*'], token: SECRET },
          ]),
        }),
      ).named,
    ).toEqual([
      { name: 'ci', types: ['mailer'], permissions: ['submit'], sha256: DIGEST },
      {
        name: 'on-call',
        types: ['*'],
        permissions: ['read', 'operate'],
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ])
    expect(tokensOf(parse({ SVC_TOKENS: ' ' })).named).toEqual([])
  })

  it('reads workers, expiry and rate; a date ends with its day in UTC (D227, D228)', () => {
    const limits = (more: object) => tokensOf(parse({ SVC_TOKENS: JSON.stringify([{ ...entry, ...more }]) })).named?.[0]
    expect(limits({ workers: ['team-a-*', 'm-7', '*'], submit_rps: 0.5 })).toMatchObject({
      workers: ['team-a-*', 'm-7', '*'],
      submitRps: 0.5,
    })
    for (const [expires, moment] of [
      ['2027-01-31', '2027-02-01T00:00:00Z'],
      ['2028-02-29', '2028-03-01T00:00:00Z'],
      ['2027-01-31T18:00:00Z', '2027-01-31T18:00:00Z'],
      ['2027-01-31T18:00+02:00', '2027-01-31T16:00:00Z'],
    ] as const)
      expect([expires, limits({ expires })]).toEqual([
        expires,
        expect.objectContaining({ expiresAtMs: Date.parse(moment) }),
      ])
    expect(limits({ role: 'worker' })).toMatchObject({ permissions: ['work'] })
  })

  it.each([
    ['{', 'SVC_TOKENS is not a JSON list of tokens'],
    [{ ...entry }, 'SVC_TOKENS is not a JSON list of tokens'],
    [[entry, SECRET], 'entry 2 of SVC_TOKENS is not a JSON object'],
    [[{ ...entry, name: 'Not A Name' }], 'entry 1 of SVC_TOKENS needs "name"'],
    [[entry, { ...entry, sha256: 'cd'.repeat(32) }], 'two entries of SVC_TOKENS have the same name'],
    [[{ ...entry, permissions: ['read'] }], 'entry 1 of SVC_TOKENS needs either "role" or "permissions"'],
    [[{ ...entry, role: undefined }], 'entry 1 of SVC_TOKENS needs either "role" or "permissions"'],
    [
      [{ ...entry, role: 'admin' }],
      'entry 1 of SVC_TOKENS has an unknown role; known: viewer, responder, producer, editor',
    ],
    [[{ ...entry, role: undefined, permissions: ['fleet'] }], 'entry 1 of SVC_TOKENS does not list permissions'],
    [[{ ...entry, role: undefined, permissions: [] }], 'entry 1 of SVC_TOKENS does not list permissions'],
    [[{ ...entry, types: undefined }], 'entry 1 of SVC_TOKENS does not list automation types'],
    [[{ ...entry, types: ['Not A Type'] }], 'entry 1 of SVC_TOKENS does not list automation types'],
    [[{ ...entry, token: SECRET }], 'entry 1 of SVC_TOKENS needs either "token" or "sha256"'],
    [[{ ...entry, sha256: SECRET }], 'the sha256 in entry 1 of SVC_TOKENS is not 64 hex digits'],
    [[{ ...entry, sha256: undefined, token: `${SECRET} two` }], 'the token in entry 1 of SVC_TOKENS contains a space'],
    [[{ ...entry, tenant: 'team-a' }], 'entry 1 of SVC_TOKENS has an unknown key; known: name, role'],
    ...[[], ['a*b'], ['**'], ['a/b'], [7], 'team-a-*'].map((workers): [object[], string] => [
      [{ ...entry, workers }],
      '"workers" in entry 1 of SVC_TOKENS is not a list of worker ids, in which only the last character may be "*"; ' +
        'for example ["team-a-*"]; leave it out to cover every worker',
    ]),
    ...['soon', '2027-02-30', '2027-1-1', '2027-01-31T18:00', '2027-01-31T25:00:00Z', 1_800_000_000].map(
      (expires): [object[], string] => [
        [{ ...entry, expires }],
        '"expires" in entry 1 of SVC_TOKENS is not a date or a date-time with a time zone; for example "2027-01-31"',
      ],
    ),
    ...[0, -1, '50', null, 1_000_001].map((rate): [object[], string] => [
      [{ ...entry, submit_rps: rate }],
      '"submit_rps" in entry 1 of SVC_TOKENS is not a number above 0 and up to 1000000; leave it out',
    ]),
    [[entry, { ...entry, name: 'cd' }], 'an entry of SVC_TOKENS and an entry of SVC_TOKENS are the same token'],
  ])('rejects fault %# and does not repeat the token', (value, sentence) => {
    const faults = faultsOf(parse({ SVC_TOKENS: typeof value === 'string' ? value : JSON.stringify(value) }))
    expect(faults).toEqual([expect.stringContaining(sentence)])
    expect(faults.join()).not.toContain(SECRET)
  })

  it('rejects a token that another setting assigns to another role', () => {
    const named = JSON.stringify([{ ...entry, sha256: undefined, token: SECRET }])
    expect(faultsOf(parse({ SVC_ADMIN_TOKEN: SECRET, SVC_TOKENS: named }))).toEqual([
      'an entry of SVC_TOKENS and SVC_ADMIN_TOKEN are the same token; each needs its own',
    ])
  })
})

describe('a token of fewer than 16 characters', () => {
  const SHORT = 'fifteen-charact'

  it.each([
    [{ SVC_ADMIN_TOKEN: SHORT }, 'SVC_ADMIN_TOKEN'],
    [{ SVC_WORKER_TOKEN: SHORT }, 'SVC_WORKER_TOKEN'],
    [{ SVC_WORKER_TOKENS: `${SECRET},${SHORT}` }, 'entry 2 of SVC_WORKER_TOKENS'],
    [{ SVC_TOKEN_SCOPES: `{"${SHORT}": ["mailer"]}` }, 'entry 1 of SVC_TOKEN_SCOPES'],
    [
      { SVC_TOKENS: `[{"name": "ci", "role": "viewer", "types": ["*"], "token": "${SHORT}"}]` },
      'the token in entry 1 of SVC_TOKENS',
    ],
  ])('is refused unless SVC_ALLOW_SHORT_TOKENS is set: %#', (environment, where) => {
    expect(faultsOf(parseTokens(environment))).toEqual([
      `${where} is shorter than 16 characters and can be guessed; use a longer one, or set SVC_ALLOW_SHORT_TOKENS=1`,
    ])
    expect(faultsOf(parseTokens(environment, { allowShort: true }))).toEqual([])
  })

  it('is accepted with one more character', () => {
    expect(faultsOf(parseTokens({ SVC_ADMIN_TOKEN: `${SHORT}s` }))).toEqual([])
  })
})

describe('readTokens', () => {
  const files: Record<string, string> = { '/admin': 'from-file\n', '/crlf': 'from-file\r\n', '/empty': '\n' }
  const read = (path: string): Promise<string> => {
    const text = files[path]
    return text === undefined ? Promise.reject(new Error(`ENOENT ${path}`)) : Promise.resolve(text)
  }

  it('reads the value from the file, without the trailing line break (D22)', async () => {
    expect(tokensOf(await readTokens({ SVC_ADMIN_TOKEN_FILE: '/admin' }, read, { allowShort: true })).admin).toBe(
      'from-file',
    )
    expect(tokensOf(await readTokens({ SVC_ADMIN_TOKEN_FILE: '/crlf' }, read, { allowShort: true })).admin).toBe(
      'from-file',
    )
  })

  it('rejects an unreadable file, an empty file and a setting given twice', async () => {
    expect(faultsOf(await readTokens({ SVC_ADMIN_TOKEN_FILE: '/nowhere' }, read, { allowShort: true }))).toEqual([
      'SVC_ADMIN_TOKEN_FILE cannot be read',
    ])
    expect(faultsOf(await readTokens({ SVC_ADMIN_TOKEN_FILE: '/empty' }, read, { allowShort: true }))).toEqual([
      'SVC_ADMIN_TOKEN is empty',
    ])
    expect(
      faultsOf(await readTokens({ SVC_ADMIN_TOKEN_FILE: '/admin', SVC_ADMIN_TOKEN: 'x' }, read, { allowShort: true })),
    ).toEqual(['SVC_ADMIN_TOKEN and SVC_ADMIN_TOKEN_FILE are both set; leave one of them out'])
  })
})

describe('tokenWarnings', () => {
  it('warns about short tokens and tokens that need URL encoding, without showing them', () => {
    const warnings = tokenWarnings(
      tokensOf(parse({ SVC_ADMIN_TOKEN: 'short', SVC_WORKER_TOKEN: 'long-enough-but+encoded' })),
    )
    expect(warnings).toEqual([
      'SVC_ADMIN_TOKEN is shorter than 16 characters and can be guessed',
      'SVC_WORKER_TOKEN needs URL-encoding and does not work as ?token= of the control channel',
    ])
  })

  it('returns no warnings for a generated token', () => {
    const token = generateToken(seededRandom(1))
    expect(token).toHaveLength(43)
    expect(tokenWarnings(tokensOf(parse({ SVC_ADMIN_TOKEN: token })))).toEqual([])
  })
})
