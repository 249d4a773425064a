/** Checks every Kubernetes object and all values of the chart in examples/ against closed schemas. */
import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { faultsOf, faultsOfValues, objectsIn, valuesIn } from './kubernetes.ts'

const files = globSync('examples/**/*.yaml')
  .filter((file) => !/\.automation\.yaml$|\/kustomization\.yaml$/.test(file))
  .toSorted()
const isValues = (file: string): boolean => file.endsWith('values.yaml')

describe('the Kubernetes files of the examples', () => {
  it.each(files.filter((file) => !isValues(file)))('%s contains only objects that match their kinds', (file) => {
    const faults = objectsIn(file).flatMap((object) => faultsOf(object).map((fault) => `${object.kind}: ${fault}`))
    expect(faults).toEqual([])
  })

  it.each(files.filter(isValues))('%s contains only values that the chart has', (file) => {
    expect(faultsOfValues(valuesIn(file))).toEqual([])
  })

  it('are rejected with a misspelt field', () => {
    const text = readFileSync('examples/own-image/fleet.yaml', 'utf8').replace('idPatterns', 'idPattern')
    expect(faultsOf(parse(text) as never)).not.toEqual([])
    expect(faultsOfValues({ workers: { invoices: { typ: 'invoices' } } })).not.toEqual([])
  })
})
