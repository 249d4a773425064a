/** The output formats beside table, json and yaml, and the tables without heads (D212). */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { NOUNS, optionsOf } from '../../../src/cmd/admin/index.ts'
import { compilePath } from '../../../src/cmd/admin/json-path.ts'
import { Printer } from '../../../src/cmd/admin/printer.ts'
import { withSourceNumbers } from '../../../src/protocol/index.ts'
import { emit, makeDead, register } from '../../client/fixture.ts'
import { freePort } from '../../kit/index.ts'
import { runMaster, type TestMaster } from '../../kit/running-master.ts'
import { cells, lines, muster } from './fixture.ts'

const TASKS = '/api/v1/automations/mailer/tasks'

let master: TestMaster
beforeEach(async () => {
  master = await runMaster()
})

const run = (words: string | readonly string[], terminal = {}) => muster(master.url, words, terminal)
const submit = (id: string) => master.call('POST', TASKS, { body: { task_id: id, payload: { to: 'ada' } } })

describe('-o name', () => {
  it('prints what later commands accept', async () => {
    for (const id of ['w1', 'w 2']) await register(master, id)
    const workers = lines((await run('workers ls -o name')).out)
    expect(workers).toEqual(['mailer/w 2', 'mailer/w1'])
    for (const verb of ['workers get', 'config get', 'workers drain'])
      for (const worker of workers)
        expect(await run([...verb.split(' '), worker, '-o', 'name'])).toMatchObject({ code: 0, out: `${worker}\n` })
    expect(await run(['workers', 'forget', 'mailer/w1', '--yes', '-o', 'name'])).toMatchObject({ out: 'mailer/w1\n' })
  })

  it('prints tasks, of several types with their type', async () => {
    expect(
      (await run(['tasks', 'submit', 'mailer', '--task-id', 'a', '--payload', '{"to":"b"}', '-o', 'name'])).out,
    ).toBe('a\n')
    await submit('b')
    expect((await run('tasks ls mailer -o name')).out).toBe('a\nb\n')
    expect((await run('queue ls mailer -o name -n 1')).out).toBe('a\n')
    expect((await run('tasks get mailer a -o name')).out).toBe('a\n')
    const [words = ''] = lines((await run('tasks find b -o name')).out)
    expect(words).toBe('mailer b')
    expect(await run(`tasks get ${words}`)).toMatchObject({ code: 0 })
    expect((await run('tasks cancel mailer b -o name')).out).toBe('b\n')
    expect((await run('queue pause mailer -o name')).out).toBe('mailer\n')
    expect((await run('queue resume mailer -o name')).out).toBe('mailer\n')
  })

  it('prints dead tasks and their groups, pools, automations and operations', async () => {
    await makeDead(master, ['a', 'b'])
    expect((await run('dead ls mailer -o name')).out).toBe('a\nb\n')
    const [group = ''] = lines((await run('dead groups mailer -o name')).out)
    expect(await run(`dead ls mailer --group ${group} -o name`)).toMatchObject({ code: 0, out: 'b\n' })
    expect((await run('pools ls -o name')).out).toBe('accounts\n')
    expect((await run('automations ls -o name')).out).toBe('mailer\nprobe\n')
    expect((await run('automations ls mailer -o name')).out).toBe('mailer\n')
    const created = await run('operations create mailer patch enabled=true --worker undertaker --yes -o name')
    const [operation = ''] = lines(created.out)
    expect(operation).toMatch(/^mailer\/\w+$/)
    expect((await run('operations ls -o name')).out).toBe(`${operation}\n`)
    expect((await run(`operations get ${operation} -o name`)).out).toBe(`${operation}\n`)
    expect((await run(`operations export ${operation} -o name`)).out).toBe('mailer/undertaker\n')
  })

  it('prints no line for a task that was rejected', async () => {
    const stdin = '{"payload":{"to":"a"},"task_id":"a"}\n{"payload":{"from":"b"},"task_id":"b"}'
    const ran = await run('tasks submit mailer -f - -o name', { stdin })
    expect(ran).toMatchObject({ code: 1, out: 'a\n', err: '1 of 2 tasks accepted, 1 rejected\n' })
  })

  it('prints nothing for an empty list', async () => {
    expect(await run('workers ls -o name')).toMatchObject({ code: 0, out: '' })
  })

  it('is rejected before any request by a verb that prints no names', async () => {
    for (const words of ['audit ls', 'alerts', 'why mailer', 'dead remove mailer --yes', 'output pop mailer --yes']) {
      const ran = await muster('http://127.0.0.1:9', `${words} -o name`)
      expect(ran).toMatchObject({ code: 2, out: '' })
      expect(ran.err).toContain('"name" is not possible')
    }
    expect((await muster('', 'audit ls --help')).out).not.toContain('|name|')
    expect((await muster('', 'workers ls --help')).out).toContain('-o name prints TYPE/ID')
  })
})

describe('-o wide', () => {
  it('adds columns to the table', async () => {
    await register(master, 'w1')
    const [head = [], row = []] = cells((await run('workers ls -o wide')).out)
    const [narrow = []] = cells((await run('workers ls')).out)
    expect(head.filter((name) => !narrow.includes(name))).toEqual([
      'HOST',
      'TASKS',
      'IN STATE SINCE',
      'REGISTERED',
      'CONFIG CHANGED',
      'CHANGED BY',
      'REVISION',
    ])
    expect(row[head.indexOf('HOST')]).toBe('test')
  })

  it('is a table for every verb, with its notes', async () => {
    await submit('a')
    expect(await run('queue ls mailer -o wide')).toMatchObject({
      out: expect.stringMatching(/^TASK .* GROUP /),
      err: '1 of 1\n',
    })
    expect((await run('workers ls -o wide')).code).toBe(0)
    expect((await run('tasks ls mailer -o wide')).out).toMatch(/^TASK .*PRIORITY/)
  })
})

describe('--no-headers', () => {
  it('leaves out the heads of tables, also of those that are printed page by page', async () => {
    await register(master, 'w1')
    for (const id of ['a', 'b']) await submit(id)
    expect((await run('workers ls --no-headers')).out).toMatch(/^mailer\/w1 {2}IDLE {2}/)
    expect(lines((await run('tasks ls mailer --no-headers')).out).map((line) => line.slice(0, 1))).toEqual(['a', 'b'])
    expect((await run('config get mailer/w1 --no-headers')).out).toMatch(/^enabled /)
    expect((await run('workers ls probe --no-headers')).out).toBe('')
    expect((await run('workers ls --no-headers -o json')).out).toMatch(/^\[/)
  })
})

describe('-o jsonpath', () => {
  it('prints what an expression selects from the document that json prints, one value per line', async () => {
    for (const id of ['w1', 'w2']) await register(master, id)
    await submit('a')
    expect((await run(['workers', 'ls', '-o', 'jsonpath=$[*].worker_id'])).out).toBe('w1\nw2\n')
    expect((await run(['workers', 'ls', '-o', "jsonpath=$[?@.worker_id=='w2'].config"])).out).toBe(
      '{"enabled":false,"slots":1,"max_attempts":3,"recycle_seconds":0}\n',
    )
    expect((await run(['queue', 'ls', 'mailer', '--output=jsonpath=$.items[0].payload.to'])).out).toBe('ada\n')
    expect(await run(['workers', 'ls', '-o', 'jsonpath=$[*].nothing'])).toMatchObject({ code: 0, out: '', err: '' })
  })

  it('selects from each line of a verb that prints lines', async () => {
    for (const id of ['a', 'b']) await submit(id)
    expect((await run(['tasks', 'ls', 'mailer', '-o', 'jsonpath=$.task_id'])).out).toBe('a\nb\n')
    await emit(master, [1, 2])
    expect((await run(['output', 'peek', 'mailer', '-o', 'jsonpath=$.slot_id'])).out).toBe('1\n2\n')
  })

  it.each([
    ['{.items[*].id}', 1, "expected '$'", "did you mean -o 'jsonpath=$.items[*].id'?"],
    ['.[0].worker_id', 1, "expected '$'", "did you mean -o 'jsonpath=$[0].worker_id'?"],
    ['items', 1, "expected '$'", "did you mean -o 'jsonpath=$.items'?"],
    ['$.items[', 9, 'unclosed bracketed selection', 'for example'],
    ['$[?@.a == ]', 11, 'unexpected end of expression', 'for example'],
    ['$[?nothing(@)]', 4, "no such function 'nothing'", 'for example'],
    ['$[01]', 3, 'leading zero', 'for example'],
    ['$.a ', 5, 'trailing whitespace', "did you mean -o 'jsonpath=$.a'?"],
  ])('a wrong expression names the position and the way out, before any request: %s', async (path, at, what, next) => {
    const ran = await muster('http://127.0.0.1:9', ['dead', 'remove', 'mailer', '--yes', '-o', `jsonpath=${path}`])
    expect(ran).toMatchObject({ code: 2, out: '' })
    expect(ran.err).toContain(`is not an expression of RFC 9535: at character ${at}, ${what}`)
    expect(ran.err).toContain(next)
  })

  it('needs an expression, and reports it with the other faults', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    for (const format of ['jsonpath', 'jsonpath='])
      expect((await muster(url, `workers ls -o ${format} --stat x`)).err).toMatch(/2 faults[^]*needs an expression/)
  })

  it('keeps the digits of a number, and escapes control characters', () => {
    const text = '{"id": 9007199254740993, "small": 1, "text": "a\\nb", "plain": "a b"}'
    const document = withSourceNumbers(text, JSON.parse(text))
    let out = ''
    const select = compilePath('$[?@ > 0 || @ > ""]')
    const printer = new Printer('jsonpath=', { out: (words) => void (out += words), err: () => {} }, { select })
    return printer.value(document, () => '').then(() => expect(out).toBe('9007199254740993\n1\n"a\\nb"\na b\n'))
  })

  it('selects from a document of any depth that a master accepts', () => {
    const deep = Array.from({ length: 100 }).reduce<unknown>((inner) => ({ inner }), { found: 1 })
    expect(compilePath('$..found')(deep)).toEqual([1])
  })
})

describe('every verb that prints', () => {
  it('has the same output options, and its help names what -o name prints', () => {
    const printing = Object.values(NOUNS).flatMap(({ verbs }) =>
      verbs.filter((verb) => verb.kind !== 'local' || verb.prints === true),
    )
    for (const verb of printing) {
      const options = Object.values(optionsOf(verb))
      const format = options.find(({ name }) => name === 'output')
      expect(format?.value).toBe(`table|wide|json|yaml${verb.names === undefined ? '' : '|name'}|jsonpath=…`)
      expect(options.some(({ name }) => name === 'no-headers')).toBe(true)
    }
  })
})
