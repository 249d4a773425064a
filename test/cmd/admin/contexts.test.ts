/** `muster context`, and the master and token that a command uses (D209), against a real master. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'
import { register } from '../../client/fixture.ts'
import { eventually } from '../../kit/index.ts'
import { HAS_OPENSSL, makeCertificates } from '../../kit/certificates.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'
import { cells, lines, muster, type Ran, type Terminal } from './fixture.ts'

const NO_SETTINGS = { SVC_MASTER_URL: '', SVC_API_TOKEN: '' }

let master: TestMaster
let home: string
let file: string

beforeEach(async () => {
  master = await runMaster()
  await register(master, 'w1')
  home = temporaryFolder()
  file = join(home, 'muster', 'config.yaml')
  mkdirSync(join(home, 'muster'))
})

/** Runs a command without settings of a master, unless `environment` has some. */
const run = (words: string | readonly string[], environment = {}, more: Terminal = {}): Promise<Ran> =>
  muster('', words, { ...more, environment: { ...NO_SETTINGS, XDG_CONFIG_HOME: home, ...environment } })

function write(text: string, mode = 0o600): void {
  writeFileSync(file, text)
  chmodSync(file, mode)
}

function token(text: string = TOKENS.admin): string {
  const path = join(home, `token-${text.length}`)
  writeFileSync(path, `${text}\n`, { mode: 0o600 })
  return path
}

/** A program in `home`. */
function program(name: string, body: string): string {
  const path = join(home, name)
  writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 })
  return path
}

describe('muster context', () => {
  it('creates, lists, chooses, changes and removes contexts in a file that only its owner can read', async () => {
    expect(await run('context ls')).toMatchObject({ code: 0, err: expect.stringContaining('has no context') })
    const made = await run(['context', 'set', 'prod', '--master-url', master.url, '--token-file', token()])
    expect(made).toMatchObject({ code: 0, out: '', err: expect.stringContaining('which is the current one') })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await run(['context', 'set', 'lab', '--kube-namespace', 'muster', '--kube-secret', 'tokens/editor'])
    await run(['context', 'set', 'vault', '--master-url', master.url, '--token-command', 'vault read x'])
    expect(cells((await run('context ls')).out)).toEqual([
      ['NAME', 'CURRENT', 'MASTER', 'TOKEN'],
      ['prod', '*', master.url, token()],
      ['lab', '-', 'Kubernetes: the current context/muster', 'Secret tokens/editor'],
      ['vault', '-', master.url, 'vault read x'],
    ])
    await run('context use lab')
    await run(['context', 'set', 'lab', '--master-url', 'http://127.0.0.1:9'])
    expect(JSON.parse((await run('context ls -o json')).out)).toMatchObject({
      current: 'lab',
      contexts: { lab: { 'master-url': 'http://127.0.0.1:9' }, vault: { 'token-command': ['vault', 'read', 'x'] } },
    })
    expect((await run('context rm lab')).err).toContain('which was the current one')
    expect(JSON.parse((await run('context ls -o json')).out)).toMatchObject({ current: null })
    expect(await run('context use lab')).toMatchObject({ code: 2, err: expect.stringContaining('it has prod, vault') })
  })

  it('keeps the comments of the file and a symbolic link to it', async () => {
    const real = join(home, 'dotfiles.yaml')
    writeFileSync(real, '# mine\ncontexts:\n  a: { master-url: "http://127.0.0.1:9" } # the old one\n')
    symlinkSync(real, file)
    await run('context use a')
    expect(readFileSync(real, 'utf8')).toMatch(/^# mine\n.*# the old one\n.*current: a\n$/s)
    expect(statSync(real).mode & 0o777).toBe(0o600)
  })

  it('refuses a context that could not be used, and changes nothing', async () => {
    for (const [words, named] of [
      [['a', '--token-file', 'x'], 'contexts.a.master-url: is required, or kubernetes'],
      [['a', '--master-url', 'ftp://x'], 'is not an http or https URL'],
      [['a', '--master-url', 'http://x', '--kubernetes'], 'contexts.a.master-url: cannot be combined'],
      [['a', '--kube-secret', 'a/b/c'], 'contexts.a.kubernetes.secret: "a/b/c" is not NAME or NAME/KEY'],
      [['a b', '--kubernetes'], '"a b" is not a name'],
    ] as const) {
      const ran = await run(['context', 'set', ...words])
      expect([words, ran.code]).toEqual([words, 2])
      expect(ran.err).toContain(named)
    }
    expect((await run('context ls -o json')).out).toContain('"contexts": {}')
  })
})

describe('the master of a command', () => {
  it('is that of a flag, else of the environment, else of the current context', async () => {
    const other = await runMaster()
    await register(other, 'other')
    const contexts = {
      here: { 'master-url': master.url, 'token-file': token() },
      there: { 'master-url': other.url, 'token-file': token() },
    }
    write(JSON.stringify({ current: 'here', contexts }))
    const ids = async (words: string, environment = {}): Promise<readonly string[]> =>
      cells((await run(`workers ls mailer ${words}`.trimEnd(), environment)).out).map(([name = '']) => name)
    const settings = { SVC_MASTER_URL: other.url, SVC_API_TOKEN: TOKENS.admin }
    expect(await ids('')).toEqual(['WORKER', 'mailer/w1'])
    expect(await ids('', { MUSTER_CONTEXT: 'there' })).toEqual(['WORKER', 'mailer/other'])
    expect(await ids('', settings)).toEqual(['WORKER', 'mailer/other'])
    expect(await ids('--context here', settings)).toEqual(['WORKER', 'mailer/w1'])
    expect(await ids('--context here', { MUSTER_CONTEXT: 'there' })).toEqual(['WORKER', 'mailer/w1'])
    expect(await ids(`--master-url ${other.url}`, { SVC_API_TOKEN: TOKENS.admin })).toEqual(['WORKER', 'mailer/other'])
    expect(await run(`workers ls --context here --master-url ${other.url}`)).toMatchObject({
      code: 2,
      err: expect.stringContaining('--context  cannot be combined with --master-url'),
    })
  })

  it('gets the token of a context only if it is the master of this context', async () => {
    const other = await runMaster()
    write(JSON.stringify({ current: 'a', contexts: { a: { 'master-url': master.url, 'token-file': token() } } }))
    expect(await run('workers ls mailer', { SVC_MASTER_URL: other.url })).toMatchObject({
      code: 2,
      err: expect.stringContaining('SVC_API_TOKEN  is required'),
    })
    expect(await run('workers ls mailer', { SVC_MASTER_URL: master.url })).toMatchObject({ code: 0 })
    const overridden = await run('workers ls mailer', { SVC_API_TOKEN: 'x'.repeat(20) })
    expect(overridden).toMatchObject({ code: 4, err: expect.stringContaining('check the token in SVC_API_TOKEN:') })
    expect(await run('workers ls mailer --context a', { SVC_API_TOKEN: 'x'.repeat(20) })).toMatchObject({ code: 0 })
  })

  it('needs no file when flags or environment name master and token', async () => {
    write('{')
    const settings = { SVC_MASTER_URL: master.url, SVC_API_TOKEN: TOKENS.admin }
    expect(await run('workers ls mailer', settings)).toMatchObject({ code: 0, err: '' })
  })

  it('gets its token from a program, which no shell runs, as text or as an ExecCredential', async () => {
    const credential = JSON.stringify({ kind: 'ExecCredential', status: { token: TOKENS.admin } })
    const tokens = {
      text: program('text', `echo "open https://idp.example" >&2; [ "$1" = 'a b; $HOME' ] && echo ${TOKENS.admin}`),
      json: program('json', `echo '${credential}'`),
    }
    for (const path of Object.values(tokens)) {
      const words = [path, 'a b; $HOME']
      write(JSON.stringify({ current: 'a', contexts: { a: { 'master-url': master.url, 'token-command': words } } }))
      const ran = await run('workers ls mailer')
      expect([path, ran.code]).toEqual([path, 0])
      expect(ran.err).toBe(path === tokens.text ? 'open https://idp.example\n' : '')
    }
  })

  it.each([
    ['contexts: [', 'is not YAML', 'next:  correct '],
    ['contexts: []', 'contexts: is not an object of names', 'next:  correct '],
    ['curent: a', 'curent: is not known; did you mean current?', 'next:  correct '],
    ['current: a', 'contexts.a: does not exist; it has none', 'next:  muster context set a --master-url URL'],
    ['{current: a, contexts: {b: {}}}', 'contexts.a: does not exist; it has b', 'next:  muster context ls'],
    ['{current: a, contexts: {a: {}}}', 'contexts.a.master-url: is required, or kubernetes', 'muster context set a'],
    [
      '{current: a, contexts: {a: {master-url: "http://x", token_file: y}}}',
      'contexts.a.token_file: is not known; did you mean token-file?',
      'muster context set a',
    ],
    ['{current: a, contexts: {a: {master-url: 7}}}', 'contexts.a.master-url: is not a text', 'muster context set a'],
    [
      '{current: a, contexts: {a: {master-url: "http://127.0.0.1:9"}}}',
      'contexts.a has neither token-file nor token-command, and SVC_API_TOKEN is not set',
      'muster context set a --token-file FILE',
    ],
    [
      '{current: a, contexts: {a: {master-url: "http://127.0.0.1:9", token-file: gone}}}',
      'contexts.a.token-file: ',
      'muster context set a --token-file FILE',
    ],
    [
      '{current: a, contexts: {a: {master-url: "http://127.0.0.1:9", ca-file: gone, token-file: gone}}}',
      'muster/gone cannot be read: ENOENT',
      'muster context set a --ca-file FILE',
    ],
    [
      '{current: a, contexts: {a: {master-url: "http://127.0.0.1:9", token-command: [no-such-program]}}}',
      'contexts.a.token-command: the program is not in the PATH',
      'muster context set a --token-command',
    ],
    [
      '{current: a, contexts: {a: {master-url: "http://127.0.0.1:9", token-command: ["false"]}}}',
      'contexts.a.token-command: the program ended with code 1',
      'run it yourself: false',
    ],
    [
      '{current: a, contexts: {a: {master-url: "http://127.0.0.1:9", token-command: ["true"]}}}',
      'contexts.a.token-command: the program printed nothing',
      'it has to print the token alone',
    ],
  ])('names file, field, problem and the way out, exit code 2: %s', async (text, problem, next) => {
    write(text)
    const ran = await run('workers ls mailer')
    expect(ran).toMatchObject({ code: 2, out: '' })
    expect(ran.err).toContain(`cause: ${file}: `)
    expect(ran.err).toContain(problem)
    expect(ran.err).toContain(next)
  })

  it('is refused with an example when --token-command is no list', async () => {
    const ran = await run(['context', 'set', 'a', '--token-command', '[vault'])
    expect(ran).toMatchObject({ code: 2, out: '' })
    expect(ran.err).toContain('begins with [ but is not a JSON array; for example ["vault"')
  })

  it('warns if other users may read or change the file', async () => {
    write(JSON.stringify({ current: 'a', contexts: { a: { 'master-url': master.url, 'token-file': token() } } }), 0o644)
    const ran = await run('workers ls mailer')
    expect(ran.code).toBe(0)
    expect(ran.err).toBe(`warning: ${file} has mode 0644, so other users may read or change it: chmod 600 ${file}\n`)
  })

  it('that does not respond is reported with the field of the context', async () => {
    write(`{current: a, contexts: {a: {master-url: "http://127.0.0.1:9", token-file: ${token()}}}}`)
    expect(lines((await run('workers ls mailer')).err).at(-1)).toBe(
      'next:  check that a master is running at http://127.0.0.1:9, or change contexts.a.master-url',
    )
  })

  const withOpenssl = HAS_OPENSSL ? it : it.skip
  withOpenssl('is verified with the CAs of the context', async () => {
    const certificates = makeCertificates()
    const { server: own, ca, otherCa } = certificates
    const proxy = createServer({ cert: own.cert, key: own.key }, (request, response) => {
      void fetch(master.url + (request.url ?? ''), { headers: { authorization: request.headers.authorization ?? '' } })
        .then(async (reply) => ({ reply, text: await reply.text() }))
        .then(({ reply, text }) => response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(text))
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const url = `https://127.0.0.1:${(proxy.address() as { port: number }).port}`
    const withCa = (caFile: string) =>
      write(
        JSON.stringify({
          current: 'a',
          contexts: { a: { 'master-url': url, 'token-file': token(), 'ca-file': caFile } },
        }),
      )
    withCa(ca.certFile)
    expect(await run('workers ls mailer')).toMatchObject({ code: 0 })
    withCa(otherCa.certFile)
    expect(await run('workers ls mailer')).toMatchObject({ code: 1, err: expect.stringContaining('certificate') })
    proxy.closeAllConnections()
    proxy.close()
    certificates.close()
  })
})

describe('a Kubernetes context', () => {
  let log: string
  let environment: Record<string, string>

  beforeEach(() => {
    copyFileSync('test/cmd/admin/kubectl-stand-in.mjs', join(home, 'kubectl.mjs'))
    program('kubectl', `exec '${process.execPath}' '${join(home, 'kubectl.mjs')}' "$@"`)
    log = join(home, 'kubectl.log')
    writeFileSync(log, '')
    environment = {
      PATH: `${home}${delimiter}${process.env['PATH'] ?? ''}`,
      KUBECTL_LOG: log,
      KUBECTL_MASTER_PORT: new URL(master.url).port,
      KUBECTL_TOKEN: TOKENS.admin,
    }
  })

  const calls = (): readonly (readonly [pid: number, words: string])[] =>
    lines(readFileSync(log, 'utf8')).map((line) => {
      const [pid = '', ...words] = line.split(' ')
      return [Number(pid), words.join(' ')]
    })

  const isRunning = (pid: number): boolean => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }

  it('reaches the master through a forwarded port, with the token of the Secret, and ends the forwarding', async () => {
    write('{current: lab, contexts: {lab: {kubernetes: {context: kind-lab, namespace: prod}}}}')
    const ran = await run('workers ls mailer', environment)
    expect([ran.code, ran.err]).toEqual([0, ''])
    expect(cells(ran.out)[1]?.[0]).toBe('mailer/w1')
    const common = '--context kind-lab --namespace prod'
    expect(
      new Set(
        calls()
          .map(([, words]) => words)
          .filter((words) => words !== 'listens'),
      ),
    ).toEqual(
      new Set([
        `get services -l app.kubernetes.io/name=muster,app.kubernetes.io/component=master -o json ${common}`,
        `get secret muster-tokens -o json ${common}`,
        `port-forward --address 127.0.0.1 ${common} service/muster-master :http`,
      ]),
    )
    const [pid = 0] = calls().find(([, words]) => words.startsWith('port-forward')) ?? []
    await eventually('kubectl ends', () => !isRunning(pid))
  })

  it('is that of the kubeconfig for kubectl muster, before any setting', async () => {
    const settings = { SVC_MASTER_URL: 'http://127.0.0.1:9', SVC_API_TOKEN: 'x'.repeat(20) }
    const ran = await run('workers ls mailer', { ...environment, ...settings }, { isKubectlPlugin: true })
    expect([ran.code, ran.err]).toEqual([0, ''])
    expect(calls().some(([, words]) => words.includes('--context'))).toBe(false)
  })

  it('starts the forwarding again on the same port when it ends', async () => {
    write('{current: lab, contexts: {lab: {kubernetes: {service: muster-master}}}}')
    const reader = new AbortController()
    const following = run('output tail mailer -n 0', environment, { unread: reader.signal })
    const forwards = () => calls().filter(([, words]) => words.startsWith('port-forward'))
    const listening = () => calls().filter(([, words]) => words === 'listens')
    await eventually('kubectl forwards', () => listening().length === 1)
    process.kill(listening()[0]?.[0] ?? 0, 'SIGKILL')
    await eventually('it forwards again', () => listening().length === 2)
    expect(forwards()[1]?.[1]).toMatch(/ \d+:http$/)
    reader.abort()
    expect((await following).code).toBe(0)
  })

  it.each([
    ['no Service', '{}', { KUBECTL_SERVICES: '' }, 'contexts.lab.kubernetes.service: no Service of the namespace'],
    ['two Services', '{}', { KUBECTL_SERVICES: 'a,b' }, 'the namespace has 2 masters: a, b'],
    ['no Secret', '{secret: nothing}', {}, 'contexts.lab.kubernetes.secret: the program ended with code 1: Error from'],
    ['no key', '{secret: muster-tokens/x}', {}, 'has no key x; it has admin-token'],
    ['no such Service', '{service: gone, secret: muster-tokens}', {}, 'kubectl port-forward ended with code 1'],
    ['no kubectl', '{}', { PATH: '/nowhere' }, 'contexts.lab.kubernetes.service: the program is not in the PATH'],
  ])('names the field and the way out: %s', async (_title, kubernetes, more, problem) => {
    write(`{current: lab, contexts: {lab: {kubernetes: ${kubernetes}}}}`)
    const ran = await run('workers ls mailer', { ...environment, ...more })
    expect([ran.code > 0, ran.out]).toEqual([true, ''])
    expect(ran.err).toContain(problem)
    expect(ran.err).toContain('muster context set lab --kube-namespace')
  })
})
