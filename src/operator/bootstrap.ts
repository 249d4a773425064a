/**
 * @module operator/bootstrap
 * Creates the Secrets that a first installation lacks, with random values: the tokens of the master, the token of
 * autoscalers, and the password of Redis. A chart template cannot do this, because it has to render the same output
 * each time.
 *
 *   missing ──server-side apply, without force──▶ created ──deleted: an emergency rotation──▶ created again, new values
 *      └── another client created it first: 409 ──▶ read
 *   present ──▶ never written, whatever it contains
 *
 * It uses apply instead of POST because apply names the object, so the right to create is limited to a few names. Each
 * process applies under its own field manager, so one of two simultaneous applies is rejected. The Secret type is
 * immutable, so an apply over a Secret that another client has created meanwhile is rejected as well.
 *
 * It runs in a process with its own ServiceAccount (bootstrap-process.ts). The operator, which reads Secrets that
 * FleetWorkers name, has no right to these (D63).
 * @see D54
 */
import { sleep, type Log, type Random, type Time } from '../runtime/index.ts'
import {
  apiVersionOf,
  KubeError,
  objectPath,
  refOf,
  type EventTarget,
  type KubeObject,
  type KubeTransport,
  type Resource,
} from './kube/index.ts'

const SECRETS: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' }
const LABELS = { 'app.kubernetes.io/managed-by': 'muster-operator' }
const ADMIN_TOKEN = 'admin-token'
const SECRET_BYTES = 32
/** Intervals of checking for a missing Secret, and for one that existed. */
const MISSING_MS = 1_000
const PRESENT_MS = 5_000

export interface BootstrapOptions {
  readonly namespace: string
  /** The names of the Secrets. `undefined`: the Secret is not created. */
  readonly tokens: string | undefined
  readonly redis: string | undefined
  readonly scaler: string | undefined
}

export interface BootstrapDeps extends BootstrapOptions {
  readonly transport: KubeTransport
  readonly time: Time
  readonly random: Random
  readonly log: Log
  readonly onMade: (secret: EventTarget) => void
}

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}
interface Plan {
  readonly name: string
  readonly type: string
  readonly make: () => Readonly<Record<string, string>>
}

export class Bootstrap {
  readonly #deps: BootstrapDeps
  readonly #plans: readonly Plan[]
  readonly #manager: string
  #isComplete = false
  /** The last incomplete state that was logged, so that each is logged once. */
  #lastLogged = ''

  constructor(deps: BootstrapDeps) {
    const { random, redis, scaler, tokens } = deps
    const secret = (): string => Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url')
    this.#deps = deps
    this.#manager = `muster-bootstrap-${random.uuid()}`
    this.#plans = [
      // Peers and scopes may be empty, so that an edit of the Secret alone can fill them later.
      ...(tokens === undefined
        ? []
        : [
            {
              name: tokens,
              type: 'muster.dev/tokens',
              make: () => ({
                [ADMIN_TOKEN]: secret(),
                'worker-token': secret(),
                'worker-tokens': '',
                'token-scopes': '{}',
              }),
            },
          ]),
      ...(redis === undefined ? [] : [{ name: redis, type: 'muster.dev/redis', make: () => ({ password: secret() }) }]),
      // A Secret of its own, because autoscalers read it in the namespace of the workload.
      ...(scaler === undefined
        ? []
        : [{ name: scaler, type: 'muster.dev/scaler', make: () => ({ 'scaler-token': secret() }) }]),
    ]
  }

  /** Whether the last check found every Secret, with an admin token among the tokens. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const lacking = await this.#lacking(signal)
      this.#isComplete = lacking === ''
      if (lacking !== '' && lacking !== this.#lastLogged && !signal.aborted)
        this.#deps.log.warn('a Secret that bootstrap creates is still missing, retrying', { why: lacking })
      this.#lastLogged = lacking
      await sleep(this.#deps.time, lacking === '' ? PRESENT_MS : MISSING_MS, signal)
    }
  }

  /** @returns why the Secrets are incomplete; empty if they are complete. */
  async #lacking(signal: AbortSignal): Promise<string> {
    try {
      for (const plan of this.#plans) {
        const secret =
          (await this.#read(plan, signal)) ?? (await this.#make(plan, signal)) ?? (await this.#read(plan, signal))
        if (secret === undefined) return `the Secret ${plan.name} was deleted again right after it was created`
        if (plan.name !== this.#deps.tokens) continue
        const token = Buffer.from(secret.data?.[ADMIN_TOKEN] ?? '', 'base64')
          .toString('utf8')
          .trim()
        if (token === '')
          return (
            `the Secret ${plan.name} has no ${ADMIN_TOKEN}: ` +
            'add it, or delete the Secret so that all of it is created again'
          )
      }
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }

  async #read({ name }: Plan, signal: AbortSignal): Promise<Secret | undefined> {
    const { namespace, transport } = this.#deps
    try {
      return (await transport.json<Secret>({ method: 'GET', path: objectPath(SECRETS, { namespace, name }) }, signal))
        .body
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined
      throw error
    }
  }

  /** @returns the Secret; `undefined` if another client created it first. */
  async #make({ make, name, type }: Plan, signal: AbortSignal): Promise<Secret | undefined> {
    const { log, namespace, onMade, transport } = this.#deps
    const data = Object.fromEntries(
      Object.entries(make()).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    )
    const body = {
      apiVersion: apiVersionOf(SECRETS),
      kind: SECRETS.kind,
      metadata: { name, namespace, labels: LABELS },
      type,
      data,
    }
    try {
      const { body: made } = await transport.json<Secret>(
        {
          method: 'PATCH',
          path: objectPath(SECRETS, { namespace, name }),
          query: { fieldManager: this.#manager },
          contentType: 'application/apply-patch+yaml',
          body,
        },
        signal,
      )
      log.info('created a missing Secret with new values', { secret: `${namespace}/${name}` })
      onMade({ ...refOf(made), apiVersion: apiVersionOf(SECRETS), kind: SECRETS.kind })
      return made
    } catch (error) {
      if (error instanceof KubeError && error.status === 409) return undefined
      throw error
    }
  }
}
