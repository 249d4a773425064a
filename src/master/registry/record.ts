/**
 * @module master/registry/record
 * Renders a stored worker as the record of the REST API. Secrets are masked here and nowhere later (D17, D52).
 * Hardware, labels and statistics are inserted as the stored text.
 *
 * The installed automation decides which fields a config has. A stored field that its schema no longer has is omitted,
 * and a new field has its default. So an upgrade needs no migration.
 */
import {
  BASE_CONFIG_NAMES,
  CLOSE,
  maskSecrets,
  mergeConfig,
  RESERVED_METRICS,
  RUN_MS_PREFIX,
  toSeconds,
  type ConfigBody,
  type DepartureBody,
  type HistoryBody,
  type JsonObject,
  type JsonText,
  type Stats,
} from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { ConfigRow, Departure, HistoryRow, WorkerRow } from '../../storage/index.ts'

/**
 * `summary`: the four base fields of the config, the host name, and statistics without `metrics` and `per_slot` (D47).
 */
export type View = 'summary' | undefined

const secondsOrNull = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms))
const parseObject = (text: JsonText): JsonObject => JSON.parse(text) as JsonObject

/**
 * The config with the fields of the installed automation and unmasked secrets, for merging and for the worker's poll.
 */
export function currentConfig(entry: CatalogEntry, stored: JsonText): JsonObject {
  return { ...entry.defaults, ...knownFields(entry, stored) }
}

/** Only fields that the schema has, because the schema decides which fields are secret. */
function knownFields({ configSchema }: CatalogEntry, stored: JsonText): JsonObject {
  const properties = configSchema['properties'] ?? {}
  return Object.fromEntries(Object.entries(parseObject(stored)).filter(([name]) => Object.hasOwn(properties, name)))
}

const shownConfig = (entry: CatalogEntry, stored: JsonText): JsonObject =>
  maskSecrets(currentConfig(entry, stored), entry.secrets)

/** Renders the worker record as JSON text. */
export function recordText(row: WorkerRow, entry: CatalogEntry, view: View): JsonText {
  const plain = JSON.stringify({
    worker_id: row.id,
    automation_type: row.type,
    state: row.state,
    connected: row.connected,
    draining: row.draining,
    last_seen: toSeconds(row.lastSeenAtMs),
    last_error: row.lastError,
    state_since: toSeconds(row.stateSinceMs),
    registered_at: toSeconds(row.registeredAtMs),
    config_gen: row.config.gen,
    applied_config_gen: row.appliedGen,
    managed_by: row.managedBy,
    config_changed_at: secondsOrNull(row.config.changedAtMs),
    config_changed_by: row.config.actor,
    tasks_held: reservedValue(row.stats, RESERVED_METRICS.tasksHeld),
    refused_config_gen: reservedValue(row.stats, RESERVED_METRICS.refusedConfigGen),
    config_revision: row.configRevision,
    ended: row.ended,
    drain_requested_at: row.drainRequest === undefined ? null : toSeconds(row.drainRequest.atMs),
    drain_requested_by: row.drainRequest?.actor ?? null,
    departure: departureBody(row),
  })
  const config = shownConfig(entry, row.config.config)
  const parts =
    view === 'summary'
      ? {
          hardware: JSON.stringify(picked(parseObject(row.hardware), ['hostname'])),
          config: JSON.stringify(picked(config, BASE_CONFIG_NAMES)),
          stats: row.stats === null ? 'null' : summaryStats(row.stats),
        }
      : {
          hardware: row.hardware,
          config: JSON.stringify(config),
          stats: row.stats === null ? 'null' : fullStats(row.stats),
        }
  const labels = row.labels ?? '{}'
  const { hardware, config: shown, stats } = parts
  return `${plain.slice(0, -1)},"hardware":${hardware},"labels":${labels},"config":${shown},"current_stats":${stats}}`
}

/** How the last connection of a worker ended; null while it is connected, or if it is not known (D195). */
export function departureBody({ departure, ended }: Pick<WorkerRow, 'departure' | 'ended'>): DepartureBody | null {
  if (departure === undefined) return null
  const { atMs, drain, code, reason } = departure
  const kind = departureKind(departure, ended)
  return { kind, at: toSeconds(atMs), by: kind === 'drained' ? (drain?.actor ?? null) : null, code, reason }
}

function departureKind({ by, code, wasDraining }: Departure, isOrderly: boolean): DepartureBody['kind'] {
  if (isOrderly) return wasDraining ? 'drained' : 'stopped'
  return by === 'master' && code !== CLOSE.GOING_AWAY ? 'evicted' : 'lost'
}

function picked(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name)))
}

/** The host name of stored hardware. */
export function hostOf(hardware: JsonText): string {
  const { hostname } = parseObject(hardware)
  return typeof hostname === 'string' ? hostname : ''
}

/** The four base fields of a stored config, with masked secrets. */
export const baseConfig = (entry: CatalogEntry, stored: JsonText): JsonObject =>
  picked(shownConfig(entry, stored), BASE_CONFIG_NAMES)

/**
 * Renders one entry of the config history (D39), with masked secrets.
 *
 * @param revision The config of the revision of a bulk change; null if it is not stored any more.
 */
export function historyBody(row: HistoryRow, entry: CatalogEntry, revision: JsonText | null): HistoryBody[number] {
  const config = row.bulk === undefined ? row.config : revision && bulkConfig(entry, revision, row.bulk.patch)
  return {
    config_gen: row.gen,
    ts: toSeconds(row.changedAtMs),
    actor: row.actor,
    changed: [...row.changed],
    config: config === null ? null : maskSecrets(knownFields(entry, config), entry.secrets),
    ...(row.bulk !== undefined && { revision: row.bulk.revision }),
  }
}

/** The config that a bulk change wrote: the revision with the fields that differed from it. */
function bulkConfig(entry: CatalogEntry, revision: JsonText, patch: JsonText): JsonText {
  const base = revisionConfig(entry, parseObject(revision))
  return JSON.stringify(mergeConfig(entry.configSchema, [], base, parseObject(patch)).config)
}

/** The whole config of a revision: its fields over the defaults of the installed automation. */
export function revisionConfig({ configSchema, defaults }: CatalogEntry, fields: JsonObject): JsonObject {
  return mergeConfig(configSchema, [], defaults, fields).config
}

/** The response to the worker's own poll, the only one with unmasked secrets. */
export function polledBody(row: ConfigRow, entry: CatalogEntry): ConfigBody {
  return { config: currentConfig(entry, row.config), config_gen: row.gen }
}

// Statistics are stored in the form of the REST API, in this order, so that neither reads nor scrapes parse long
// frames.
const NUMBERS = /^\{"slots":[^,]+,"cpu_pct":[^,]+,"rss_mb":[^,]+,"ts":[^,]+,/
const PER_SLOT = '"per_slot":'

/** The stored text of a `stats` frame, without the buckets of durations (D137). */
export function statsText(stats: Omit<Stats, 'per_slot'> & { readonly per_slot?: Stats['per_slot'] | null }): JsonText {
  const { slots, cpu_pct, rss_mb, ts, metrics, per_slot } = stats
  return JSON.stringify({ slots, cpu_pct, rss_mb, ts, per_slot: per_slot ?? [], metrics: withoutBuckets(metrics) })
}

/** A busy worker sends 1 KiB of buckets. In the history of 10,000 workers, 240 frames each, they would take 2.4 GB. */
function withoutBuckets(metrics: Stats['metrics']): Stats['metrics'] {
  const isBucket = (name: string): boolean => name.startsWith(RUN_MS_PREFIX)
  if (!Object.keys(metrics).some(isBucket)) return metrics
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => !isBucket(name)))
}

/** Renders a stored frame as the Stats object. The store may have omitted `per_slot` from a long frame. */
export function fullStats(stored: JsonText): JsonText {
  const numbers = NUMBERS.exec(stored)?.[0]
  return numbers === undefined || stored.startsWith(PER_SLOT, numbers.length)
    ? stored
    : `${numbers}${PER_SLOT}[],${stored.slice(numbers.length)}`
}

type StatsNumbers = Pick<Stats, 'slots' | 'cpu_pct' | 'rss_mb' | 'ts'>

const HEAD = /^\{"slots":([^,]+),"cpu_pct":([^,]+),"rss_mb":([^,]+),"ts":([^,]+),/

/** Reads the four numbers of a stored frame. They come first, so that a long frame is usually not parsed. */
export function summaryOf(stored: JsonText): StatsNumbers {
  const [, slots, cpu, rss, ts] = HEAD.exec(stored) ?? []
  if (slots !== undefined) return { slots: Number(slots), cpu_pct: Number(cpu), rss_mb: Number(rss), ts: Number(ts) }
  return parseObject(stored) as unknown as StatsNumbers
}

export function summaryStats(stored: JsonText): JsonText {
  return JSON.stringify(picked(parseObject(stored), ['slots', 'cpu_pct', 'rss_mb', 'ts']))
}

/**
 * Reads one reserved metric (D137) from stored statistics without parsing them: a frame may be a megabyte, and a page
 * has a thousand. In JSON text, an unescaped quote before the colon ends a key, so a text value cannot imitate one.
 * @returns null if the worker sent none, or one that is no count.
 */
export function reservedValue(stored: JsonText | null, name: string): number | null {
  if (stored === null) return null
  const key = `"${name}":`
  const at = stored.lastIndexOf(key)
  const digits =
    at === -1 ? '' : (/^\d{1,16}(?=[,}])/.exec(stored.slice(at + key.length, at + key.length + 17))?.[0] ?? '')
  const value = Number(digits)
  return digits !== '' && Number.isSafeInteger(value) ? value : null
}
