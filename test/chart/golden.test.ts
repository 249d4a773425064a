/**
 * What the chart renders, to be read: the default whole, and of each other scenario what is different in it, a line a field
 * (R1). A change of the render is a change of these files, which UPDATE_GOLDEN=1 make test-chart ONLY=golden writes.
 */
import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { CHART, idOf, render, SCENARIOS, type Json, type KubeObject } from './chart.ts'

const FOLDER = 'test/chart/golden'
const UPDATE = process.env['UPDATE_GOLDEN'] === '1'
/** Its point are the quotes, which are gone once it is read. */
const NAMES = Object.keys(SCENARIOS).filter((name) => name !== 'words-like-numbers')
const FILES = new Map(
  readdirSync(join(CHART, 'files'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.\w+$/.test(name))
    .map((name) => [readFileSync(join(CHART, 'files', name), 'utf8').trim(), `(files/${name})`]),
)

/** Without what only repeats a file of the chart. */
function readable(value: unknown): unknown {
  if (typeof value === 'string') return FILES.get(value.trim()) ?? value
  if (Array.isArray(value)) return value.map(readable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, readable(each)]))
}
const objects = (values: Json): readonly KubeObject[] =>
  render(values)
    .map((each) =>
      each.kind === 'CustomResourceDefinition'
        ? { ...each, spec: '(files/fleetworkers.muster.dev.yaml)' }
        : (readable(each) as KubeObject),
    )
    .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))

/** `PATH: VALUE` of each field; what has a name goes by it. */
function fieldsOf(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0)
    return [`${path}: ${JSON.stringify(value)}`]
  const isList = Array.isArray(value)
  return Object.entries(value).flatMap(([key, each]) =>
    fieldsOf(each, `${path}${isList ? `[${(each as { name?: string } | null)?.name ?? key}]` : `.${key}`}`),
  )
}

/** What is gone is one line, what is new or different a line a field. */
function difference(values: Json): string {
  const [before, after] = [objects({}), objects(values)]
  const left = new Set(after.map(idOf))
  const fields = (all: readonly KubeObject[]): readonly string[] =>
    all.flatMap((each) => (left.has(idOf(each)) ? fieldsOf(each, idOf(each)) : [idOf(each)]))
  const [old, now] = [new Set(fields(before)), new Set(fields(after))]
  const lines = [
    ...[...old].filter((each) => !now.has(each)).map((each) => [each, '-'] as const),
    ...[...now].filter((each) => !old.has(each)).map((each) => [each, '+'] as const),
  ]
  return lines
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([line, sign]) => `${sign} ${line}\n`)
    .join('')
}

describe('the render', () => {
  const fileOf = (name: string): string => join(FOLDER, name === 'default' ? 'default.yaml' : `${name}.diff`)

  it.each(NAMES)('is the one that was read: %s', (name) => {
    const values = SCENARIOS[name] as Json
    const text =
      name === 'default'
        ? objects(values)
            .map((each) => stringify(each, { lineWidth: 0, aliasDuplicateObjects: false }))
            .join('---\n')
        : difference(values)
    if (UPDATE) writeFileSync(fileOf(name), text)
    expect(text).toBe(readFileSync(fileOf(name), 'utf8'))
  })

  it('has no file of a scenario that is gone', () => {
    expect(
      readdirSync(FOLDER)
        .map((name) => join(FOLDER, name))
        .toSorted(),
    ).toEqual(NAMES.map(fileOf).toSorted())
  })
})
