/**
 * Schemathesis reads the document and sends valid and invalid requests for all its operations to a real master. No
 * response may be a 5xx, or differ from the document. `make api-fuzz` is the long run.
 *
 * Event streams are left out, because they do not end; they have their own tests. The control channel is not in the
 * document.
 */
import { afterEach, describe, expect } from '@jest/globals'
import { join } from 'node:path'
import { ADMIN_TOKEN, Fleet, WORKER_TOKEN } from '../e2e/fleet.ts'
import { SocketWorker } from '../e2e/socket-worker.ts'
import type { OpenApi } from './contract.ts'
import { python, withPython } from './python.ts'

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 45)
/** The same requests for each commit, and others in a long run. */
const SEED = process.env['FUZZ_SECONDS'] === undefined ? ['--seed', '1'] : []
/** For phases that are not limited by time, on a slow machine. */
const MARGIN_MS = 180_000
const HERE = join(process.cwd(), 'test/openapi')

const fleets: Fleet[] = []
afterEach(async () => {
  await Promise.all(fleets.splice(0).map((fleet) => fleet.stop()))
})

/** The operations that respond with an event stream, as patterns for schemathesis. */
async function streamPaths(fleet: Fleet): Promise<readonly string[]> {
  const { paths } = await fleet.ok<OpenApi>('GET', '/openapi.json')
  return Object.entries(paths)
    .filter(([, { get }]) => get?.responses['200']?.content?.['text/event-stream'] !== undefined)
    .map(([path]) => path)
}

describe('a master that receives requests for its whole document', () => {
  withPython(
    `returns no 5xx and nothing that differs from the document, in ${SECONDS} s`,
    async () => {
      const fleet = new Fleet('memory://')
      fleets.push(fleet)
      const master = await fleet.startMaster()
      for (const type of ['http-probe', 'http-request']) await SocketWorker.join(fleet, type, 'w-1')
      const left = (await streamPaths(fleet)).flatMap((path) => ['--exclude-path', path])
      const { code, output } = await python(
        [
          '-m',
          'schemathesis.cli',
          '--config-file',
          join(HERE, 'schemathesis.toml'),
          'run',
          `${fleet.url}/api/v1/openapi.json`,
          '--no-color',
          '--max-time',
          String(SECONDS),
          '--phases',
          'examples,coverage,fuzzing',
          ...SEED,
          ...left,
        ],
        { ADMIN_TOKEN, WORKER_TOKEN, HOOKS: join(HERE, 'schemathesis_hooks.py') },
      )
      expect(output).toMatch(/Test cases:/)
      if (code !== 0) throw new Error(output.slice(-20_000))
      expect(await (await fetch(`${fleet.url}/healthz`)).json()).toEqual({ status: 'ok' })
      expect(master.output()).not.toMatch(/a request failed|failed to handle an RPC call/)
    },
    SECONDS * 1_000 + MARGIN_MS,
  )
})
