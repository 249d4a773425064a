/** Reads the Kubernetes files of the examples and checks them without a cluster and without Helm. */
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { schemaOfKind } from '../chart/closed-schemas.ts'

export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec: Readonly<Record<string, unknown>>
  readonly [key: string]: unknown
}
/** The values of the chart that tests of examples read. */
export interface Values {
  readonly automations?: { readonly modules?: readonly string[] }
  readonly workers?: Readonly<Record<string, { readonly type: string; readonly replicas?: number }>>
}
export interface FleetWorkerSet extends KubeObject {
  readonly spec: {
    readonly type: string
    readonly selector: { readonly idPatterns: readonly string[] }
    readonly slots?: number
    readonly config: Readonly<Record<string, unknown>>
  }
}

const RELEASE = 'muster'
const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false })
const checkValues = ajv.compile(JSON.parse(readFileSync('charts/muster/values.schema.json', 'utf8')) as object)

export const objectsIn = (file: string): readonly KubeObject[] =>
  parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as KubeObject)

/** @returns what is wrong with the object by the closed schema of its kind. @throws {Error} for an unknown kind. */
export function faultsOf(object: KubeObject): readonly string[] {
  const id = `${object.apiVersion} ${object.kind}`
  const schema = schemaOfKind(id)
  if (schema === undefined) throw new Error(`there is no schema of ${id}: add one to test/chart/foreign.ts`)
  const check = ajv.compile(schema)
  return check(object) ? [] : (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

export const valuesIn = (file: string): Values => parse(readFileSync(file, 'utf8')) as Values

/** @returns what is wrong with values by the schema of the chart. */
export const faultsOfValues = (values: object): readonly string[] =>
  checkValues(values)
    ? []
    : (checkValues.errors ?? []).map(
        ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
      )

/** @returns the first worker IDs of an entry of `workers`: the names of the pods of its StatefulSet. */
const workerIds = (entry: string): readonly string[] => ['0', '12'].map((n) => `${RELEASE}-${entry}-${n}`)

const matches = (pattern: string, id: string): boolean =>
  new RegExp(`^${pattern.replaceAll('.', String.raw`\.`).replaceAll('*', '.*')}$`).test(id)

/** @returns the entries of `workers` that a set configures: those of its type whose workers it selects. */
export const entriesOf = ({ workers = {} }: Values, { spec }: FleetWorkerSet): readonly string[] =>
  Object.entries(workers)
    .filter(([, { type }]) => type === spec.type)
    .map(([entry]) => entry)
    .filter((entry) => workerIds(entry).every((id) => spec.selector.idPatterns.some((each) => matches(each, id))))
