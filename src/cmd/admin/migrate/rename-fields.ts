/**
 * @module cmd/admin/migrate/rename-fields
 * Replaces old names of fields of FleetWorkers and FleetWorkerSets in the text of manifests (D249). Only the names
 * change, and the value of `drain`: everything else, comments and layout included, keeps its text. Reads YAML and JSON,
 * several documents, and lists, as `kubectl get -o yaml` prints them.
 */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type Document,
  type Pair,
  type Scalar,
  type YAMLMap,
} from '../yaml.ts'

export interface Renamed {
  readonly text: string
  /** One sentence each, with the line. */
  readonly changes: readonly string[]
  /** Why parts have to be changed by hand; one sentence each, with the line. */
  readonly faults: readonly string[]
}

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

const STATES: ReadonlyMap<unknown, string> = new Map([
  [true, 'Drained'],
  [false, 'Running'],
])

export function renameFields(text: string): Renamed {
  const lines = new LineCounter()
  const documents = parseAllDocuments(text, { lineCounter: lines, logLevel: 'error' })
  const renaming = new Renaming(text, lines)
  for (const document of documents) {
    const [error] = document.errors
    if (error === undefined) renaming.document(document)
    else renaming.fault(error.pos[0], `is not YAML: ${error.message.split('\n')[0]}`)
  }
  return renaming.result()
}

class Renaming {
  readonly #text: string
  readonly #lines: LineCounter
  /** By their start, because several aliases lead to the same text. */
  readonly #edits = new Map<number, Edit>()
  readonly #changes = new Set<string>()
  readonly #faults = new Set<string>()

  constructor(text: string, lines: LineCounter) {
    this.#text = text
    this.#lines = lines
  }

  result(): Renamed {
    const edits = [...this.#edits.values()].toSorted((a, b) => b.start - a.start)
    const text = edits.reduce((now, { start, end, text: by }) => now.slice(0, start) + by + now.slice(end), this.#text)
    return { text, changes: [...this.#changes], faults: [...this.#faults] }
  }

  fault(at: number, what: string): void {
    this.#faults.add(`line ${this.#lineOf(at)}: ${what}`)
  }

  document(document: Document): void {
    this.#object(document.contents, document)
  }

  #object(node: unknown, document: Document): void {
    const object = mapOf(node, document)
    if (object === undefined) return
    for (const item of itemsOf(object, 'items', document)) this.#object(item, document)
    const [apiVersion, kind] = [object.get('apiVersion'), object.get('kind')]
    if (typeof apiVersion !== 'string' || !apiVersion.startsWith('muster.dev/')) return
    const spec = mapOf(object.get('spec', true), document)
    if (spec === undefined) return
    if (kind === 'FleetWorker') this.#fleetWorker(spec)
    if (kind === 'FleetWorker' || kind === 'FleetWorkerSet') this.#sources(spec, document)
  }

  #fleetWorker(spec: YAMLMap): void {
    this.#rename(spec, 'workerId', 'workerID')
    const drain = pairOf(spec, 'drain')
    if (drain === undefined) return
    const state = isScalar(drain.value) ? STATES.get(drain.value.value) : undefined
    if (state === undefined) {
      this.fault(startOf(drain), 'drain is neither true nor false; write desiredState by hand')
      return
    }
    if (this.#rename(spec, 'drain', 'desiredState')) this.#replace(drain.value as Scalar, state)
  }

  #sources(spec: YAMLMap, document: Document): void {
    for (const item of itemsOf(spec, 'configFrom', document)) {
      const source = mapOf(item, document)
      // `as: String` beside `format` is a default of the API server, and has no effect.
      if (source !== undefined && !(source.has('format') && source.get('as') === 'String'))
        this.#rename(source, 'as', 'format')
    }
  }

  /** @returns whether the map has the old name, and it can be replaced. */
  #rename(map: YAMLMap, old: string, now: string): boolean {
    const pair = pairOf(map, old)
    if (pair === undefined) return false
    if (map.has(now)) {
      this.fault(startOf(pair), `${old} stands beside ${now}; remove one of the two`)
      return false
    }
    this.#replace(pair.key as Scalar, now)
    this.#changes.add(`line ${this.#lineOf(startOf(pair))}: ${old} is now ${now}`)
    return true
  }

  /** Replaces the text of a scalar, in the quotes that a name has. */
  #replace(scalar: Scalar, by: string): void {
    const [start, end] = scalar.range ?? [0, 0]
    const [first = ''] = this.#text.slice(start, end)
    const quote = first === '"' || first === "'" ? first : ''
    const isJson = typeof scalar.value === 'boolean' && this.#isQuotedBefore(start)
    this.#edits.set(start, { start, end, text: isJson ? `"${by}"` : `${quote}${by}${quote}` })
  }

  /** Whether the value at this position follows a name in double quotes, as in JSON, where texts need quotes. */
  #isQuotedBefore(start: number): boolean {
    return /"\s*:\s*$/.test(this.#text.slice(Math.max(0, start - 100), start))
  }

  #lineOf(at: number): number {
    return this.#lines.linePos(at).line
  }
}

const resolved = (node: unknown, document: Document): unknown => (isAlias(node) ? node.resolve(document) : node)

function mapOf(node: unknown, document: Document): YAMLMap | undefined {
  const found = resolved(node, document)
  return isMap(found) ? found : undefined
}

function itemsOf(map: YAMLMap, name: string, document: Document): readonly unknown[] {
  const found = resolved(map.get(name, true), document)
  return isSeq(found) ? found.items : []
}

const pairOf = (map: YAMLMap, name: string): Pair | undefined =>
  map.items.find(({ key }) => isScalar(key) && key.value === name)
const startOf = ({ key }: Pair): number => (key as Scalar).range?.[0] ?? 0
