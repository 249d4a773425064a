// Generates the CustomResourceDefinitions of FleetWorker and FleetWorkerSet as text, from the schema.ts of each kind
// below src/operator. Used by update-crds.mjs, which writes them, and verify-crds.mjs, which compares them.
//
// Throws for whatever a structural schema must not contain, before a user's API server rejects it: references, unions,
// const, a list or map without a bound, a keyword that Kubernetes does not know. A file of more than MAX_BYTES is
// rejected too, because client-side apply copies the file into an annotation, whose size is limited.
import { stringify } from 'yaml'
import { GROUP, VERSION } from '../src/operator/config/index.ts'
import { FleetWorkerSpec, FleetWorkerStatus, KIND, ROOT_RULES } from '../src/operator/fleetworker/index.ts'
import { FleetWorkerSetSpec, FleetWorkerSetStatus, SET_KIND } from '../src/operator/fleetworkerset/index.ts'

const MAX_BYTES = 200_000
const KEYWORDS = new Set([
  'type',
  'description',
  'default',
  'enum',
  'format',
  'nullable',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'items',
  'properties',
  'required',
  'maxProperties',
  'additionalProperties',
  'x-kubernetes-validations',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-int-or-string',
])
const TYPES = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean'])

/** A map: an object whose values have one schema. `additionalProperties: true` or `false` is no map. */
const isMap = ({ additionalProperties }) => typeof additionalProperties === 'object'

function typeFaults({ type, 'x-kubernetes-int-or-string': isEither }, at) {
  if (isEither) return type === undefined ? [] : [`${at}: cannot be combined with x-kubernetes-int-or-string`]
  return TYPES.has(type) ? [] : [`${at}: must be one of ${[...TYPES].join(', ')}`]
}

/** Why the API server, or a user with kubectl apply, could not take this schema; one sentence each. */
export function structuralFaults(schema, at = '') {
  const unknown = Object.keys(schema)
    .filter((keyword) => !KEYWORDS.has(keyword) || (keyword === 'additionalProperties' && !isMap(schema)))
    .map((keyword) => `${at}/${keyword}: is no keyword of a structural schema`)
  const own = typeFaults(schema, `${at}/type`)
  if (schema.type === 'array' && schema.maxItems === undefined)
    own.push(`${at}/maxItems: a list needs a bound, or a rule below it costs too much`)
  if (schema.type === 'array' && schema.items === undefined) own.push(`${at}/items: must be there`)
  if (isMap(schema) && schema.maxProperties === undefined)
    own.push(`${at}/maxProperties: a map needs a bound, or a rule below it costs too much`)
  const below = [
    ...Object.entries(schema.properties ?? {}).map(([name, child]) => [`${at}/properties/${name}`, child]),
    ...(schema.items === undefined ? [] : [[`${at}/items`, schema.items]]),
    ...(isMap(schema) ? [[`${at}/additionalProperties`, schema.additionalProperties]] : []),
  ]
  return [...unknown, ...own, ...below.flatMap(([path, child]) => structuralFaults(child, path))]
}

const condition = (type, part) => `.status.conditions[?(@.type=='${type}')].${part}`
const column = (name, jsonPath, type = 'string', more = {}) => ({ name, type, jsonPath, ...more })
const wide = { priority: 1 }

const FLEET_WORKER = {
  folder: 'fleetworker',
  kind: KIND,
  // fw is the old short name, which another project uses too (D247).
  shortNames: ['fwk', 'fw'],
  description: 'A worker of a Muster fleet: its complete config and its observed state.',
  spec: FleetWorkerSpec,
  status: FleetWorkerStatus,
  rules: ROOT_RULES,
  scale: {
    specReplicasPath: '.spec.slots',
    statusReplicasPath: '.status.slots',
    labelSelectorPath: '.status.selector',
  },
  selectable: ['.spec.type', '.spec.workerID', '.spec.workerId'],
  columns: [
    column('Type', '.spec.type'),
    column('State', '.status.state'),
    column('Ready', condition('Ready', 'status')),
    column('Synced', condition('Synced', 'status')),
    column('Gen', '.status.config.generation', 'integer'),
    column('Slots', '.status.slots', 'integer'),
    column('Last-Seen', '.status.lastSeenTime', 'date'),
    column('Age', '.metadata.creationTimestamp', 'date'),
    column('Worker', ".spec['workerID','workerId']", 'string', wide),
    column('Applied', '.status.config.appliedGeneration', 'integer', wide),
    column('Policy', '.spec.managementPolicy', 'string', wide),
    column('CPU', '.status.cpuPercent', 'integer', wide),
    column('RSS', '.status.rssMegabytes', 'integer', wide),
    column('Reason', condition('Ready', 'reason'), 'string', wide),
    column('Error', '.status.lastError', 'string', wide),
  ],
}

const FLEET_WORKER_SET = {
  folder: 'fleetworkerset',
  kind: SET_KIND,
  shortNames: ['fws'],
  description: 'Many workers of a Muster fleet with one config, and their observed state.',
  spec: FleetWorkerSetSpec,
  status: FleetWorkerSetStatus,
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
  selectable: ['.spec.type'],
  columns: [
    column('Type', '.spec.type'),
    column('Ready', condition('Ready', 'status')),
    column('Workers', '.status.workers.matched', 'integer'),
    column('Updated', '.status.workers.updated', 'integer'),
    column('Acked', '.status.workers.acknowledged', 'integer'),
    column('Unavailable', '.status.workers.unavailable', 'integer'),
    column('Stage', '.status.rollout.stage', 'integer'),
    column('Revision', '.status.currentRevision'),
    column('Age', '.metadata.creationTimestamp', 'date'),
    column('Phase', '.status.rollout.phase', 'string', wide),
    column('Update', '.status.updateRevision', 'string', wide),
    column('Replicas', '.status.replicas', 'integer', wide),
    column('Policy', '.spec.managementPolicy', 'string', wide),
    column('Reason', condition('Ready', 'reason'), 'string', wide),
  ],
}

/**
 * The first is stored. All have the same shape, so objects are not converted: a field that one of them lacks would be
 * lost when the object is written through it (D248). The schemas are equal to the letter: the API server rejects
 * selectable fields that are equal in all versions while the schemas are not.
 */
const SERVED = [VERSION, 'v1beta1']

const pluralOf = ({ kind }) => `${kind.toLowerCase()}s`
const schemaPath = ({ folder }) => `src/operator/${folder}/schema.ts`

const wholeOf = ({ kind, description, spec, status, rules = {} }) => ({
  type: 'object',
  description,
  required: ['spec'],
  properties: {
    apiVersion: { type: 'string', description: `${SERVED.map((version) => `${GROUP}/${version}`).join(' or ')}.` },
    kind: { type: 'string', description: `${kind}.` },
    metadata: { type: 'object' },
    spec,
    status,
  },
  ...rules,
})

const versionOf = (resource, version) => ({
  name: version,
  served: true,
  storage: version === VERSION,
  subresources: { status: {}, ...(resource.scale && { scale: resource.scale }) },
  // Without effect below Kubernetes 1.31.
  selectableFields: resource.selectable.map((jsonPath) => ({ jsonPath })),
  additionalPrinterColumns: resource.columns,
  schema: { openAPIV3Schema: JSON.parse(JSON.stringify(wholeOf(resource))) },
})

const definitionOf = (resource) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${pluralOf(resource)}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: {
      kind: resource.kind,
      listKind: `${resource.kind}List`,
      plural: pluralOf(resource),
      singular: resource.kind.toLowerCase(),
      shortNames: resource.shortNames,
      categories: ['muster'],
    },
    versions: SERVED.map((version) => versionOf(resource, version)),
  },
})

/** @returns the path and text of the file of a kind. @throws Error naming each fault. */
function crdFile(resource) {
  const definition = definitionOf(resource)
  const source = schemaPath(resource)
  const head = `# The kind ${resource.kind}. Generated from ${source} by hack/update-crds.mjs; do not edit.\n`
  const text = head + stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false })
  const faults = structuralFaults(definition.spec.versions[0].schema.openAPIV3Schema)
  if (Buffer.byteLength(text) > MAX_BYTES)
    faults.push(
      `the file takes ${Buffer.byteLength(text)} bytes, at most ${MAX_BYTES} fit into the annotation of kubectl apply`,
    )
  if (faults.length > 0) throw new Error(`${source} makes no valid definition:\n${faults.join('\n')}`)
  return [`crds/${pluralOf(resource)}.${GROUP}.yaml`, text]
}

/** Paths and texts of the files below crds/. @throws Error naming each fault. */
export const crdFiles = () => new Map([FLEET_WORKER, FLEET_WORKER_SET].map(crdFile))
