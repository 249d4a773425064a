/**
 * Runs the commands of the operator's page against a real API server, in their order, and compares their output. There
 * is no kubelet: the operator runs as a local process with the ServiceAccount that the page created.
 */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { stepsOf } from '../docs/page.ts'
import { Terminal } from '../docs/terminal.ts'
import { ADMIN_TOKEN } from '../e2e/fleet.ts'
import { Cluster } from './cluster.ts'
import { programPath } from './programs.ts'
import { withApiServer } from './with-programs.ts'

const PAGE = 'src/operator/README.md'
const DEPLOYS = 'kubectl apply -k manifests/operator'

withApiServer(`the commands of ${PAGE}`, () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start()
  }, 180_000)
  afterAll(() => cluster.close(), 60_000)

  /** A folder for the terminal: the parts of a clone that the page refers to, and the token. */
  const terminalOf = (folder: string): Terminal => {
    const [home, reader] = [join(folder, 'home'), join(folder, 'reader')]
    for (const each of [home, reader]) mkdirSync(each)
    for (const name of ['crds', 'manifests']) symlinkSync(join(process.cwd(), name), join(reader, name))
    writeFileSync(join(reader, 'admin-token'), ADMIN_TOKEN)
    const path = [dirname(programPath('kubectl') ?? ''), process.env['PATH']].join(':')
    return new Terminal(reader, home, {
      PATH: path,
      HOME: home,
      LANG: 'C.UTF-8',
      KUBECONFIG: join(folder, 'kubeconfig.json'),
    })
  }

  it(`the commands of ${PAGE} work as documented`, async () => {
    const folder = cluster.server.folder
    const terminal = terminalOf(folder)
    const steps = stepsOf(readFileSync(PAGE, 'utf8'), true)
    expect(steps.filter(({ kind }) => kind === 'run').length).toBeGreaterThan(4)
    for (const step of steps) {
      if (step.kind === 'file') writeFileSync(join(folder, 'reader', step.name), step.content)
      if (step.kind !== 'run') continue
      await terminal.run(step.script, step.expected).catch((error: Error) => {
        throw new Error(`line ${step.line}: ${error.message}`)
      })
      if (!step.script.includes(DEPLOYS)) continue
      await cluster.startOperator()
      for (const id of ['probe-1', 'pool-0', 'pool-1']) await cluster.startWorker(id)
    }
    await terminal.close()
  }, 300_000)
})
