/**
 * Runs the commands of examples/ that need only kubectl against a real API server with the kinds of Muster, KEDA, Argo
 * CD and Flux. It rejects fields that the kinds do not have.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, it } from '@jest/globals'
import { parse } from 'yaml'
import { FOREIGN_DEFINITIONS } from '../chart/foreign.ts'
import { stepsOf } from '../docs/page.ts'
import { Terminal } from '../docs/terminal.ts'
import { programPath } from './programs.ts'
import { startApiServer, type ApiServer, type CustomResourceDefinition } from './real-apiserver.ts'
import { withApiServer } from './with-programs.ts'

withApiServer('the commands of the examples', () => {
  let server: ApiServer
  beforeAll(async () => {
    server = await startApiServer()
    const own = ['fleetworkers', 'fleetworkersets'].map(
      (plural) => parse(readFileSync(`crds/${plural}.muster.dev.yaml`, 'utf8')) as CustomResourceDefinition,
    )
    for (const definition of [...FOREIGN_DEFINITIONS, ...own]) await server.install(definition)
    for (const name of ['muster', 'argocd', 'flux-system'])
      await server.request('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
  }, 120_000)
  afterAll(() => server.close())

  it.each([
    ['gitops', 6],
    ['keda', 3],
    ['own-image', 1],
  ])('of examples/%s create %i objects', async (example, count) => {
    const home = join(server.folder, example)
    mkdirSync(home)
    const path = [dirname(programPath('kubectl') ?? ''), process.env['PATH']].join(':')
    const kubeconfig = join(server.folder, 'kubeconfig.json')
    const terminal = new Terminal(resolve('examples', example), home, {
      PATH: path,
      HOME: home,
      KUBECONFIG: kubeconfig,
    })
    const scripts = stepsOf(readFileSync(`examples/${example}/README.md`, 'utf8'), true).flatMap((step) =>
      step.kind === 'run' ? step.script.split('\n').filter((line) => line.startsWith('kubectl apply ')) : [],
    )
    const created = Array.from({ length: count }, () => '… created').join('\n')
    await terminal.run(scripts.join('\n'), created)
    await terminal.close()
  })
})
