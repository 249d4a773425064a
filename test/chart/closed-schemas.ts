/**
 * Closed JSON Schemas of the kinds in the chart and the examples: recorded ones of a real API server, those of
 * our own kinds, and small ones of foreign kinds.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { FOREIGN_DEFINITIONS } from './foreign.ts'

type Json = Readonly<Record<string, unknown>>
interface Definition {
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Json } }[]
  }
}

export const RECORDED = resolve('test/chart/schemas')
/** The file of a kind, for example `apps/v1 Deployment`. */
export const fileOf = (id: string): string =>
  `${id
    .replace(/^(.*) (.*)$/, '$2-$1')
    .replaceAll('/', '-')
    .toLowerCase()}.json`

/** The closed schema in the definition of a kind. */
function closedDefinition(schema: Json): Json {
  const { properties, items, ...rest } = schema as { properties?: Readonly<Record<string, Json>>; items?: Json }
  return {
    ...rest,
    ...(items === undefined ? {} : { items: closedDefinition(items) }),
    ...(properties === undefined
      ? {}
      : {
          additionalProperties: rest['x-kubernetes-preserve-unknown-fields' as never] ?? false,
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, each]) => [key, closedDefinition(each)]),
          ),
        }),
  }
}

const OWN_DEFINITIONS = ['fleetworkers', 'fleetworkersets'].map(
  (plural) => parse(readFileSync(`crds/${plural}.muster.dev.yaml`, 'utf8')) as unknown,
)

/** The schemas of our own and of foreign kinds, by API version and kind. */
export const DEFINED: ReadonlyMap<string, Json> = new Map(
  ([...FOREIGN_DEFINITIONS, ...OWN_DEFINITIONS] as readonly Definition[]).flatMap(
    ({ spec: { group, names, versions } }) =>
      versions.map(({ name, schema }): [string, Json] => [
        `${group}/${name} ${names.kind}`,
        closedDefinition(schema.openAPIV3Schema),
      ]),
  ),
)

/** @returns the schema of a kind, for example of `v1 ConfigMap`; undefined if there is none. */
export function schemaOfKind(id: string): Json | undefined {
  const recorded = join(RECORDED, fileOf(id))
  return DEFINED.get(id) ?? (existsSync(recorded) ? (JSON.parse(readFileSync(recorded, 'utf8')) as Json) : undefined)
}
