/**
 * @module operator/issuer-keys
 * Copies the public keys that sign ServiceAccount tokens from the API server to a ConfigMap, which masters mount. So a
 * master verifies the tokens of workers and of the operator without a credential for the API server.
 *
 *   every minute: GET /openid/v1/jwks ──▶ server-side apply of the ConfigMap, key `keys.json`
 *
 * The API server signs with a new key only after a restart, and lists the key from then on. The apply changes
 * nothing if the keys are the same, and restores a ConfigMap that was deleted or edited. While the API server is
 * unreachable the ConfigMap keeps the last keys.
 * @see D234
 */
import { sleep, type Log, type Time } from '../runtime/index.ts'
import { apiVersionOf, objectPath, type KubeTransport, type Resource } from './kube/index.ts'

const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' }
const KEYS_PATH = '/openid/v1/jwks'
const KEYS_TYPE = 'application/jwk-set+json'
const FIELD_MANAGER = 'muster-operator-keys'
const EVERY_MS = 60_000
const RETRY_MS = 5_000

export interface IssuerKeysDeps {
  readonly namespace: string
  /** The name of the ConfigMap, in `namespace`, for the keys of ServiceAccount tokens. `undefined`: not copied. */
  readonly issuerKeys?: string | undefined
  readonly transport: KubeTransport
  readonly time: Time
  readonly log: Log
}

/** Copies the keys until `signal` aborts. Never rejects. */
export async function publishIssuerKeys(deps: IssuerKeysDeps, signal: AbortSignal): Promise<void> {
  const { issuerKeys: name, log, namespace, time, transport } = deps
  if (name === undefined) return
  let [published, logged] = ['', '']
  while (!signal.aborted) {
    let waitMs = EVERY_MS
    try {
      const keys = await readKeys(transport, signal)
      await apply(deps, name, keys, signal)
      if (keys !== published)
        log.info('published the keys of ServiceAccount tokens', { configMap: `${namespace}/${name}` })
      published = keys
      logged = ''
    } catch (error) {
      const why = (error as Error).message
      if (why !== logged && !signal.aborted)
        log.warn('cannot publish the keys of ServiceAccount tokens, retrying', {
          configMap: `${namespace}/${name}`,
          why,
        })
      logged = why
      waitMs = RETRY_MS
    }
    await sleep(time, waitMs, signal)
  }
}

/** @throws {Error} if the response is no set of keys: it must not replace keys that work. */
async function readKeys(transport: KubeTransport, signal: AbortSignal): Promise<string> {
  const { body } = await transport.json<{ readonly keys?: unknown }>(
    { method: 'GET', path: KEYS_PATH, accept: KEYS_TYPE },
    signal,
  )
  if (!Array.isArray(body.keys) || body.keys.length === 0)
    throw new Error(`${KEYS_PATH} of the API server lists no keys`)
  return JSON.stringify(body)
}

async function apply(
  { namespace, transport }: IssuerKeysDeps,
  name: string,
  keys: string,
  signal: AbortSignal,
): Promise<void> {
  await transport.json(
    {
      method: 'PATCH',
      path: objectPath(CONFIG_MAPS, { namespace, name }),
      query: { fieldManager: FIELD_MANAGER, force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion: apiVersionOf(CONFIG_MAPS),
        kind: CONFIG_MAPS.kind,
        metadata: { name, namespace, labels: { 'app.kubernetes.io/managed-by': 'muster-operator' } },
        data: { 'keys.json': keys },
      },
    },
    signal,
  )
}
