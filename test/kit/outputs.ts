/**
 * @module test/kit/outputs
 * Searches the outputs of a master in a fixture for the secrets of the test file. A fixture takes its tokens from
 * `canaries.create`, reports the secrets that a test chooses, and calls `scanMaster` before it stops a master.
 * Responses are searched when they arrive (`test/openapi/every-response.ts`). The only outputs that may contain a
 * secret are the store and a worker's own poll of its config.
 */
import type { Catalog } from '../../src/automation/index.ts'
import { SECRET_MASK, secretValues, type JsonObject } from '../../src/protocol/index.ts'
import type { Backend } from '../../src/storage/index.ts'
import { canaries } from './canary.ts'

const CONFIG_PATH = /^(?:\/api\/v1\/automations)?\/(?<type>[^/?]+)\/workers\/[^/?]+\/config(?:\/validate)?(?:\?|$)/
const MAX_EVENTS = 10_000
/** A store of a test may have been stopped, or may not respond on purpose. */
const READ_WITHIN_MS = 500

/** Adds the `writeOnly` values of a config in a request body. */
export function learnSecrets(catalog: Catalog, path: string, body: unknown): void {
  const type = CONFIG_PATH.exec(path)?.groups?.['type']
  const entry = type === undefined ? undefined : catalog.get(type)
  if (entry === undefined || typeof body !== 'object' || body === null) return
  for (const value of secretValues(body as JsonObject, entry.secrets)) learn(`the secret of a PATCH of ${type}`, value)
}

function learn(name: string, value: unknown): void {
  if (value === SECRET_MASK) return // A client that sends back what it has read.
  if (typeof value === 'string') canaries.add(name, value)
  else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) learn(name, each)
}

interface ScannedMaster {
  readonly url: string
  readonly lines: readonly unknown[]
  readonly backend: Backend
}

/** Searches the log, the metrics and the event log of a master that still runs, as far as they can be read. */
export async function scanMaster({ url, lines, backend }: ScannedMaster): Promise<void> {
  canaries.scan('the log', lines)
  const signal = AbortSignal.timeout(READ_WITHIN_MS)
  const [metrics, events] = await Promise.all([
    fetch(`${url}/metrics`, { signal }).then(
      (response) => response.text(),
      () => '',
    ),
    Promise.race([backend.events.read('', MAX_EVENTS), passed(signal)]).catch(() => null),
  ])
  canaries.scan('GET /metrics', metrics)
  canaries.scan('the event log', events)
}

const passed = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(null), { once: true }))
