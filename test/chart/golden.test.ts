/**
 * Records the render for review: the default as a whole, and for each other scenario the differences, one line per
 * field (R1). After a change of the render, UPDATE_GOLDEN=1 make test-chart ONLY=golden updates the files.
 */
import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { CHART, idOf, render, SCENARIOS, type Json, type KubeObject } from './chart.ts'

const FOLDER = 'test/chart/golden'
const UPDATE = process.env['UPDATE_GOLDEN'] === '1'
/** This scenario tests quoting, which is not visible in parsed objects. */
const NAMES = Object.keys(SCENARIOS).filter((name) => name !== 'words-like-numbers')
const FILES = new Map(
  readdirSync(join(CHART, 'files'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.\w+$/.test(name))
    .map((name) => [readFileSync(join(CHART, 'files', name), 'utf8').trim(), `(files/${name})`]),
)

/** Removes contents that repeat a file of the chart. */
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
        ? { ...each, spec: `(files/${each.metadata.name}.yaml)` }
        : (readable(each) as KubeObject),
    )
    .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))

/** One `PATH: VALUE` per field. Named list items are identified by their name. */
function fieldsOf(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0)
    return [`${path}: ${JSON.stringify(value)}`]
  const isList = Array.isArray(value)
  return Object.entries(value).flatMap(([key, each]) =>
    fieldsOf(each, `${path}${isList ? `[${(each as { name?: string } | null)?.name ?? key}]` : `.${key}`}`),
  )
}

/** One line per removed, new or changed field. */
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

  it.each(NAMES)('equals the reviewed one: %s', (name) => {
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

  it('has no files of removed scenarios', () => {
    expect(
      readdirSync(FOLDER)
        .map((name) => join(FOLDER, name))
        .toSorted(),
    ).toEqual(NAMES.map(fileOf).toSorted())
  })
})
