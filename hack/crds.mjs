// Generates the CustomResourceDefinition of FleetWorker as text, from src/operator/fleetworker/schema.ts. Used by
// update-crds.mjs, which writes it, and verify-crds.mjs, which compares it.
//
// Throws for whatever a structural schema must not contain, before a user's API server rejects it: references, unions,
// const, a list without a bound, a keyword that Kubernetes does not know. A file of more than MAX_BYTES is rejected
// too, because client-side apply copies the file into an annotation, whose size is limited.
import { stringify } from 'yaml'
import {
  FleetWorkerSpec,
  FleetWorkerStatus,
  GROUP,
  KIND,
  ROOT_RULES,
  VERSION,
} from '../src/operator/fleetworker/index.ts'

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
  'x-kubernetes-validations',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-preserve-unknown-fields',
])
const TYPES = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean'])

const HEAD =
  '# The kind FleetWorker. ' +
  'Generated from src/operator/fleetworker/schema.ts by hack/update-crds.mjs; do not edit.\n'

/** Why the API server, or a user with kubectl apply, could not take this schema; one sentence each. */
export function structuralFaults(schema, at = '') {
  const unknown = Object.keys(schema)
    .filter((keyword) => !KEYWORDS.has(keyword))
    .map((keyword) => `${at}/${keyword}: is no keyword of a structural schema`)
  const own = TYPES.has(schema.type) ? [] : [`${at}/type: must be one of ${[...TYPES].join(', ')}`]
  if (schema.type === 'array' && schema.maxItems === undefined)
    own.push(`${at}/maxItems: a list needs a bound, or a rule below it costs too much`)
  if (schema.type === 'array' && schema.items === undefined) own.push(`${at}/items: must be there`)
  const below = [
    ...Object.entries(schema.properties ?? {}).map(([name, child]) => [`${at}/properties/${name}`, child]),
    ...(schema.items === undefined ? [] : [[`${at}/items`, schema.items]]),
  ]
  return [...unknown, ...own, ...below.flatMap(([path, child]) => structuralFaults(child, path))]
}

const condition = (type, part) => `.status.conditions[?(@.type=='${type}')].${part}`
const column = (name, jsonPath, type = 'string', more = {}) => ({ name, type, jsonPath, ...more })
const wide = { priority: 1 }

const COLUMNS = [
  column('Type', '.spec.type'),
  column('State', '.status.state'),
  column('Ready', condition('Ready', 'status')),
  column('Synced', condition('Synced', 'status')),
  column('Gen', '.status.config.generation', 'integer'),
  column('Slots', '.status.slots', 'integer'),
  column('Last-Seen', '.status.lastSeenTime', 'date'),
  column('Age', '.metadata.creationTimestamp', 'date'),
  column('Worker', '.spec.workerId', 'string', wide),
  column('Applied', '.status.config.appliedGeneration', 'integer', wide),
  column('Policy', '.spec.managementPolicy', 'string', wide),
  column('CPU', '.status.cpuPercent', 'integer', wide),
  column('RSS', '.status.rssMegabytes', 'integer', wide),
  column('Reason', condition('Ready', 'reason'), 'string', wide),
  column('Error', '.status.lastError', 'string', wide),
]

const whole = {
  type: 'object',
  description: 'A worker of a Muster fleet: its complete config and its observed state.',
  required: ['spec'],
  properties: {
    apiVersion: { type: 'string', description: 'muster.dev/v1alpha1.' },
    kind: { type: 'string', description: 'FleetWorker.' },
    metadata: { type: 'object' },
    spec: FleetWorkerSpec,
    status: FleetWorkerStatus,
  },
  ...ROOT_RULES,
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `fleetworkers.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: {
      kind: KIND,
      listKind: `${KIND}List`,
      plural: 'fleetworkers',
      singular: 'fleetworker',
      shortNames: ['fw'],
      categories: ['muster'],
    },
    versions: [
      {
        name: VERSION,
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.slots',
            statusReplicasPath: '.status.slots',
            labelSelectorPath: '.status.selector',
          },
        },
        // Without effect below Kubernetes 1.31.
        selectableFields: [{ jsonPath: '.spec.type' }, { jsonPath: '.spec.workerId' }],
        additionalPrinterColumns: COLUMNS,
        schema: { openAPIV3Schema: JSON.parse(JSON.stringify(whole)) },
      },
    ],
  },
}

/** Paths and texts of the files below crds/. @throws Error naming each fault. */
export function crdFiles() {
  const faults = structuralFaults(definition.spec.versions[0].schema.openAPIV3Schema)
  const text = HEAD + stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false })
  if (Buffer.byteLength(text) > MAX_BYTES)
    faults.push(
      `the file takes ${Buffer.byteLength(text)} bytes, at most ${MAX_BYTES} fit into the annotation of kubectl apply`,
    )
  if (faults.length > 0)
    throw new Error(`src/operator/fleetworker/schema.ts makes no valid definition:\n${faults.join('\n')}`)
  return new Map([[`crds/fleetworkers.${GROUP}.yaml`, text]])
}
