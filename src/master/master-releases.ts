/**
 * @module master/master-releases
 * Tracks what the live masters of a store implement, so that workers and producers use only what all of them know
 * (D120). Each master records its version and features with its heartbeat. A master that records none is of a release
 * before that, and implements no added feature.
 */
import {
  ADDED_CALLS,
  ADDED_FORMATS,
  ADDED_TASK_FIELDS,
  FEATURES,
  FleetError,
  SOCKET_FEATURES,
  type Addition,
  type Feature,
} from '../protocol/index.ts'

/** Heartbeats are written every 5 s, so a master that has stopped is noticed after that time. */
const RETRY_AFTER_SECONDS = 5
const ADDITIONS: readonly Addition[] = [...ADDED_TASK_FIELDS, ...ADDED_CALLS, ...ADDED_FORMATS]

/** What a master records about itself. */
export interface MasterRelease {
  readonly version: string
  /** The layout of the store that it writes. */
  readonly layout: number
  readonly features: readonly string[]
  /** The added fields and calls that it accepts, and the added formats that it reads. */
  readonly additions: readonly string[]
}

/** A live master as `/me` shows it. Both fields are null for a release that records nothing. */
export interface LiveMaster {
  readonly version: string | null
  readonly layout: number | null
}

export class MasterReleases {
  readonly version: string
  /** What this master records, as JSON. */
  readonly text: string
  #live: readonly (MasterRelease | null)[]
  #features: ReadonlySet<Feature> = new Set(FEATURES)
  /** The live masters that lack an addition; null while every master has all of them. */
  #behind: readonly (MasterRelease | null)[] | null = null

  /** @param layout The layout of the store that this master writes. */
  constructor(version: string, layout: number) {
    const own = { version, layout, features: FEATURES, additions: ADDITIONS }
    this.version = version
    this.text = JSON.stringify(own)
    this.#live = [own]
  }

  /** The features that all live masters implement, and those that concern only a socket of this master. */
  get features(): ReadonlySet<Feature> {
    return this.#features
  }

  get masters(): readonly LiveMaster[] {
    return this.#live.map((release) => ({ version: release?.version ?? null, layout: release?.layout ?? null }))
  }

  /** Replaces what is known of the live masters. @param texts What each of them recorded; null: nothing. */
  update(texts: readonly (string | null)[]): void {
    this.#live = texts.map(parseRelease)
    this.#features = new Set(
      FEATURES.filter(
        (name) => SOCKET_FEATURES.has(name) || this.#live.every((each) => each?.features.includes(name) === true),
      ),
    )
    const behind = this.#live.filter((release) => ADDITIONS.some((name) => !hasAddition(release, name)))
    this.#behind = behind.length === 0 ? null : behind
  }

  /** Why a task may not be submitted now: it has a field that a live master does not know. Null if it may. */
  faultOf(task: object): FleetError | null {
    if (this.#behind === null) return null
    const values = task as Readonly<Record<string, unknown>>
    const used = ADDED_TASK_FIELDS.filter((field) => values[field] !== undefined && values[field] !== null)
    return used.map((field) => this.#missing(field)).find((fault) => fault !== null) ?? null
  }

  /** @throws {FleetError} UPGRADING while a live master does not know the call. */
  require(call: (typeof ADDED_CALLS)[number]): void {
    const fault = this.#missing(call)
    if (fault !== null) throw fault
  }

  /** Whether every live master reads the format. */
  canRead(format: (typeof ADDED_FORMATS)[number]): boolean {
    return this.#behind === null || this.#behind.every((release) => hasAddition(release, format))
  }

  #missing(name: Addition): FleetError | null {
    const lacking = this.#behind?.filter((release) => !hasAddition(release, name)) ?? []
    if (lacking.length === 0) return null
    const [oldest = ''] = lacking.map((release) => release?.version ?? '').toSorted(byVersion)
    const runs = oldest === '' ? 'an older release' : `version ${oldest}`
    return new FleetError(
      'UPGRADING',
      `"${name}" cannot be used yet: a live master runs ${runs}, which does not know it; upgrade that master`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    )
  }
}

const hasAddition = (release: MasterRelease | null, name: Addition): boolean =>
  release?.additions.includes(name) === true

const byVersion = (one: string, other: string): number => one.localeCompare(other, 'en', { numeric: true })

/** Reads what a master of any release recorded. @returns null if it is missing or unreadable. */
/** @returns what a master recorded; null if it recorded nothing that can be read. */
export function parseRelease(text: string | null): MasterRelease | null {
  if (text === null) return null
  try {
    const { version, layout, features, additions } = Object(JSON.parse(text)) as Partial<MasterRelease>
    if (typeof version !== 'string' || typeof layout !== 'number') return null
    return { version, layout, features: features ?? [], additions: additions ?? [] }
  } catch {
    return null
  }
}
