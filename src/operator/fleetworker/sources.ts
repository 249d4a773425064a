/**
 * @module operator/fleetworker/sources
 * Reads the Secrets and ConfigMaps that FleetWorkers or FleetWorkerSets name, by GET alone, because the right to list
 * Secrets is the right to read all of them. The named sources are polled for metadata only, each once per period
 * however many resources share it. A new version enqueues those resources. A source that was missing or unusable is
 * polled more often, because a user is probably about to fix it.
 *
 *   poll or read ── another version, deleted, created ──▶ onChange
 *   read ── reserved? ─no─▶ metadata ── consent? ─yes─▶ version ── wanted? ─yes─▶ data, consent again, then dropped
 *
 * Data is requested only with the consent of its owner, an annotation on the Secret or ConfigMap. Without it, every
 * author of a FleetWorker could read any Secret of the namespace: the operator reads it, and a worker sends it to the
 * author's target. A reserved Secret is not requested at all (D62).
 *
 *   muster.dev/config-for: http-probe            FleetWorkers of this automation type
 *   muster.dev/config-for: http-probe/probe-1    this FleetWorker alone
 *   muster.dev/config-for: http-probe,crawler    any of several
 *   muster.dev/config-for: "*"                   every FleetWorker of the namespace
 *
 * The data of a Secret is never cached. That of a ConfigMap is, up to a limit, because each reconcile compares it.
 */
import { TextDecoder } from 'node:util'
import { Buffer } from 'node:buffer'
import { sleep, type Clock, type Log, type Timers } from '../../runtime/index.ts'
import type { ConfigSource } from '../config/index.ts'
import {
  KubeError,
  type KubeObject,
  type KubeTransport,
  type ObjectKey,
  type Resource,
  keyOf,
  objectPath,
} from '../kube/index.ts'
import type { Source } from './desired.ts'
import { type SourceName, type SourceUser, sourceNamesOf } from './resource.ts'
import { TYPE_PATTERN } from '../../protocol/index.ts'

/** Rates of polling named sources, and sources that a resource waits for. */
const POLLS = { named: { periodMs: 60_000, perSecond: 20 }, awaited: { periodMs: 5_000, perSecond: 10 } } as const
/** Interval of checking for names while there are none. */
const EMPTY_MS = 2_000
const MAX_KEPT_CHARS = 8 * 1_048_576
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
/** The name must be valid for the API server; "." and ".." would lead to another path. */
const ADDRESS = /^[^/]+\/[^/]+\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/

/** Placeholder for a value that is not needed because its version suffices; valid as text and as JSON. */
const UNREAD = 'null'

export interface SourceFault {
  readonly kind: 'fault'
  readonly reason: 'SourceNotFound' | 'SourceForbidden' | 'ConfigInvalid'
  readonly message: string
}

export interface ReadSources {
  readonly kind: 'read'
  /** By field. */
  readonly sources: ReadonlyMap<string, Source>
  /** Fields whose text was not requested. */
  readonly unread: ReadonlySet<string>
}

export interface SourceDeps {
  readonly transport: KubeTransport
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  /** All objects of the kind, for the sources that they name. */
  readonly resources: () => Iterable<SourceUser>
  /** Secrets that Muster itself uses. They are never requested. */
  readonly reserved: ReadonlySet<SourceName>
  /** Called when a source has changed. Listeners may only enqueue keys. */
  readonly onChange: (name: SourceName) => void
}

interface Holder extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}
/** The metadata of a source that the operator uses. */
interface Known {
  /** `undefined`: the source does not exist, or may not be read. */
  readonly version: string | undefined
  readonly consent: string | undefined
}
/** One source that was read. */
interface FoundSource {
  readonly kind: 'found'
  readonly version: string
  /** `undefined`: not requested. */
  readonly text: string | undefined
}
/** One entry of configFrom that is being read. */
interface Wanted {
  readonly resource: SourceUser
  readonly address: SourceName
  readonly name: string
  readonly key: string
  readonly kind: 'Secret' | 'ConfigMap'
  /** The use of the source, for messages. */
  readonly used: string
}

export class Sources {
  readonly #deps: SourceDeps
  readonly #known = new Map<SourceName, Known>()
  /**
   * The source that the last read for a resource found missing or unusable. Another resource may be able to use the
   * same object.
   */
  readonly #awaited = new Map<ObjectKey, SourceName>()
  readonly #kept = new Map<string, string>()
  #keptChars = 0

  constructor(deps: SourceDeps) {
    this.#deps = deps
  }

  /** @param wants whether the text of a field is needed if it comes from this version. @throws {KubeError} */
  async read(
    resource: SourceUser,
    wants: (field: string, version: string) => boolean,
    signal: AbortSignal,
  ): Promise<ReadSources | SourceFault> {
    const sources = new Map<string, Source>()
    const unread = new Set<string>()
    const read = new Map<SourceName, Holder>() // Several fields may come from one object.
    const key = keyOf(resource.metadata)
    for (const source of resource.spec.configFrom ?? []) {
      const { field } = source
      const wanted = wantedOf(resource, source)
      const found = await this.#one(wanted, read, (version) => wants(field, version), signal)
      if (found.kind === 'fault') {
        this.#awaited.set(key, wanted.address)
        return found
      }
      if (found.text === undefined) unread.add(field)
      sources.set(field, { version: found.version, text: found.text ?? UNREAD })
    }
    this.#awaited.delete(key)
    return { kind: 'read', sources, unread }
  }

  /** Polls until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#pollAll(POLLS.named, () => this.#named(), signal),
      this.#pollAll(POLLS.awaited, () => new Set(this.#awaited.values()), signal),
    ])
  }

  async #pollAll(
    { periodMs, perSecond }: (typeof POLLS)[keyof typeof POLLS],
    which: () => ReadonlySet<SourceName>,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      const names = [...which()]
      const pauseMs = Math.max(periodMs / Math.max(names.length, 1), 1_000 / perSecond)
      if (names.length === 0) await sleep(this.#deps.timers, EMPTY_MS, signal)
      for (const name of names) {
        if (await sleep(this.#deps.timers, pauseMs, signal)) await this.#poll(name, signal)
      }
    }
  }

  /** @returns the named sources, and drops those that are no longer named. */
  #named(): ReadonlySet<SourceName> {
    const names = new Set<SourceName>()
    const awaiting = new Set<ObjectKey>()
    for (const resource of this.#deps.resources()) {
      const key = keyOf(resource.metadata)
      for (const name of sourceNamesOf(resource)) {
        names.add(name)
        if (this.#awaited.get(key) === name) awaiting.add(key)
      }
    }
    for (const name of this.#known.keys()) if (!names.has(name)) this.#known.delete(name)
    for (const key of this.#awaited.keys()) if (!awaiting.has(key)) this.#awaited.delete(key)
    return names
  }

  async #poll(name: SourceName, signal: AbortSignal): Promise<void> {
    if (!ADDRESS.test(name) || this.#deps.reserved.has(name)) return
    try {
      await this.#get(name, METADATA, signal)
    } catch (error) {
      if (!signal.aborted)
        this.#deps.log.debug('failed to check a Secret or ConfigMap for changes, retrying', { source: name, error })
    }
  }

  async #one(
    wanted: Wanted,
    read: Map<SourceName, Holder>,
    wants: (version: string) => boolean,
    signal: AbortSignal,
  ): Promise<FoundSource | SourceFault> {
    const { address, key, resource, kind, name, used } = wanted
    if (!ADDRESS.test(address))
      return fault(
        'ConfigInvalid',
        `spec.configFrom: ${JSON.stringify(name)} cannot be the name of a ${kind} (${used}); correct the name`,
      )
    if (this.#deps.reserved.has(address))
      return fault(
        'SourceForbidden',
        `the ${kind} ${name} (${used}) contains credentials of Muster itself, ` +
          'which the operator never reads for a config; use another Secret',
      )
    try {
      const { version, consent } = read.has(address) ? knownOf(read.get(address)) : await this.#knownOf(address, signal)
      if (version === undefined) return notFound(wanted)
      if (!consents(consent, resource)) return withoutConsent(wanted, consent)
      if (!wants(version)) return { kind: 'found', version, text: undefined }
      const kept = this.#kept.get(`${address}/${key}`)
      if (kept?.startsWith(`${version} `) === true)
        return { kind: 'found', version, text: kept.slice(version.length + 1) }
      const holder = read.get(address) ?? (await this.#get(address, 'application/json', signal))
      if (holder === undefined) return notFound(wanted)
      read.set(address, holder)
      const { consent: now } = knownOf(holder)
      // Withdrawn between the two requests.
      return consents(now, resource) ? this.#textOf(holder, wanted) : withoutConsent(wanted, now)
    } catch (error) {
      if (error instanceof KubeError && error.status === 403)
        return fault(
          'SourceForbidden',
          `the operator has no right to read the ${kind} ${name} (${used}); ` +
            'grant it, for example in operator.configFrom of the chart',
        )
      throw error
    }
  }

  /** @returns the polled metadata; reads them again for a source that was missing. */
  async #knownOf(name: SourceName, signal: AbortSignal): Promise<Known> {
    const known = this.#known.get(name)
    return known?.version === undefined ? knownOf(await this.#get(name, METADATA, signal)) : known
  }

  #textOf(holder: Holder, wanted: Wanted): FoundSource | SourceFault {
    const { address, key } = wanted
    const version = versionOf(holder)
    const data = holder.data ?? {}
    const raw = Object.hasOwn(data, key) ? data[key] : undefined
    if (raw === undefined)
      return fault(
        'SourceNotFound',
        `the ${wanted.kind} ${wanted.name} has no key ${JSON.stringify(key)} (${wanted.used}); ` +
          'add the key, or correct spec.configFrom',
      )
    if (address.startsWith('configmaps/')) {
      this.#keep(`${address}/${key}`, `${version} ${raw}`)
      return { kind: 'found', version, text: raw }
    }
    const text = decoded(raw)
    return text === undefined
      ? fault(
          'ConfigInvalid',
          `the key ${JSON.stringify(key)} of the Secret ${wanted.name} (${wanted.used}) ` +
            'is not UTF-8 text; store text in it',
        )
      : { kind: 'found', version, text }
  }

  /** @returns `undefined` if the source does not exist. Its metadata are stored either way. */
  async #get(name: SourceName, accept: string, signal: AbortSignal): Promise<Holder | undefined> {
    const [plural = '', namespace = '', object = ''] = name.split('/')
    const resource: Resource = { group: '', version: 'v1', plural, kind: '' }
    try {
      const { body } = await this.#deps.transport.json<Holder>(
        { method: 'GET', path: objectPath(resource, { namespace, name: object }), accept },
        signal,
      )
      this.#learn(name, knownOf(body))
      return body
    } catch (error) {
      if (!(error instanceof KubeError) || (error.status !== 404 && error.status !== 403)) throw error
      this.#learn(name, knownOf(undefined)) // A source that may not be read counts as missing.
      if (error.status === 403) throw error
      return undefined
    }
  }

  /** A read for one resource may find a change before the poll does. All resources with this source are notified. */
  #learn(name: SourceName, now: Known): void {
    const before = this.#known.get(name)
    this.#known.set(name, now)
    if (before !== undefined && before.version !== now.version) this.#deps.onChange(name)
  }

  #keep(at: string, text: string): void {
    this.#keptChars += text.length - (this.#kept.get(at)?.length ?? 0)
    this.#kept.delete(at)
    this.#kept.set(at, text)
    for (const [oldest, { length }] of this.#kept) {
      if (this.#keptChars <= MAX_KEPT_CHARS) return
      this.#kept.delete(oldest)
      this.#keptChars -= length
    }
  }
}

function wantedOf(resource: SourceUser, { field, secretKeyRef, configMapKeyRef }: ConfigSource): Wanted {
  const { name = '', key = '' } = secretKeyRef ?? configMapKeyRef ?? {}
  const [plural, kind] =
    secretKeyRef === undefined ? (['configmaps', 'ConfigMap'] as const) : (['secrets', 'Secret'] as const)
  return {
    resource,
    address: `${plural}/${resource.metadata.namespace}/${name}`,
    name,
    key,
    kind,
    used: `source of the config field ${field}`,
  }
}

const fault = (reason: SourceFault['reason'], message: string): SourceFault => ({ kind: 'fault', reason, message })

const notFound = ({ kind, name, used }: Wanted): SourceFault =>
  fault('SourceNotFound', `the ${kind} ${name} does not exist (${used}); create it, or correct spec.configFrom`)

const withoutConsent = ({ kind, name, resource, used }: Wanted, consent: string | undefined): SourceFault =>
  fault(
    'SourceForbidden',
    `the ${kind} ${name} (${used}) does not permit its use by this object, so workers keep their current ` +
      `config; to permit it: ${annotateCommand(kind === 'Secret' ? 'secret' : 'configmap', name, resource, consent)}`,
  )

const versionOf = ({ metadata }: KubeObject): string => `${metadata.uid}:${metadata.resourceVersion}`

const knownOf = (holder: KubeObject | undefined): Known =>
  holder === undefined
    ? { version: undefined, consent: undefined }
    : {
        version: versionOf(holder),
        consent: holder.metadata.annotations?.[CONSENT_ANNOTATION],
      }

function decoded(base64: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'))
  } catch {
    return undefined // Not UTF-8. The caller reports this without quoting the text.
  }
}

export const CONSENT_ANNOTATION = 'muster.dev/config-for'

const ENTRY = new RegExp(`^${TYPE_PATTERN.replace(/^\^|\$$/g, '')}(/[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$`)

/** Whether the annotation exists and names this object. */
function consents(annotation: string | undefined, { metadata, spec }: SourceUser): boolean {
  const entries = entriesOf(annotation)
  return entries.includes('*') || entries.includes(spec.type) || entries.includes(`${spec.type}/${metadata.name}`)
}

/** The command that adds the type of this object to the annotation. Malformed entries are left out. */
function annotateCommand(
  kind: 'secret' | 'configmap',
  name: string,
  { metadata, spec }: SourceUser,
  annotation: string | undefined,
): string {
  const entries = [...entriesOf(annotation).filter((entry) => ENTRY.test(entry)), spec.type]
  return (
    `kubectl annotate ${kind} ${name} -n ${metadata.namespace} ` +
    `${CONSENT_ANNOTATION}=${entries.join(',')} --overwrite`
  )
}

const entriesOf = (annotation = ''): readonly string[] => annotation.split(',').map((entry) => entry.trim())
