import { describe, expect, it } from '@jest/globals'
import { parseTokens, type TokenReading } from '../../../../src/master/auth/index.ts'

const RULE = { when: { '/groups': 'sre' }, role: 'viewer', types: ['*'] }
const ENTRY = { name: 'corp', issuer: 'https://idp.example', audience: 'muster', rules: [RULE] }
const parse = (value: unknown): TokenReading => parseTokens({ SVC_JWT_ISSUERS: JSON.stringify(value) })
const faultsOf = (value: unknown): readonly string[] => {
  const reading = parse(value)
  return reading.kind === 'invalid' ? reading.faults.map(({ name, problem }) => `${name}: ${problem}`) : []
}
const issuersIn = (value: unknown) => {
  const reading = parse(value)
  return reading.kind === 'valid' ? reading.tokens.issuers : reading.faults
}

describe('SVC_JWT_ISSUERS (D230)', () => {
  it('reads issuers with defaults', () => {
    expect(issuersIn([ENTRY])).toEqual([
      {
        name: 'corp',
        issuer: 'https://idp.example',
        audience: 'muster',
        algorithms: ['RS256', 'ES256'],
        keys: { kind: 'discovery' },
        actorClaim: '/sub',
        leewaySeconds: 30,
        rules: [{ when: [['/groups', 'sre']], permissions: ['read'], types: ['*'], workers: ['*'], workerClaim: null }],
      },
    ])
    expect(issuersIn([{ ...ENTRY, jwks_url: null, jwks_file: '/keys' }])).toMatchObject([
      { keys: { kind: 'file', path: '/keys' } },
    ])
    expect(
      issuersIn([{ ...ENTRY, issuer: 'http://127.0.0.1:9000', jwks_url: 'http://localhost:9000/k' }]),
    ).toMatchObject([{ keys: { kind: 'url', url: 'http://localhost:9000/k' } }])
    expect(issuersIn([])).toEqual([])
  })

  it.each<[unknown, string]>([
    [{}, 'is not a JSON list of at most 20 issuers'],
    ['x', 'is not a JSON list of at most 20 issuers'],
    [[7], 'entry 1 of SVC_JWT_ISSUERS is not a JSON object'],
    [[{ ...ENTRY, tenant: 'a' }], 'entry 1 of SVC_JWT_ISSUERS has an unknown key; known: name, issuer'],
    [[{ ...ENTRY, name: 'Corp IdP' }], '"name" in entry 1 of SVC_JWT_ISSUERS must be 1 to 63'],
    [[{ ...ENTRY, issuer: 'http://idp.example' }], '"issuer" in entry 1 of SVC_JWT_ISSUERS must be an https:// URL'],
    [
      [{ ...ENTRY, issuer: 'https://user:password@idp.example' }],
      '"issuer" in entry 1 of SVC_JWT_ISSUERS must be an https',
    ],
    [
      [{ ...ENTRY, issuer: 'http://127.0.0.1.evil.example' }],
      '"issuer" in entry 1 of SVC_JWT_ISSUERS must be an https',
    ],
    [[{ ...ENTRY, audience: '' }], '"audience" in entry 1 of SVC_JWT_ISSUERS must be the text'],
    [[{ ...ENTRY, algorithms: ['none'] }], '"algorithms" in entry 1 of SVC_JWT_ISSUERS must list some of RS256'],
    [[{ ...ENTRY, algorithms: ['HS256'] }], '"algorithms" in entry 1 of SVC_JWT_ISSUERS must list some of RS256'],
    [[{ ...ENTRY, algorithms: [] }], '"algorithms" in entry 1 of SVC_JWT_ISSUERS must list some of RS256'],
    [
      [{ ...ENTRY, jwks_url: 'file:///etc/passwd' }],
      '"jwks_url" in entry 1 of SVC_JWT_ISSUERS must be an https:// URL',
    ],
    [
      [{ ...ENTRY, jwks_url: 'https://a', jwks_file: '/k' }],
      'has both "jwks_url" and "jwks_file"; leave one of them out',
    ],
    [[{ ...ENTRY, actor_claim: 'email' }], '"actor_claim" in entry 1 of SVC_JWT_ISSUERS must be a JSON pointer'],
    [
      [{ ...ENTRY, leeway_seconds: 3_600 }],
      '"leeway_seconds" in entry 1 of SVC_JWT_ISSUERS must be a number from 0 to 300',
    ],
    [[{ ...ENTRY, rules: [] }], '"rules" in entry 1 of SVC_JWT_ISSUERS must be a list of 1 to 200 rules'],
    [[{ ...ENTRY, rules: [{ ...RULE, matches: '.*' }] }], 'rule 1 in entry 1 of SVC_JWT_ISSUERS has an unknown key'],
    [[{ ...ENTRY, rules: [{ ...RULE, when: undefined }] }], '"when" in rule 1 in entry 1 of SVC_JWT_ISSUERS must map'],
    [
      [{ ...ENTRY, rules: [{ ...RULE, when: { groups: 'a' } }] }],
      '"when" in rule 1 in entry 1 of SVC_JWT_ISSUERS must map',
    ],
    [[{ ...ENTRY, rules: [{ ...RULE, when: { '/a': 'b*c' } }] }], 'a "*" may only end a text'],
    [
      [{ ...ENTRY, rules: [{ ...RULE, when: { '/a': ['b'] } }] }],
      '"when" in rule 1 in entry 1 of SVC_JWT_ISSUERS must map',
    ],
    [
      [{ ...ENTRY, rules: [{ ...RULE, role: 'root' }] }],
      '"role" in rule 1 in entry 1 of SVC_JWT_ISSUERS must be one of viewer',
    ],
    [[{ ...ENTRY, rules: [{ ...RULE, permissions: ['read'] }] }], 'needs either "role" or "permissions"'],
    [
      [{ ...ENTRY, rules: [{ ...RULE, types: undefined }] }],
      '"types" in rule 1 in entry 1 of SVC_JWT_ISSUERS must list',
    ],
    [[{ ...ENTRY, rules: [{ ...RULE, role: 'admin' }] }], 'limits the role admin, which covers everything'],
    [
      [{ ...ENTRY, rules: [{ ...RULE, workers: ['a*b'] }] }],
      '"workers" in rule 1 in entry 1 of SVC_JWT_ISSUERS must list',
    ],
    [[{ ...ENTRY, rules: [{ ...RULE, worker_claim: '/p', workers: ['a'] }] }], 'excludes "workers"'],
    [[ENTRY, { ...ENTRY, name: 'b' }], 'two entries of SVC_JWT_ISSUERS have the same "issuer"'],
    [[ENTRY, { ...ENTRY, issuer: 'https://b' }], 'two entries of SVC_JWT_ISSUERS have the same "name"'],
  ])('rejects fault %#', (value, sentence) => {
    expect(faultsOf(value)).toEqual([expect.stringContaining(sentence)])
    expect(faultsOf(value)[0]).toMatch(/^SVC_JWT_ISSUERS: /)
  })
})
