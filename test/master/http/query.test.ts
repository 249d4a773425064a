import { describe, expect, it } from '@jest/globals'
import { Type } from 'typebox'
import { queryReader } from '../../../src/master/http/query.ts'
import { FleetError, N, StatsQuery, Strict, WorkersQuery } from '../../../src/protocol/index.ts'

const read = queryReader(
  Strict({
    n: Type.Optional(Type.Integer({ ...N, default: 20 })),
    since: Type.Optional(Type.Number({ minimum: 0 })),
    connected: Type.Optional(Type.Boolean()),
  }),
)
const pathsOf = (search: string, reader = read): readonly string[] => {
  try {
    reader(search)
    return []
  } catch (error) {
    if (!(error instanceof FleetError) || typeof error.detail === 'string') throw error
    return error.detail.map(({ path }) => path)
  }
}

describe('a query', () => {
  it('is parsed by its schema, including defaults', () => {
    expect(read('')).toEqual({ n: 20 })
    expect(read('n=7&since=1.5&connected=true')).toEqual({ n: 7, since: 1.5, connected: true })
    expect(queryReader(StatsQuery)('')).toEqual({ since: 0, limit: 240 })
    expect(queryReader(WorkersQuery)('state=IDLE&after=w%2F1&view=summary')).toEqual({
      state: 'IDLE',
      after: 'w/1',
      view: 'summary',
    })
  })

  it.each([
    '-1',
    '0',
    '1.5',
    '1.0',
    'NaN',
    '1e3',
    '1e18',
    '10001',
    '99999999999999999999',
    '%205',
    '5%20',
    '+5',
    '0x10',
    '"5"',
    'null',
    '',
    'Infinity',
    '٣',
  ])('refuses n=%s and names the field (D9)', (value) => {
    expect(pathsOf(`n=${value.replace('+', '%2B')}`)).toEqual(['/n'])
  })

  it.each(['-1', '-1e3', 'NaN', '1e400', '1e', '1e3.5', 'e3', 'Infinity', '.5', '5.', '+5', ''])(
    'refuses since=%s and names the field (D9)',
    (value) => expect(pathsOf(`since=${value}`)).toEqual(['/since']),
  )

  it.each([
    ['1.7953946295E9', 1_795_394_629.5],
    ['1e0', 1],
    ['5E-1', 0.5],
    ['1e+3', 1_000],
    ['0', 0],
  ])('accepts since=%s as %d, in every format of a double (D76)', (text, number) => {
    expect(read(`since=${encodeURIComponent(text)}`)).toMatchObject({ since: number })
  })

  it.each(['1', 'True', 'yes', ''])('refuses connected=%s', (value) =>
    expect(pathsOf(`connected=${value}`)).toEqual(['/connected']),
  )

  it('refuses a duplicate parameter', () => expect(pathsOf('n=1&n=1')).toEqual(['/n']))

  it('accepts an array parameter any number of times', () => {
    const topics = queryReader(Strict({ topic: Type.Array(Type.String(), { minItems: 1 }) }))
    expect(topics('topic=a&topic=b')).toEqual({ topic: ['a', 'b'] })
    expect(pathsOf('', topics)).toEqual(['/topic'])
  })

  it('ignores unknown parameters, including forbidden names (S7)', () => {
    expect(read('_=123&__proto__=x&constructor=y&n=3')).toEqual({ n: 3 })
    expect(pathsOf('n[a]=5')).toEqual([])
  })
})
