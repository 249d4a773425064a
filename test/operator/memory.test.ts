/**
 * Runs the operator process against an API server with 200 FleetWorkers of 1.2 MB, within the memory of its container:
 * 256 MiB, of which the heap gets 70 %. Half of them have a config of valid size, which is kept; the others have a
 * config that is rejected for its size. The server generates each object on request.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn, type ChildProcess } from 'node:child_process'
import { afterEach, describe, expect, it } from '@jest/globals'
import { eventually, freePort } from '../kit/index.ts'
import { kubeconfigOf } from './fake-fleet.ts'

const OBJECTS = 200
const OBJECT_BYTES = 1_200_000
const CONFIG_BYTES = 260_000
const CONTAINER_MIB = 256
const HEAP_MIB = Math.floor(CONTAINER_MIB * 0.7)
const TIMEOUT_MS = 120_000
/** Compresses to no less than three quarters of its size. */
const NOISE = randomBytes(OBJECT_BYTES).toString('base64')

let end: () => Promise<void> = async () => {}
afterEach(() => end())

function objectOf(index: number, version: number): string {
  const isLegal = index % 2 === 0
  const config = { blob: NOISE.slice(index, index + (isLegal ? CONFIG_BYTES : 3 * CONFIG_BYTES)) }
  const annotations = { note: NOISE.slice(0, 200_000) }
  const used = config.blob.length + annotations.note.length
  return JSON.stringify({
    apiVersion: 'muster.dev/v1alpha1',
    kind: 'FleetWorker',
    metadata: {
      name: `w${index}`,
      namespace: 'ns',
      uid: `uid-${index}`,
      resourceVersion: String(version),
      generation: version,
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations,
      managedFields: [{ manager: 'kubectl', fieldsV1: { [NOISE.slice(0, OBJECT_BYTES - used)]: {} } }],
    },
    spec: { type: 'job', config },
  })
}

interface ApiServer {
  readonly server: Server
  readonly url: string
  readonly pages: { readonly limit: number; readonly bytes: number }[]
  watch: ServerResponse | undefined
}

async function startApiServer(): Promise<ApiServer> {
  const server = createServer((request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://api')
    if (!pathname.endsWith('/fleetworkers'))
      return void response.writeHead(404, { 'content-type': 'application/json' }).end('{"kind":"Status","code":404}')
    response.writeHead(200, { 'content-type': 'application/json' })
    if (query.get('watch') === 'true') {
      api.watch = response
      return response.flushHeaders()
    }
    const [from, limit] = [Number(query.get('continue') ?? 0), Number(query.get('limit'))]
    const to = Math.min(from + limit, OBJECTS)
    const items = Array.from({ length: to - from }, (_, n) => objectOf(from + n, 1)).join(',')
    api.pages.push({ limit, bytes: items.length })
    response.end(`{"metadata":{"resourceVersion":"1"${to < OBJECTS ? `,"continue":"${to}"` : ''}},"items":[${items}]}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const api: ApiServer = {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pages: [],
    watch: undefined,
  }
  return api
}

const peakMib = ({ pid }: ChildProcess): number =>
  Number(/VmHWM:\s+(?<kib>\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.groups?.['kib']) / 1_024

describe('the operator and objects of 1.2 MB', () => {
  it(
    'lists 200 of them and follows a change of each within the memory of its container',
    async () => {
      const api = await startApiServer()
      const directory = mkdtempSync(join(tmpdir(), 'muster-memory-'))
      writeFileSync(join(directory, 'kubeconfig'), kubeconfigOf(api.url, 'ns'))
      const port = await freePort()
      const child = spawn(
        process.execPath,
        [`--max-old-space-size=${HEAP_MIB}`, join(process.cwd(), 'dist/cmd/muster.js'), 'operator'],
        {
          stdio: ['ignore', 'pipe', 'pipe'],
          env: {
            PATH: process.env['PATH'] ?? '',
            KUBECONFIG: join(directory, 'kubeconfig'),
            SVC_MASTER_URL: 'http://127.0.0.1:9',
            SVC_API_TOKEN: 'a-token-of-a-test-0123',
            SVC_METRICS_LISTEN: `127.0.0.1:${port}`,
            SVC_LEADER_ELECT: 'false',
            SVC_TENANTS: JSON.stringify({ '*': { types: ['*'], workers: ['*'] } }),
          },
        },
      )
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
      end = async () => {
        child.kill('SIGKILL')
        api.server.closeAllConnections()
        api.server.close()
        rmSync(directory, { recursive: true, force: true })
      }
      const isRunning = (): boolean => child.exitCode === null && child.signalCode === null
      const whileItRuns = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
        await eventually(what, async () => !isRunning() || (await holds().catch(() => false)), {
          withinMs: TIMEOUT_MS,
          context: () => output.slice(-2_000),
        })
        if (!isRunning()) throw new Error(`the operator ended before ${what}: ${output.slice(-2_000)}`)
      }
      await whileItRuns(
        'everything is listed',
        async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200 && api.watch !== undefined,
      )
      const listed = peakMib(child)
      for (let index = 0; index < OBJECTS; index += 1) {
        if (api.watch?.write(`{"type":"MODIFIED","object":${objectOf(index, 2 + index)}}\n`) === false)
          await once(api.watch, 'drain')
      }
      await whileItRuns('every change is seen', async () => api.watch?.writableLength === 0)
      const peak = peakMib(child)
      expect(peak).toBeLessThan(CONTAINER_MIB)
      expect(listed).toBeLessThan(CONTAINER_MIB)
      expect(Math.max(...api.pages.slice(1).map(({ bytes }) => bytes))).toBeLessThanOrEqual(16 * 1_048_576)
    },
    TIMEOUT_MS,
  )
})
