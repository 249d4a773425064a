/**
 * @module operator/fleetworkerset/source-versions
 * Finds the version at which the value of a source changed last, which is part of the revision. Secrets get a new
 * resourceVersion also if only a label, an annotation or another key changes, and that is no reason for a rollout.
 *
 *   version 1  api_key: a            the value is of version 1
 *   version 2  api_key: a, a label   equal digests: still of version 1
 *   version 3  api_key: b            of version 3: a rollout
 *
 * Digests are keyed and stay in this process. What they showed is stored in `status.sources`, as `<version>
 * <newest version with the same value>`, so a restarted operator reads no Secret for it. Of a Secret that changed while
 * no operator ran, or that this process has not read yet, the value counts as new.
 */
import { MAX_SOURCE_VERSION_CHARS } from '../config/index.ts'
import type { FleetWorkerSetStatus } from './schema.ts'

type Shown = NonNullable<FleetWorkerSetStatus['sources']>[number]

interface KnownSource {
  /** Where the value changed last, and the newest version that has it. */
  readonly version: string
  readonly newest: string
  /** Digest of the value; `undefined` before this process has read it. */
  readonly digest: string | undefined
}

/** One source as it was read. */
export interface SeenSource {
  readonly field: string
  readonly version: string
  /** `undefined`: not read. */
  readonly text: string | undefined
}

export class SourceVersions {
  readonly #digestOf: (text: string) => string
  readonly #known = new Map<string, KnownSource>()

  constructor(digestOf: (text: string) => string) {
    this.#digestOf = digestOf
  }

  /** Whether only the value shows if it is of an earlier version. */
  needsValue(field: string, version: string): boolean {
    const known = this.#known.get(field)
    return known?.digest !== undefined && version !== known.version && version !== known.newest
  }

  /** @returns the version of each field at which its value changed last. */
  resolve(sources: readonly SeenSource[], recorded: readonly Shown[] = []): ReadonlyMap<string, string> {
    const fields = new Set(sources.map(({ field }) => field))
    for (const field of this.#known.keys()) if (!fields.has(field)) this.#known.delete(field)
    for (const shown of recorded) if (fields.has(shown.field) && !this.#known.has(shown.field)) this.#restore(shown)
    return new Map(sources.map((source) => [source.field, this.#resolveOne(source)]))
  }

  /** What the status stores about these versions. */
  shown(versions: ReadonlyMap<string, string>): readonly Shown[] {
    return [...versions].map(([field, version]) => {
      const known = this.#known.get(field)
      const both = `${version} ${known?.newest}`
      const hasNewer = known !== undefined && known.version === version && known.newest !== version
      return { field, version: hasNewer && both.length <= MAX_SOURCE_VERSION_CHARS ? both : version }
    })
  }

  #restore({ field, version: text }: Shown): void {
    const [version = '', newest = version] = text.split(' ')
    if (version !== '') this.#known.set(field, { version, newest, digest: undefined })
  }

  #resolveOne({ field, text, version }: SeenSource): string {
    const known = this.#known.get(field)
    const isKnown = known !== undefined && (version === known.version || version === known.newest)
    if (text === undefined) return isKnown ? known.version : version
    const digest = this.#digestOf(text)
    const isSame = known !== undefined && (known.digest === undefined ? isKnown : known.digest === digest)
    const resolved = isSame ? known.version : version
    this.#known.set(field, { version: resolved, newest: version, digest })
    return resolved
  }
}
