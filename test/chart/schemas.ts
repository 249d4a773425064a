/**
 * Creates closed JSON Schemas of the rendered kinds from the OpenAPI document of a real API server. They are recorded
 * in test/chart/schemas, so that kubeconform needs no server. schemas.test.ts compares them with a server, and writes
 * them with UPDATE_SCHEMAS=1 make test-chart ONLY=schemas.
 */
import type { Json } from './chart.ts'

type Schema = Readonly<Record<string, unknown>>
interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const REFERENCE = '#/components/schemas/'
/** The keywords that validators use; the others are for people and for the API server. */
const KEPT = new Set([
  'type',
  'properties',
  'items',
  'additionalProperties',
  'required',
  'enum',
  '$ref',
  'oneOf',
  'anyOf',
  'allOf',
])
/** Values that OpenAPI declares as strings or objects although other types are valid. */
const FREE: Readonly<Record<string, Schema>> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { type: ['string', 'integer'] },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: ['string', 'number'] },
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': { type: ['string', 'null'] },
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps': { type: 'object' },
}

const isMap = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Converts a schema for a validator: local references, and no unknown keys in objects that declare keys. */
function closed(schema: Schema): Schema {
  const { allOf } = schema as { allOf?: readonly Schema[] }
  if (allOf?.length === 1 && schema['type'] === undefined) return closed(allOf[0] as Schema)
  const entries = Object.entries(schema)
    .filter(([key]) => KEPT.has(key))
    .map(([key, value]): readonly [string, unknown] => {
      if (key === '$ref') return [key, `#/definitions/${String(value).slice(REFERENCE.length)}`]
      if (key === 'properties' && isMap(value))
        return [key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, closed(each as Schema)]))]
      return [key, isMap(value) ? closed(value) : value]
    })
  const isClosed = schema['properties'] !== undefined && schema['additionalProperties'] === undefined
  return { ...Object.fromEntries(entries), ...(isClosed ? { additionalProperties: false } : {}) }
}

const referencesOf = (value: unknown): readonly string[] =>
  [...JSON.stringify(value).matchAll(/"#\/definitions\/([^"]+)"/g)].map(([, name]) => name as string)

/** The schema of one kind with all its references. */
export function schemaOf(document: Document, group: string, version: string, kind: string): Json {
  const { schemas } = document.components
  const root = Object.entries(schemas).find(([, each]) =>
    (each['x-kubernetes-group-version-kind'] as readonly Json[] | undefined)?.some(
      (gvk) => gvk['group'] === group && gvk['version'] === version && gvk['kind'] === kind,
    ),
  )?.[0]
  if (root === undefined) throw new Error(`the API server has no ${kind} of ${group}/${version}`)
  const definitions = new Map<string, Schema>()
  for (const waiting = [root]; waiting.length > 0;) {
    const name = waiting.pop() as string
    if (definitions.has(name)) continue
    const schema = FREE[name] ?? closed(schemas[name] as Schema)
    definitions.set(name, schema)
    waiting.push(...referencesOf(schema))
  }
  return {
    $ref: `#/definitions/${root}`,
    definitions: Object.fromEntries([...definitions].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  }
}
