import { afterEach, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { hackPath, Tree, type Files, type Ran } from './tree.ts'

const [CRD, SETS] = ['crds/fleetworkers.muster.dev.yaml', 'crds/fleetworkersets.muster.dev.yaml']
const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const GENERATED: Files = { [CRD]: textOf(CRD), [SETS]: textOf(SETS) }

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function verified(files: Files): Ran {
  const tree = new Tree(files)
  trees.push(tree)
  return tree.run('verify-crds.mjs')
}

describe('hack/verify-crds', () => {
  it('accepts generated files, and prints advice for a changed or missing one', () => {
    expect(verified(GENERATED)).toMatchObject({ status: 0, stderr: '' })
    for (const path of [CRD, SETS])
      expect(verified({ ...GENERATED, [path]: textOf(path).replace('minimum: 0', 'minimum: 1') })).toMatchObject({
        status: 1,
        stderr: `${path}: differs from the code; run node hack/update-crds.mjs\n`,
      })
    expect(verified({ 'README.md': '' })).toMatchObject({ status: 1 })
  })
})

describe('structuralFaults', () => {
  const faults = async (schema: object): Promise<readonly string[]> => {
    const { structuralFaults } = (await import(pathToFileURL(hackPath('crds.mjs')).href)) as {
      structuralFaults: (each: object) => readonly string[]
    }
    return structuralFaults(schema)
  }

  it.each<[string, object, string]>([
    [
      'a reference',
      { type: 'object', properties: { a: { type: 'string', $ref: '#/x' } } },
      '/properties/a/$ref: is no keyword',
    ],
    ['a union', { type: 'object', anyOf: [] }, '/anyOf: is no keyword'],
    ['two types', { type: ['string', 'null'] }, '/type: must be one of'],
    ['a constant', { type: 'string', const: 'a' }, '/const: is no keyword'],
    ['no type', { description: 'a' }, '/type: must be one of'],
    ['a list without a bound', { type: 'array', items: { type: 'string' } }, '/maxItems: a list needs a bound'],
    [
      'closed objects',
      { type: 'array', maxItems: 1, items: { type: 'object', additionalProperties: false } },
      '/items/additionalProperties: is no keyword',
    ],
    [
      'a map without a bound',
      { type: 'object', additionalProperties: { type: 'string' } },
      '/maxProperties: a map needs a bound',
    ],
    [
      'a fault in the values of a map',
      { type: 'object', maxProperties: 1, additionalProperties: { type: 'string', const: 'a' } },
      '/additionalProperties/const: is no keyword',
    ],
    [
      'an integer or text that has a type as well',
      { type: 'string', 'x-kubernetes-int-or-string': true },
      '/type: cannot be combined with x-kubernetes-int-or-string',
    ],
  ])('rejects %s', async (_, schema, fault) => {
    expect(await faults(schema)).toEqual([expect.stringContaining(fault)])
  })
})
