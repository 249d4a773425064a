/** Usage errors, failed requests and their messages. */
import { describe, expect, it } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { NOUNS } from '../../../src/cmd/admin/index.ts'
import { parseWords } from '../../../src/cmd/admin/parse.ts'
import { freePort } from '../../e2e/fleet.ts'
import { runMaster, TOKENS } from '../../kit/running-master.ts'
import { register } from '../../client/fixture.ts'
import { lines, muster } from './fixture.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'

const NOWHERE = 'http://127.0.0.1:9'

describe('a command line', () => {
  it('with several faults reports all of them, suggests the nearest known word, exit code 2', async () => {
    const ran = await muster('', ['workers', 'ls', '--stat', 'ERROR', '--connected=maybe', 'a', 'b', '--timeout'], {
      environment: { SVC_API_TOKEN: '' },
    })
    expect(ran.code).toBe(2)
    expect(ran.out).toBe('')
    expect(lines(ran.err)).toEqual([
      'error: muster workers ls cannot run: 7 faults in the command line',
      '  --stat          is not known; did you mean --state?',
      '  --connected     "maybe" is not known; known: yes, no',
      '  --timeout       needs a value: SECONDS',
      '  a               is an unexpected argument; expected: [TYPE]',
      '  b               is an unexpected argument; expected: [TYPE]',
      '  SVC_MASTER_URL  is required; set it, or give --master-url',
      '  SVC_API_TOKEN   is required; set it, or give SVC_API_TOKEN_FILE',
      'next:  muster workers ls --help',
    ])
  })

  it('with an unknown verb suggests the nearest one, or lists all', async () => {
    expect((await muster(NOWHERE, 'dead reply mailer')).err).toContain(
      'muster dead has no verb "reply"; did you mean replay?',
    )
    expect(await muster(NOWHERE, 'dead everything mailer')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('; its verbs are ls, groups, replay, replays, edit, remove'),
    })
  })

  it.each([
    ['workers get mailer', 'TYPE/ID'],
    ['workers get MAILER/w1', 'TYPE/ID'],
    ['workers get', 'TYPE/ID'],
    ['tasks get mailer', 'TYPE TASK'],
    ['queue ls mailer -n 0', '-n'],
    ['queue ls mailer -n10001', '-n'],
    ['queue ls mailer -n 1 -n 2', 'more than once'],
    ['tasks submit mailer', '--payload'],
    ['tasks submit mailer --payload {} -f x', '--payload'],
    ['tasks submit mailer --payload []', 'not a JSON object'],
    ['tasks submit mailer --payload {', 'is not JSON'],
    ['tasks submit mailer -f /nowhere', 'ENOENT'],
    ['config set mailer/w1', 'FIELD=VALUE'],
    ['output tail mailer -f --no-follow', '--no-follow'],
    ['queue ls mailer -o xml', '"xml" is not known'],
    ['dead replay mailer -n 1 --task-id a', 'cannot be combined with'],
    ['output pop mailer', '--yes'],
    ['workers forget mailer/w1', '--yes'],
    ['dead remove mailer', '--yes'],
    ['dead remove mailer --task-id a', '--yes'],
    ['dead replay mailer', '--yes'],
  ])('is rejected before any request is sent: muster %s', async (words, named) => {
    const ran = await muster(NOWHERE, words)
    expect(ran).toMatchObject({ code: 2, out: '' })
    expect(ran.err).toContain(named)
  })

  it('accepts options in every form and in any place, and -- ends them', () => {
    const options = {
      n: { name: 'n', short: 'n', value: 'N', help: '', read: Number },
      name: { name: 'name', value: 'X', help: '', read: String, many: true },
      yes: { name: 'yes', help: '', read: Boolean },
    }
    expect(parseWords(['a', '-n5', '--name', '-x', '--name=y=z', '--yes', '-', '--', '--yes', '-n'], options)).toEqual({
      operands: ['a', '-', '--yes', '-n'],
      values: { n: 5, name: ['-x', 'y=z'], yes: true },
      faults: [],
    })
    expect(parseWords(['--yes=1', '-n'], options).faults).toEqual([
      { name: '--yes', problem: 'takes no value' },
      { name: '-n', problem: 'needs a value: N' },
    ])
  })

  it('has help with an example for every noun and verb, without a master or a token', async () => {
    for (const [noun, { verbs }] of Object.entries(NOUNS)) {
      const own = await muster('', [noun, '--help'], { environment: { SVC_API_TOKEN: '' } })
      expect(own).toMatchObject({ code: 0, err: '' })
      for (const { kind, name, examples } of verbs) {
        const ran = await muster('', [noun, name, '--help'])
        expect([noun, name, ran.code, ran.err]).toEqual([noun, name, 0, ''])
        expect(examples.length).toBeGreaterThan(0)
        const command = `muster ${noun} ${name}`.trimEnd()
        for (const example of examples) expect(ran.out).toContain(`${command} ${example}`.trimEnd())
        expect(own.out).toContain(command)
        expect(ran.out).toContain(kind === 'remote' ? 'SVC_API_TOKEN, or SVC_API_TOKEN_FILE' : 'It needs no master.')
      }
    }
  })
})

describe('a request over plain text', () => {
  it('warns on stderr unless the master is on this host, because the token can be intercepted', async () => {
    const port = await freePort()
    const warning =
      `warning: the token is sent unencrypted to 0.0.0.0:${port}: ` +
      'use https, or make sure that the network is trusted'
    expect(lines((await muster(`http://0.0.0.0:${port}`, 'automations ls')).err)[0]).toBe(warning)
    expect((await muster(`http://127.0.0.1:${port}`, 'automations ls')).err).not.toContain('unencrypted')
    expect((await muster(`https://0.0.0.0:${port}`, 'automations ls')).err).not.toContain('unencrypted')
  })
})

describe('a request that fails', () => {
  it('reports the URL at which no master listens, and the settings to change, exit code 1', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const ran = await muster(url, 'workers get mailer/w1')
    expect(ran).toMatchObject({ code: 1, out: '' })
    expect(lines(ran.err)).toEqual([
      'error: muster workers get mailer/w1 failed',
      expect.stringContaining('cause: cannot connect to the master: connect ECONNREFUSED'),
      `next:  check that a master is running at ${url}, or change --master-url or SVC_MASTER_URL`,
    ])
  })

  it('reports where the rejected token was read from, without showing it, exit code 4', async () => {
    const master = await runMaster()
    const folder = temporaryFolder()
    const file = join(folder, 'token')
    writeFileSync(file, 'hunter2\n')
    const wrong = await muster(master.url, 'workers ls mailer', {
      environment: { SVC_API_TOKEN: '', SVC_API_TOKEN_FILE: file },
    })
    expect(wrong.code).toBe(4)
    expect(wrong.err).toMatch(/^error: muster workers ls mailer failed \(403, request \S+\)\ncause: unknown token\n/)
    expect(wrong.err).toContain(`SVC_API_TOKEN_FILE=${file}`)
    expect(wrong.err).not.toContain('hunter2')
    const scoped = await muster(master.url, 'automations ls', { environment: { SVC_API_TOKEN: TOKENS.mailer } })
    expect(scoped).toMatchObject({
      code: 4,
      out: '',
      err: expect.stringContaining('check the token in SVC_API_TOKEN:'),
    })
  })

  it('reports the object that was not found, exit code 3', async () => {
    const master = await runMaster()
    for (const words of [
      'workers get mailer/ghost',
      'workers drain mailer/ghost',
      'config get mailer/ghost',
      'tasks get mailer ghost',
      'queue ls nowhere',
      'pools ls nowhere',
      'automations ls nowhere',
    ]) {
      const ran = await muster(master.url, words)
      expect([words, ran.code, ran.out]).toEqual([words, 3, ''])
      expect(ran.err).toMatch(/\(404, request \S+\)\ncause: .+/)
    }
  })

  it('distinguishes the page of a proxy from a master, and a timeout from a failure', async () => {
    const other = createServer((request, response) => {
      if (request.method === 'GET') response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not here</h1>')
    }).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const url = `http://127.0.0.1:${(other.address() as { port: number }).port}`
    expect(await muster(url, 'workers get mailer/w1')).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        'cause: the response did not come from a Muster master: HTTP 404, text/html, "Not here"',
      ),
    })
    const silent = await muster(url, 'workers drain mailer/w1 --timeout 1')
    expect(silent).toMatchObject({
      code: 6,
      err: expect.stringContaining(
        'next:  the request may have been executed; check the current state before you repeat it',
      ),
    })
    other.closeAllConnections()
    other.close()
  })

  it('reports every invalid field', async () => {
    const master = await runMaster()
    await register(master, 'w1')
    const ran = await muster(master.url, ['tasks', 'submit', 'mailer', '--payload', '{"to":7}'])
    expect(ran).toMatchObject({ code: 1, out: '' })
    expect(ran.err).toMatch(
      /^error: muster tasks submit mailer failed \(422, request \S+\)\ncause: \/payload\/to must be string\n$/,
    )
  })
})
