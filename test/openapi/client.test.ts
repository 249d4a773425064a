/** A program in another language that uses only openapi.json submits a task and reads its result. */
import { afterEach, describe, expect } from '@jest/globals'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { ADMIN_TOKEN, Fleet } from '../e2e/fleet.ts'
import { python, withPython } from './python.ts'

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function target(): Promise<AddressInfo> {
  const server: Server = createServer((_, response) => void response.end('short and stout')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  )
  return server.address() as AddressInfo
}

describe('a Python program that uses the document', () => {
  withPython(
    'submits a task to a real fleet and reads its output',
    async () => {
      const fleet = new Fleet()
      open.push(() => fleet.stop())
      await fleet.startMaster()
      const { port } = await target()
      const worker = fleet.startWorker('http-request', 'r-1')
      await fleet.configure('http-request', 'r-1', { enabled: true, allow_cidrs: ['127.0.0.0/8'], allow_ports: [port] })
      const { code, output } = await python([
        join(process.cwd(), 'test/openapi/client.py'),
        fleet.url,
        ADMIN_TOKEN,
        'http-request',
        JSON.stringify({ url: `http://127.0.0.1:${port}/pot` }),
      ])
      expect({ code, output, worker: worker.output() }).toEqual({
        code: 0,
        output: expect.stringMatching(/^\{"task"/),
        worker: expect.anything(),
      })
      expect(JSON.parse(output)).toMatchObject({
        task: { task_id: expect.any(String), queued: true },
        output: { status: 200, body: 'short and stout' },
      })
    },
    60_000,
  )
})
