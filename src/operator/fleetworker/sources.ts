/**
 * @module operator/fleetworker/sources
 * Secrets and ConfigMaps that FleetWorkers name, by GET alone: whoever may list Secrets may read them all. The names are
 * polled, metadata only, each once a period however many resources share it; another version enqueues those. What a
 * resource waits for, as it was missing or of no use, is polled more often: somebody is about to mend it.
 *
 *   poll ── another version, gone, back ──▶ told     read ── version ──▶ wanted? ── yes ──▶ data, dropped after use
 *
 * A Secret's data is never kept. A ConfigMap's is, up to a bound, as it is compared at each pass.
 */
import { TextDecoder } from 'node:util'
import { Buffer } from 'node:buffer'
import type { Clock, Log, Timers } from '../../runtime/index.ts'
import {
  keyOf,
  KubeError,
  objectPath,
  type KubeObject,
  type KubeTransport,
  type ObjectKey,
  type Resource,
} from '../kube/index.ts'
import type { Source } from './desired.ts'
import { sourceNamesOf, type FleetWorkerObject, type SourceName } from './resource.ts'
import type { ConfigSource } from './schema.ts'

/** How often what is named is polled, and what is waited for. */
const POLLS = { named: { periodMs: 60_000, perSecond: 20 }, awaited: { periodMs: 5_000, perSecond: 10 } } as const
/** Until names are looked for again where there are none. */
const EMPTY_MS = 2_000
const MAX_KEPT_CHARS = 8 * 1_048_576
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
/** With a name of the API server; "." and ".." would lead to another path. */
const ADDRESS = /^[^/]+\/[^/]+\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/

/** In the place of a value that nobody needs, as its version says enough; text and JSON alike. */
const UNREAD = 'null'

export type SourceFault = {
  readonly reason: 'SourceNotFound' | 'SourceForbidden' | 'ConfigInvalid'
  readonly message: string
}

export interface ReadSources {
  /** By field. */
  readonly sources: ReadonlyMap<string, Source>
  /** Fields whose text was not wanted. */
  readonly unread: ReadonlySet<string>
}

export interface SourceDeps {
  readonly transport: KubeTransport
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  /** What resources name now. */
  readonly resources: () => Iterable<FleetWorkerObject>
  /** This source is another than it was. Listeners may only enqueue keys. */
  readonly onChange: (name: SourceName) => void
}

interface Holder extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}
/** `''`: it is not there, or may not be read. */
type Version = string

export class Sources {
  readonly #deps: SourceDeps
  readonly #versions = new Map<SourceName, Version>()
  /** What the last read for a resource found missing, or of no use: another may find its own in the same object. */
  readonly #awaited = new Map<ObjectKey, SourceName>()
  readonly #kept = new Map<string, string>()
  #keptChars = 0

  constructor(deps: SourceDeps) {
    this.#deps = deps
  }

  /** @param wants whether the text of a field is needed when it comes from this version. @throws {KubeError} */
  async read(
    resource: FleetWorkerObject,
    wants: (field: string, version: string) => boolean,
    signal: AbortSignal,
  ): Promise<ReadSources | SourceFault> {
    const sources = new Map<string, Source>()
    const unread = new Set<string>()
    const read = new Map<SourceName, Holder>() // Several fields may come from one object.
    const key = keyOf(resource.metadata)
    for (const source of resource.spec.configFrom ?? []) {
      const { field } = source
      const address = addressOf(resource, source)
      const found = await this.#one(address, source, read, wants, signal)
      if ('reason' in found) {
        this.#awaited.set(key, address)
        return found
      }
      if (found.text === undefined) unread.add(field)
      sources.set(field, { version: found.version, text: found.text ?? UNREAD })
    }
    this.#awaited.delete(key)
    return { sources, unread }
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
      if (names.length === 0) await this.#pause(EMPTY_MS, signal)
      for (const name of names) {
        await this.#pause(pauseMs, signal)
        if (!signal.aborted) await this.#poll(name, signal)
      }
    }
  }

  /** What is named no longer is forgotten. */
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
    for (const name of this.#versions.keys()) if (!names.has(name)) this.#versions.delete(name)
    for (const key of this.#awaited.keys()) if (!awaiting.has(key)) this.#awaited.delete(key)
    return names
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return this.#deps.timers.sleep(ms, signal).catch(() => {}) // Aborted: the loop ends.
  }

  async #poll(name: SourceName, signal: AbortSignal): Promise<void> {
    const before = this.#versions.get(name)
    if (!ADDRESS.test(name)) return
    try {
      const after = await this.#look(name, signal)
      if (before !== undefined && before !== after) this.#deps.onChange(name)
    } catch (error) {
      if (!signal.aborted)
        this.#deps.log.debug('a source could not be polled, it is tried again', { source: name, error })
    }
  }

  /** The version as it is now. A source that may not be read is as good as none. */
  async #look(name: SourceName, signal: AbortSignal): Promise<Version> {
    return versionOf(
      await this.#get(name, METADATA, signal).catch((error: unknown) => {
        if (error instanceof KubeError && error.status === 403) return undefined
        throw error
      }),
    )
  }

  async #one(
    address: SourceName,
    source: ConfigSource,
    read: Map<SourceName, Holder>,
    wants: (field: string, version: string) => boolean,
    signal: AbortSignal,
  ): Promise<{ readonly version: Version; readonly text: string | undefined } | SourceFault> {
    const { field, secretKeyRef, configMapKeyRef } = source
    const { name = '', key = '' } = secretKeyRef ?? configMapKeyRef ?? {}
    const what = `the ${secretKeyRef === undefined ? 'ConfigMap' : 'Secret'} ${name}, which ${field} is read from,`
    if (!ADDRESS.test(address))
      return { reason: 'ConfigInvalid', message: `${what} has a name that no object can have` }
    try {
      const version = read.has(address) ? versionOf(read.get(address)) : await this.#versionOf(address, signal)
      if (version !== '' && !wants(field, version)) return { version, text: undefined }
      const kept = this.#kept.get(`${address}/${key}`)
      if (kept?.startsWith(`${version} `) === true) return { version, text: kept.slice(version.length + 1) }
      const holder = read.get(address) ?? (await this.#get(address, 'application/json', signal))
      if (holder === undefined) return { reason: 'SourceNotFound', message: `${what} does not exist` }
      read.set(address, holder)
      return this.#textOf(holder, { address, key, what })
    } catch (error) {
      if (error instanceof KubeError && error.status === 403)
        return { reason: 'SourceForbidden', message: `${what} may not be read by the operator` }
      throw error
    }
  }

  /** As polled; one that was not there is looked for again. */
  async #versionOf(name: SourceName, signal: AbortSignal): Promise<Version> {
    const known = this.#versions.get(name) ?? ''
    return known === '' ? versionOf(await this.#get(name, METADATA, signal)) : known
  }

  #textOf(
    holder: Holder,
    { address, key, what }: { readonly address: SourceName; readonly key: string; readonly what: string },
  ): { readonly version: Version; readonly text: string } | SourceFault {
    const version = versionOf(holder)
    const data = holder.data ?? {}
    const raw = Object.hasOwn(data, key) ? data[key] : undefined
    if (raw === undefined) return { reason: 'SourceNotFound', message: `${what} has no key ${key}` }
    if (address.startsWith('configmaps/')) {
      this.#keep(`${address}/${key}`, `${version} ${raw}`)
      return { version, text: raw }
    }
    const text = decoded(raw)
    return text === undefined
      ? { reason: 'ConfigInvalid', message: `${what} holds bytes that are no text` }
      : { version, text }
  }

  /** Undefined: it is not there. The version is noted either way. */
  async #get(name: SourceName, accept: string, signal: AbortSignal): Promise<Holder | undefined> {
    const [plural = '', namespace = '', object = ''] = name.split('/')
    const resource: Resource = { group: '', version: 'v1', plural, kind: '' }
    try {
      const { body } = await this.#deps.transport.json<Holder>(
        { method: 'GET', path: objectPath(resource, { namespace, name: object }), accept },
        signal,
      )
      this.#versions.set(name, versionOf(body))
      return body
    } catch (error) {
      if (!(error instanceof KubeError) || (error.status !== 404 && error.status !== 403)) throw error
      this.#versions.set(name, '')
      if (error.status === 403) throw error
      return undefined
    }
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

const addressOf = (
  { metadata: { namespace } }: FleetWorkerObject,
  { secretKeyRef, configMapKeyRef }: ConfigSource,
): SourceName =>
  secretKeyRef === undefined
    ? `configmaps/${namespace}/${configMapKeyRef?.name ?? ''}`
    : `secrets/${namespace}/${secretKeyRef.name}`

const versionOf = (holder: KubeObject | undefined): Version =>
  holder === undefined ? '' : `${holder.metadata.uid}:${holder.metadata.resourceVersion}`

function decoded(base64: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'))
  } catch {
    return undefined // Not UTF-8: the caller says so, in words that quote nothing.
  }
}
