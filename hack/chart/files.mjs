// Generates files of charts/muster as text, from the schema of the values and the list of removed values. Used by
// update-chart.mjs, which writes them, and verify-chart.mjs, which compares them.
import { readFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { crdFiles } from '../crds.mjs'
import { dashboards } from './dashboards.mjs'
import { REMOVED } from './removed.ts'
import { Values } from './values.ts'

const CHART = 'charts/muster'
const HEAD = 'Generated from hack/chart/values.ts by hack/chart/update-chart.mjs; do not edit.'
const TABLE = /(<!-- values -->\n)[\s\S]*(<!-- \/values -->)/

const isGroup = (schema) => schema.type === 'object' && schema.properties !== undefined && schema.default === undefined

/** Returns the properties of a schema as lines of YAML: each leaf with its default, and its description. */
function yamlLines(schema, indent = '') {
  return Object.entries(schema.properties).flatMap(([key, each]) => {
    const about = each.description === undefined ? '' : ` # ${each.description}`
    if (isGroup(each)) return [`${indent}${key}:${about}`, ...yamlLines(each, `${indent}  `)]
    const value = stringify(each.default, {
      collectionStyle: 'flow',
      lineWidth: 0,
      flowCollectionPadding: false,
      defaultStringType: 'PLAIN',
    }).trim()
    return [`${indent}${key}: ${value}${about}`]
  })
}

/**
 * The schema for Helm: nothing is required, because Helm merges the values with the defaults, and null removes a
 * default.
 */
function withoutRequired(schema) {
  if (Array.isArray(schema) || typeof schema !== 'object' || schema === null) return schema
  const { required, properties, ...rest } = schema
  const keep = required !== undefined && schema.properties?.valueFrom !== undefined ? { required } : {}
  const below =
    properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, withoutRequired(each)])),
        }
  const others =
    typeof rest.additionalProperties === 'object'
      ? { additionalProperties: withoutRequired(rest.additionalProperties) }
      : {}
  return { ...rest, ...below, ...others, ...keep }
}

function placeRemoved(schema, { path, use }) {
  const names = path.split('.')
  const last = names.pop()
  const parent = names.reduce((at, each) => (each === '*' ? at.additionalProperties : at.properties[each]), schema)
  parent.properties[last] = { deprecated: true, description: `Not a key: ${use}.` }
}

function schemaText() {
  const schema = withoutRequired(JSON.parse(JSON.stringify(Values)))
  for (const each of REMOVED) placeRemoved(schema, each)
  const whole = { $schema: 'http://json-schema.org/draft-07/schema#', $comment: HEAD, ...schema }
  return `${JSON.stringify(whole, null, 2)}\n`
}

/** One row per leaf; the settings that all pods share appear once. */
function tableRows(schema, path = '') {
  return Object.entries(schema.properties).flatMap(([key, each]) => {
    const here = `${path}${key}`
    if (key === 'pod' && path !== 'master.') return [`| \`${here}\` | as \`master.pod\` | Settings of the pods. |`]
    if (isGroup(each)) return tableRows(each, `${here}.`)
    return [`| \`${here}\` | \`${JSON.stringify(each.default)}\` | ${each.description.replaceAll('|', '\\|')} |`]
  })
}

const tableText = () => ['| Key | Default | Meaning |', '|---|---|---|', ...tableRows(Values), ''].join('\n')

function chartText(version) {
  const { repository, maintainers } = JSON.parse(readFileSync('release.json', 'utf8'))
  const chart = {
    apiVersion: 'v2',
    name: 'muster',
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.30.0-0',
    icon: 'data:,',
    description: 'A control plane for fleets of long-running workers: their configuration, state, tasks and output.',
    keywords: ['workers', 'queue', 'operator'],
    home: repository,
    sources: [repository],
    maintainers,
  }
  return `# ${HEAD}\n${stringify(chart, { lineWidth: 0 })}`
}

/** Paths and texts of the generated files. */
export function chartFiles() {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const readme = readFileSync(`${CHART}/README.md`, 'utf8')
  return new Map([
    [`${CHART}/Chart.yaml`, chartText(version)],
    [`${CHART}/values.yaml`, `# ${HEAD}\n${yamlLines(Values).join('\n')}\n`],
    [`${CHART}/values.schema.json`, schemaText()],
    ...[...crdFiles()].map(([path, text]) => [`${CHART}/files/${path.replace('crds/', '')}`, text]),
    ...[...dashboards()].map(([name, text]) => [`${CHART}/files/dashboards/${name}`, text]),
    [`${CHART}/files/removed.json`, `${JSON.stringify(REMOVED, null, 2)}\n`],
    [`${CHART}/README.md`, readme.replace(TABLE, (_, start, end) => `${start}${tableText()}${end}`)],
  ])
}
