/** `muster explain`, with the first-party automations and with schemas of every form (D213). */
import { describe, expect, it } from '@jest/globals'
import { buildCatalog, defineBatch, Type } from '../../../src/automation/index.ts'
import { httpProbe, httpRequest } from '../../../src/automations/index.ts'
import { SchemaFields } from '../../../src/cmd/admin/schema-fields.ts'
import { runMaster } from '../../kit/running-master.ts'
import { cells, lines, muster } from './fixture.ts'

const start = () => runMaster({ catalog: buildCatalog([httpProbe, httpRequest]) })
const firstWords = (out: string) => cells(out).map(([first]) => first)

describe('muster explain', () => {
  it('lists the fields of a config: type, default, range, secret and meaning', async () => {
    const { url } = await start()
    const { code, out } = await muster(url, 'explain http-request')
    const [head, ...rows] = cells(out)
    expect([code, head]).toEqual([0, ['FIELD', 'TYPE', 'DEFAULT', 'RANGE', 'SECRET', 'MEANING']])
    expect(rows).toContainEqual(['slots', 'integer', '1', expect.stringMatching(/^0\.\.\d+$/), '-', expect.any(String)])
    expect(rows.find(([name]) => name === 'authorization')?.[4]).toBe('yes')
  })

  it('cuts a long pattern in the list, and shows all of it for one field', async () => {
    const { url } = await start()
    const list = await muster(url, 'explain http-probe')
    expect(list.out).toMatch(/^allow_cidrs .*pattern \S+… /m)
    expect(Math.max(...lines(list.out).map(({ length }) => length))).toBeLessThan(300)
    expect((await muster(url, 'explain http-probe.allow_cidrs')).out).toMatch(/range .*pattern \S+\$$/m)
  })

  it('shows one field, and the fields below it, through the items of a list', async () => {
    const { url } = await start()
    const { out } = await muster(url, 'explain http-probe.targets')
    expect(lines(out).slice(0, 4)).toEqual([
      'http-probe.targets',
      '  type      list of object',
      '  required  no',
      '  default   []',
    ])
    expect(firstWords(out)).toEqual(expect.arrayContaining(['targets.url (required)']))
    const name = await muster(url, 'explain http-probe.targets.url')
    expect(name.out).toMatch(/^http-probe\.targets\.url\n {2}type {6}string\n {2}required {2}yes\n/)
    for (const same of ['targets[].url', 'targets[*].url', 'targets[0].url'])
      expect((await muster(url, `explain http-probe.${same}`)).out).toBe(name.out)
  })

  it('describes payload and output', async () => {
    const { url } = await start()
    expect(firstWords((await muster(url, 'explain http-request --payload')).out)).toContain('url (required)')
    expect((await muster(url, 'explain http-request.method --payload')).out).toContain('"GET" | ')
    expect((await muster(url, 'explain http-probe.target --output-schema')).out).toContain('type      string')
    const none = await muster(url, 'explain http-probe --payload')
    expect([none.code, none.err]).toEqual([3, expect.stringContaining('"http-probe" takes no tasks')])
    expect((await muster(url, 'explain http-probe --payload --output-schema')).code).toBe(2)
  })

  it('names the near ones of an unknown field and of an unknown type', async () => {
    const { url } = await start()
    expect(await muster(url, 'explain http-probe.slot')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining(
        'http-probe.slot  is not known: http-probe has no field "slot"; did you mean slots?',
      ),
    })
    expect((await muster(url, 'explain http-probe.targets.urls')).err).toContain('did you mean url?')
    expect((await muster(url, 'explain http-probe.nothing-like-it')).err).toContain('; it has enabled, ')
    expect((await muster(url, 'explain http-probe.slots.more')).err).toContain('http-probe.slots has no fields')
    expect(await muster(url, 'explain http-prob')).toMatchObject({
      code: 3,
      err: expect.stringContaining('no automation "http-prob" is installed; did you mean http-probe?'),
    })
    expect((await muster(url, 'explain HTTP')).code).toBe(2)
  })

  it('has the other output formats', async () => {
    const { url } = await start()
    const { fields } = JSON.parse((await muster(url, 'explain http-probe --recursive -o json')).out) as {
      fields: { name: string; field: string }[]
    }
    expect(fields).toContainEqual(
      expect.objectContaining({ name: 'http-probe.targets.url', field: 'targets.url', type: 'string', required: true }),
    )
    const names = lines((await muster(url, 'explain http-probe -o name')).out)
    expect(names).toContain('http-probe.targets')
    for (const name of names) expect(await muster(url, ['explain', name])).toMatchObject({ code: 0 })
    expect((await muster(url, ['explain', 'http-probe.slots', '-o', 'jsonpath=$.default'])).out).toBe('1\n')
  })

  it('shows what a plugin declares, without letting it control the terminal', async () => {
    const catalog = buildCatalog([
      defineBatch({
        type: 'mailer',
        payload: Type.Object({ to: Type.String({ description: 'a\u001b[31m\nb' }) }),
        output: Type.Object({}),
        run: async () => {},
      }),
    ])
    const { url } = await runMaster({ catalog })
    const { out } = await muster(url, 'explain mailer.to --payload')
    expect(out).toContain('meaning   a [31m b\n')
  })
})

describe('the fields of a schema', () => {
  const fields = new SchemaFields({
    type: 'object',
    required: ['kind'],
    properties: {
      kind: { anyOf: [{ const: 'a' }, { const: 'b' }] },
      either: { anyOf: [{ type: 'object', properties: { left: { type: 'string' } } }, { type: 'null' }] },
      map: { type: 'object', additionalProperties: { type: 'object', properties: { size: { type: 'integer' } } } },
      keys: { type: 'object', patternProperties: { '^x': { type: 'number', exclusiveMinimum: 0 } } },
      login: { type: 'object', writeOnly: true, properties: { password: { type: 'string', minLength: 8 } } },
      token: { anyOf: [{ type: 'string', writeOnly: true }, { type: 'null' }] },
      tree: { $ref: '#/$defs/tree' },
      'a.b': { type: 'array', items: { enum: [1, 'x'] }, maxItems: 3 },
    },
    $defs: { tree: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/tree' } } } } },
  })
  const at = (...path: readonly string[]) => fields.at(path)

  it('are found through alternatives, maps, references and lists', () => {
    expect(at('kind')).toMatchObject({ type: 'string', range: '"a" | "b"', required: true })
    expect(at('either')?.type).toBe('object | null')
    expect(at('either', 'left')?.type).toBe('string')
    expect(at('map', 'any', 'size')?.type).toBe('integer')
    expect(at('keys', 'x-1')).toMatchObject({ type: 'number', range: 'above 0' })
    expect(at('tree', 'children', 'children', 'children')?.type).toBe('list of object')
    expect(at('a.b')).toMatchObject({ type: 'list of number | string', range: 'at most 3 items, each 1 | "x"' })
    expect(at('tree', 'nothing')).toBeUndefined()
  })

  it('are secret if they, or what contains them, are', () => {
    expect(at('login')?.secret).toBe(true)
    expect(at('login', 'password')).toMatchObject({ secret: true, range: 'at least 8 characters' })
    expect(at('token')?.secret).toBe(true)
    expect(at('map')?.secret).toBe(false)
  })

  it('of a schema that refers to itself are listed once', () => {
    const paths = fields.below([], true).map(({ path }) => path.join('/'))
    expect(paths.filter((path) => path.startsWith('tree'))).toEqual(['tree', 'tree/children', 'tree/children/children'])
  })
})
