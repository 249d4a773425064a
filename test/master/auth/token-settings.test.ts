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
const faultsOf = (reading: TokenReading): readonly string[] => ('faults' in reading ? reading.faults : [])
const tokensOf = (reading: TokenReading) => {
  if ('faults' in reading) throw new Error(reading.faults.join('; '))
  return reading.tokens
}

describe('parseTokens', () => {
  it('reads every form', () => {
    expect(
      tokensOf(
        parseTokens({
          SVC_ADMIN_TOKEN: 'a',
          SVC_WORKER_TOKEN: 'w',
          SVC_WORKER_TOKENS: ' x , y',
          SVC_TOKEN_SCOPES: '{"s": ["mailer", "*"]}',
        }),
      ),
    ).toEqual({ admin: 'a', worker: 'w', workerPeers: ['x', 'y'], scopes: new Map([['s', ['mailer', '*']]]) })
    expect(tokensOf(parseTokens({ SVC_WORKER_TOKENS: '["x", "y"]' })).workerPeers).toEqual(['x', 'y'])
    expect(tokensOf(parseTokens({}))).toEqual({ admin: null, worker: null, workerPeers: [], scopes: new Map() })
  })

  it.each([
    [{ SVC_ADMIN_TOKEN: '' }, 'SVC_ADMIN_TOKEN is empty'],
    [{ SVC_ADMIN_TOKEN: `${SECRET} two` }, 'SVC_ADMIN_TOKEN holds a space'],
    [{ SVC_WORKER_TOKEN: `${SECRET}é` }, 'SVC_WORKER_TOKEN holds a space or a character outside ASCII'],
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
  ])('refuses fault %#, by the name of the setting and without a token (D21)', (environment, sentence) => {
    const faults = faultsOf(parseTokens(environment))
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(sentence)
    expect(faults.join()).not.toContain(SECRET)
  })

  it('reports all faults together', () => {
    expect(faultsOf(parseTokens({ SVC_ADMIN_TOKEN: '', SVC_WORKER_TOKENS: '[', SVC_TOKEN_SCOPES: '5' }))).toHaveLength(
      3,
    )
    expect(faultsOf(parseTokens({ SVC_ADMIN_TOKEN: SECRET, SVC_WORKER_TOKEN: SECRET, SVC_TOKEN_SCOPES: '{' }))).toEqual(
      [
        expect.stringContaining('SVC_TOKEN_SCOPES is not a JSON object'),
        'SVC_WORKER_TOKEN and SVC_ADMIN_TOKEN are the same token; each role needs its own',
      ],
    )
    expect(faultsOf(parseTokens({ SVC_ADMIN_TOKEN: '', SVC_WORKER_TOKEN: '' }))).toEqual([
      'SVC_ADMIN_TOKEN is empty',
      'SVC_WORKER_TOKEN is empty',
    ])
  })

  it('allows one worker token to stand twice, as in the middle of a rotation', () => {
    expect(faultsOf(parseTokens({ SVC_WORKER_TOKEN: 'w', SVC_WORKER_TOKENS: 'w,x' }))).toEqual([])
  })
})

describe('readTokens', () => {
  const files: Record<string, string> = { '/admin': 'from-file\n', '/crlf': 'from-file\r\n', '/empty': '\n' }
  const read = (path: string): Promise<string> => {
    const text = files[path]
    return text === undefined ? Promise.reject(new Error(`ENOENT ${path}`)) : Promise.resolve(text)
  }

  it('takes the value from the file, without its line break (D22)', async () => {
    expect(tokensOf(await readTokens({ SVC_ADMIN_TOKEN_FILE: '/admin' }, read)).admin).toBe('from-file')
    expect(tokensOf(await readTokens({ SVC_ADMIN_TOKEN_FILE: '/crlf' }, read)).admin).toBe('from-file')
  })

  it('refuses an unreadable file, an empty one, and a setting given twice', async () => {
    expect(faultsOf(await readTokens({ SVC_ADMIN_TOKEN_FILE: '/nowhere' }, read))).toEqual([
      'SVC_ADMIN_TOKEN_FILE cannot be read',
    ])
    expect(faultsOf(await readTokens({ SVC_ADMIN_TOKEN_FILE: '/empty' }, read))).toEqual(['SVC_ADMIN_TOKEN is empty'])
    expect(faultsOf(await readTokens({ SVC_ADMIN_TOKEN_FILE: '/admin', SVC_ADMIN_TOKEN: 'x' }, read))).toEqual([
      'SVC_ADMIN_TOKEN and SVC_ADMIN_TOKEN_FILE are both set; leave one of them out',
    ])
  })
})

describe('tokenWarnings', () => {
  it('warns of short tokens and of those that need URL-encoding, without showing them', () => {
    const warnings = tokenWarnings(
      tokensOf(parseTokens({ SVC_ADMIN_TOKEN: 'short', SVC_WORKER_TOKEN: 'long-enough-but+encoded' })),
    )
    expect(warnings).toEqual([
      'SVC_ADMIN_TOKEN is shorter than 16 characters and can be guessed',
      'SVC_WORKER_TOKEN needs URL-encoding and does not work as ?token= of the control channel',
    ])
  })

  it('has nothing to say about a generated token', () => {
    const token = generateToken(seededRandom(1))
    expect(token).toHaveLength(43)
    expect(tokenWarnings(tokensOf(parseTokens({ SVC_ADMIN_TOKEN: token })))).toEqual([])
  })
})
