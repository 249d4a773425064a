/**
 * Runs the commands of the Kubernetes part of README.md against a real API server, in their order, and compares their
 * output: a set, an edit that fails its gate, and the way back. Helm needs a node, so `helm install` is replaced by the
 * same processes without pods; test/cluster/first-steps.ts runs it, and the end of the part, on a real node.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { pack, writeTools } from '../docs/package.ts'
import { stepsOf } from '../docs/page.ts'
import { Terminal } from '../docs/terminal.ts'
import { Cluster } from './cluster.ts'
import { programPath } from './programs.ts'
import { withApiServer } from './with-programs.ts'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const WORKERS = ['muster-probe-0', 'muster-probe-1', 'muster-probe-2']
const ROLLS_BACK_WITHIN_MS = 240_000

withApiServer('the Kubernetes part of README.md', () => {
  let cluster: Cluster
  let terminal: Terminal

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    const { folder, kubeconfig } = cluster.server
    const [home, reader, bin] = [join(folder, 'home'), join(folder, 'reader'), join(folder, 'bin')]
    for (const each of [home, reader]) mkdirSync(each)
    writeTools(bin, pack(DIST, folder), MODULES)
    const PATH = [bin, dirname(programPath('kubectl') ?? ''), dirname(process.execPath), process.env['PATH']].join(':')
    terminal = new Terminal(reader, home, { PATH, HOME: home, LANG: 'C.UTF-8', NO_COLOR: '1', KUBECONFIG: kubeconfig })
    await terminal.run('npm install muster')
  }, 180_000)
  afterAll(async () => {
    await terminal?.close()
    await cluster.close()
  }, 60_000)

  /** The part, with the address of the master of this test. */
  const part = (): string => {
    const { host, port } = new URL(cluster.fleet.url)
    const [, text = ''] = readFileSync('README.md', 'utf8').split('\n## On Kubernetes\n')
    return (text.split('\n## ')[0] ?? '')
      .replaceAll('//muster-master/', `//${host}/`)
      .replace(/allow_cidrs: .*/, `allow_cidrs: [127.0.0.0/8]\n    allow_ports: [${port}]`)
  }

  it('brings an edit that fails its gate back by itself, as documented', async () => {
    const ran: string[] = []
    for (const step of stepsOf(part(), true)) {
      if (step.kind === 'file') writeFileSync(join(cluster.server.folder, 'reader', step.name), step.content)
      if (step.kind !== 'run' || step.script.startsWith('helm uninstall')) continue
      if (step.script.startsWith('helm install')) {
        await cluster.startOperator()
        for (const id of WORKERS) await cluster.startWorker(id)
      } else {
        ran.push(step.script)
        await terminal.run(step.script, step.expected, ROLLS_BACK_WITHIN_MS).catch((error: Error) => {
          throw new Error(`line ${step.line} of the part: ${error.message}`)
        })
      }
    }
    expect(ran.some((script) => script.includes('npx muster rollout status'))).toBe(true)
    const configs = await Promise.all(WORKERS.map(async (id) => (await cluster.worker(id))?.config))
    const targets = [{ name: 'master', url: `${cluster.fleet.url}/healthz` }]
    expect(configs).toEqual(WORKERS.map(() => expect.objectContaining({ targets })))
  }, 420_000)
})
