/**
 * @module test/openapi/every-response
 * Checks every response of a master that a test fetches against the OpenAPI document of that master, and fails the test
 * if they differ or if the response contains a secret of the test (`test/kit/canary.ts`). Loaded before every test file
 * (package.json, `jest.setupFilesAfterEnv`).
 *
 * A master is recognised by `Muster-Request-Id`. Servers without the document (parts of a master under test) are
 * ignored.
 */
import { afterEach } from '@jest/globals'
import { canaries } from '../kit/canary.ts'
import type { Contract, OpenApi } from './contract.ts'

const DOCUMENT = '/api/v1/openapi.json'
/** A worker's poll of its own config contains the secrets of that config. */
const CONFIG_POLL = /^GET 200 \/api\/v1\/automations\/[^/]+\/workers\/[^/]+\/config$/
const plainFetch = globalThis.fetch
const contracts = new Map<string, Promise<Contract | null>>()
const documents = new Map<string, Contract>()
const faults: string[] = []
let checks: Promise<void>[] = []

globalThis.fetch = async (input, init) => {
  const response = await plainFetch(input, init)
  if (response.headers.has('muster-request-id'))
    checks.push(check(new Request(input, { ...init, body: null, signal: null }), response.clone()))
  return response
}

/**
 * Checks the response on a raw connection against the document, if it is one response to one request. The upgrade to
 * the control channel is not in the document.
 */
export function checkRaw(port: number, sent: string | Uint8Array, received: string): void {
  const asked = Buffer.from(sent).toString('latin1')
  const [, method = '', target = ''] = /^([A-Z]+) (\/[^ ?]*)[^ ]* HTTP\/1\.1\r\n/.exec(asked) ?? []
  const [head = '', ...body] = Buffer.from(received, 'latin1')
    .toString('utf8')
    .replace('HTTP/1.1 100 Continue\r\n\r\n', '')
    .split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = new Headers(lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]))
  const text = body.join('\r\n\r\n')
  if (
    method === '' ||
    /^upgrade: *websocket\r$/im.test(asked) ||
    !headers.has('muster-request-id') ||
    Number(headers.get('content-length') ?? 0) !== Buffer.byteLength(text)
  )
    return
  checks.push(
    hold(`http://127.0.0.1:${port}`, {
      method,
      path: target,
      status: Number(first.split(' ')[1]),
      headers,
      text: method === 'HEAD' ? null : text,
    }),
  )
}

/** Reads the document again at the next response: a master of another release has taken over the address. */
export const forgetDocument = (origin: string): void => void contracts.delete(origin)

/** Checks no more responses of this origin: an older release returns what a newer one has stored. */
export const ignoreDocument = (origin: string): void => void contracts.set(origin, Promise.resolve(null))

afterEach(async () => {
  const made = checks
  checks = []
  await Promise.all(made)
  canaries.assertNone()
  if (faults.length > 0) throw new Error(`responses that openapi.json does not list:\n${faults.splice(0).join('\n')}`)
})

async function check(request: Request, response: Response): Promise<void> {
  const { origin, pathname } = new URL(request.url)
  // Fetch the document immediately: the master may be stopped when the body has been read.
  const contract = contractOf(origin)
  const text =
    // Null: the test aborted the stream.
    response.headers.get('content-type') === 'text/event-stream' ? null : await response.text().catch(() => null)
  await contract
  await hold(origin, {
    method: request.method,
    path: pathname,
    status: response.status,
    headers: response.headers,
    text,
  })
}

async function hold(origin: string, received: Parameters<Contract['faultsOf']>[0]): Promise<void> {
  const { method, path, status, headers, text } = received
  if (!CONFIG_POLL.test(`${method} ${status} ${path}`))
    canaries.scan(`the response to ${method} ${path}`, `${[...headers].join('\n')}\n${text ?? ''}`)
  const contract = await contractOf(origin)
  if (contract !== null) faults.push(...contract.faultsOf(received))
}

function contractOf(origin: string): Promise<Contract | null> {
  const known = contracts.get(origin)
  if (known !== undefined) return known
  const asked = readContract(origin)
  contracts.set(origin, asked)
  return asked
}

async function readContract(origin: string): Promise<Contract | null> {
  const text = await plainFetch(origin + DOCUMENT).then(
    (response) => (response.status === 200 ? response.text() : ''),
    () => null,
  )
  if (text === null) contracts.delete(origin) // It is not reachable; a later response may come from another master.
  if (text === null || text === '') return null
  const { Contract } = await import('./contract.ts') // Only needed when a master responds: most test files have none.
  const contract = documents.get(text) ?? new Contract(JSON.parse(text) as OpenApi)
  documents.set(text, contract)
  return contract
}
