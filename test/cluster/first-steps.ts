/**
 * Runs the commands of the chart's pages in order, as a new user would: the Kubernetes part of README.md, the notes
 * that Helm prints after the installation, charts/muster/README.md, and the output of `make up`. The operator creates
 * the tokens.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect } from '@jest/globals'
import { pack, writeTools } from '../docs/package.ts'
import { type Step, stepsOf } from '../docs/page.ts'
import { Terminal } from '../docs/terminal.ts'
import { freePort } from '../kit/index.ts'
import { programPath } from '../operator/programs.ts'
import { chain, CRDS, expectHidden, KUBECONFIG, Namespace } from './cluster.ts'

const STEP_MS = 300_000
const COMMANDS_WITHIN_MS = 180_000
const INSTALLS_WITHIN_MS = 90_000
const RELEASE = 'muster'
const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
/** The folders of a clone that the pages refer to. */
const CLONE = ['charts', 'manifests', 'hack']

/** Returns the steps of a page, or of one section if `heading` is given. */
function stepsUnder(page: string, heading?: string): Step[] {
  const text = readFileSync(page, 'utf8')
  const steps = stepsOf(
    heading === undefined ? text : (text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''),
    true,
  )
  expect(steps.filter(({ kind }) => kind === 'run').length).toBeGreaterThan(2)
  return steps
}

const uninstalls = (step: Step): boolean => step.kind === 'run' && step.script.startsWith('helm uninstall')
const edits = (step: Step): boolean => step.kind === 'run' && step.script.startsWith('kubectl patch')

/** The parts of the section of README.md: the installation, the edit that is rolled back, and the end. */
function readmeParts(): readonly [installs: Step[], rollsBack: Step[], uninstalls: Step[]] {
  const steps = stepsUnder('README.md', 'On Kubernetes')
  const [edit, end] = [steps.findIndex(edits), steps.findIndex(uninstalls)]
  expect(0 < edit && edit < end).toBe(true)
  return [steps.slice(0, edit), steps.slice(edit, end), steps.slice(end)]
}

export function firstSteps(): void {
  const place = new Namespace('muster')
  const step = chain('the reader of the pages', STEP_MS)
  const figures: string[] = []
  let scratch = ''
  let terminal: Terminal
  const reader = (name: string): string => join(scratch, 'reader', name)

  const take = async (steps: readonly Step[]): Promise<void> => {
    for (const each of steps) {
      if (each.kind === 'file') writeFileSync(reader(each.name), each.content)
      if (each.kind !== 'run') continue
      const beganMs = performance.now()
      await terminal.run(each.script, each.expected, COMMANDS_WITHIN_MS)
      figures.push(
        `${((performance.now() - beganMs) / 1_000).toFixed(1).padStart(6)} s  ${each.script.split('\n').join('; ')}`,
      )
    }
  }
  /** Returns the values of the two Secrets that the operator creates, by key. */
  const madeSecrets = async (): Promise<ReadonlyMap<string, string>> => {
    const { items } = JSON.parse(await place.kubectl('get', 'secrets', '--output=json')) as {
      items: { type: string; data: Record<string, string> }[]
    }
    const made = items.filter(({ type }) => type.startsWith('muster.dev/')).flatMap(({ data }) => Object.entries(data))
    return new Map(made.map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]))
  }

  beforeAll(async () => {
    if ((await place.kubectl('get', 'namespace', place.name, '--ignore-not-found')) !== '')
      throw new Error('Muster is in this cluster already: make down')
    scratch = mkdtempSync(join(tmpdir(), 'muster-first-steps-'))
    const home = join(scratch, 'home')
    for (const folder of [home, reader('')]) mkdirSync(folder)
    for (const name of CLONE) symlinkSync(join(process.cwd(), name), reader(name))
    const bin = join(scratch, 'bin')
    writeTools(bin, pack(DIST, scratch), MODULES)
    const programs = ['kubectl', 'helm'].map((name) => dirname(programPath(name) ?? ''))
    const PATH = [bin, ...programs, dirname(process.execPath), process.env['PATH']].join(':')
    terminal = new Terminal(reader(''), home, { PATH, HOME: home, LANG: 'C.UTF-8', KUBECONFIG })
    await terminal.run('npm install muster')
  }, STEP_MS)
  afterAll(async () => {
    if (scratch === '') return // The installation existed before this test.
    await terminal.close()
    await place.kubectl('delete', 'namespace', place.name, '--ignore-not-found', '--timeout=150s')
    await place.kubectl('delete', 'customresourcedefinition', ...CRDS, '--ignore-not-found')
    rmSync(scratch, { recursive: true, force: true })
    console.log(figures.join('\n'))
  }, STEP_MS)

  step('install within 90 s by the commands of README.md, and wait until the workers of a set are ready', async () => {
    const beganMs = performance.now()
    await take(readmeParts()[0])
    expect(performance.now() - beganMs).toBeLessThan(INSTALLS_WITHIN_MS)
  })

  step('edit the set by the commands of README.md: the edit fails its gate, and the workers return', async () => {
    await take(readmeParts()[1])
  })

  step('find the tokens that the operator created', async () => {
    const secret = expect.stringMatching(/^[\w-]{43}$/)
    expect(Object.fromEntries(await madeSecrets())).toEqual({
      'admin-token': secret,
      'worker-token': secret,
      'worker-tokens': '',
      'token-scopes': '{}',
      password: secret,
      'scaler-token': secret,
    })
  })

  step('run each command of the notes: the API responds, and accepts the token as the admin', async () => {
    const port = await freePort()
    const notes = (await place.helm('get', 'notes', RELEASE)).replaceAll('8080', String(port))
    const commands = [...notes.matchAll(/^ {2}((?:kubectl|helm) .*)$/gm)].map(([, command = '']) => command)
    const url = /^Address: (\S+)$/m.exec(notes)?.[1] ?? 'none'
    expect(commands.map((command) => command.split(' ').slice(0, 2).join(' '))).toEqual([
      'kubectl port-forward',
      'kubectl get',
      'kubectl wait',
      'helm test',
      'kubectl get',
    ])
    const [forward = '', token = '', ...next] = commands
    await terminal.keep(forward)
    await terminal.run(`${token} >admin-token`)
    const answer = await fetch(`${url}/api/v1/me`, {
      headers: { authorization: `Bearer ${readFileSync(reader('admin-token'), 'utf8')}` },
    })
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ role: 'admin' })])
    await terminal.interrupt()
    for (const command of next) await terminal.run(command, undefined, COMMANDS_WITHIN_MS)
  })

  step('list the workers through a Kubernetes context, and as `kubectl muster`', async () => {
    await terminal.run(`npx muster context set lab --kube-namespace ${place.name}`)
    await terminal.run('npx muster workers ls --context lab -o json | grep \'"worker_id"\'', '…', COMMANDS_WITHIN_MS)
    const inNamespace = `kubectl config view --raw --minify >kubeconfig
      export KUBECONFIG=$PWD/kubeconfig PATH=$PWD/node_modules/.bin:$PATH
      kubectl config set-context --current --namespace=${place.name}`
    await terminal.run(`(${inNamespace}; kubectl muster workers ls) | grep RUNNING`, '…', COMMANDS_WITHIN_MS)
  })

  step('find none of those tokens in an object, an event or a log', async () => {
    const text = await place.readable(RELEASE)
    for (const component of ['master', 'operator', 'redis', 'probe'])
      expect(text).toMatch(new RegExp(`^\\[pod/muster-${component}`, 'm'))
    const tokens = [...(await madeSecrets()).values()].filter((value) => value.length > 2)
    expectHidden(tokens, text)
    const secrets = await place.kubectl('get', 'secrets', '--output=json')
    // The Secrets contain each token, so the check would have found it.
    for (const token of tokens) expect(() => expectHidden([token], secrets)).toThrow()
  })

  step('uninstall by the commands of README.md, and leave no object behind', async () => {
    await take(readmeParts()[2])
    const left = await place.kubectl(
      'get',
      'customresourcedefinitions,clusterroles,clusterrolebindings,namespaces',
      '--output=name',
    )
    expect(left.split('\n').filter((name) => name.includes('muster'))).toEqual([])
  })

  step(
    'go through the commands of charts/muster/README.md: install, test, samples, upgrade, rollback, uninstall',
    async () => {
      await take(stepsUnder('charts/muster/README.md'))
    },
  )

  step('run the commands that `make up` prints, on what the previous uninstall kept', async () => {
    const before = await madeSecrets()
    await take([{ kind: 'run', line: 0, script: 'hack/quickstart.sh' }])
    expect(await madeSecrets()).toEqual(before)
    expect((await place.kubectl('get', 'fleetworkers', '--output=name')).trim().split('\n')).toHaveLength(2)
  })
}
