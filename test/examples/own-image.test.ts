/**
 * Builds the image of examples/own-image as folders, starts a master and a worker from it with the settings of its
 * values, and gives the worker the config of its FleetWorkerSet.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { killAll, type Proc, startProgram } from '../kit/built-command.ts'
import { canaries } from '../kit/canary.ts'
import { eventually, freePort } from '../kit/index.ts'
import { buildImage, emptyImage } from './dockerfile.ts'
import { entriesOf, type FleetWorkerSet, objectsIn, valuesIn } from './kubernetes.ts'

const EXAMPLE = 'examples/own-image'
const ADMIN_TOKEN = canaries.create('admin')
const WORKER_TOKEN = canaries.create('worker')
const values = valuesIn(`${EXAMPLE}/values.yaml`)
const set = objectsIn(`${EXAMPLE}/fleet.yaml`)[0] as FleetWorkerSet
const built = existsSync('dist/cmd/muster.js')

/** The image of Muster, as hack/image/rootfs.mjs lays it out: its package, and a folder that depends on it. */
function musterImage(): ReturnType<typeof emptyImage> {
  const image = { ...emptyImage(), directory: '/opt/muster' }
  const folder = join(image.root, image.directory)
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(join(process.cwd(), 'dist'), join(folder, 'node_modules/muster'))
  writeFileSync(
    join(folder, 'package.json'),
    '{ "private": true, "type": "module", "dependencies": { "muster": "*" } }',
  )
  return image
}

describe('the image of examples/own-image', () => {
  const running: Proc[] = []
  afterAll(() => killAll(running))
  const test = built ? it : it.skip

  test('runs a master and a worker with the automation, the values and the config of the example', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const image = buildImage(EXAMPLE, (name) => (name === 'localhost/muster' ? musterImage() : emptyImage()))
    const directory = join(image.root, image.directory)
    const start = (subcommand: string, settings: Readonly<Record<string, string>>): Proc => {
      const args = ['-C', directory, process.execPath, 'node_modules/muster/cmd/muster.js', subcommand]
      const automations = { SVC_AUTOMATIONS: values.automations?.modules?.join(',') ?? '' }
      const started = startProgram('env', args, { ...automations, ...settings })
      running.push(started)
      return started
    }
    const call = async (method: string, path: string, body?: object): Promise<unknown> => {
      const response = await fetch(`${url}/api/v1/automations/invoices${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${response.status} ${text}`)
      return JSON.parse(text)
    }

    const master = start('master', {
      SVC_LISTEN: `127.0.0.1:${port}`,
      SVC_BACKEND_URL: 'memory://',
      SVC_ADMIN_TOKEN: ADMIN_TOKEN,
      SVC_WORKER_TOKEN: WORKER_TOKEN,
    })
    const isReady = async (): Promise<boolean> => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200
    await eventually('the master is ready', isReady, { context: () => master.output() })
    const worker = start('worker', {
      SVC_MASTER_URL: url,
      SVC_WORKER_TOKEN: WORKER_TOKEN,
      SVC_AUTOMATION_TYPE: values.workers?.['invoices']?.type ?? '',
      SVC_WORKER_ID: 'muster-invoices-0',
    })
    const config = { slots: set.spec.slots, ...set.spec.config }
    const configures = (): Promise<boolean> =>
      call('PATCH', '/workers/muster-invoices-0/config', config).then(
        () => true,
        () => false,
      )
    await eventually('the worker has registered', configures, { context: () => worker.output() })

    const task = { payload: { product: 'pen', count: 4 }, retain_seconds: 300 }
    const { task_id } = (await call('POST', '/tasks', task)) as { task_id: string }
    const { results } = (await call('POST', '/tasks/await', { task_ids: [task_id], wait_seconds: 20 })) as {
      results: readonly object[]
    }
    expect(results).toMatchObject([{ place: 'done', result: { total: '6.00 EUR' } }])
  })

  it('contains what the values name, and the FleetWorkerSet selects the workers of the values', () => {
    const { root } = buildImage(EXAMPLE, emptyImage)
    expect(values.automations?.modules?.map((name) => existsSync(join(root, 'opt/muster/node_modules', name)))).toEqual(
      [true],
    )
    expect(entriesOf(values, set)).toEqual(['invoices'])
  })

  it('needs no file that .dockerignore leaves out', () => {
    const context = emptyImage().root
    const kept = [...readFileSync(join(EXAMPLE, '.dockerignore'), 'utf8').matchAll(/^!(.+)$/gm)].map(([, name]) => name)
    for (const name of ['Dockerfile', ...kept])
      cpSync(join(EXAMPLE, name ?? ''), join(context, name ?? ''), { recursive: true })
    expect(() => buildImage(context, emptyImage)).not.toThrow()
  })
})
