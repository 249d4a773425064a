/** Renders the chart with the values of the examples, and compares the objects with the files of the examples. */
import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { find, idOf, podOf, render, type Json, type KubeObject } from './chart.ts'
import { objectsIn } from '../examples/kubernetes.ts'

const rendered = (example: string): readonly KubeObject[] =>
  render(parse(readFileSync(`examples/${example}/values.yaml`, 'utf8')) as Json)

describe('the values of examples/own-image', () => {
  it('give masters and workers the image and the package', () => {
    const objects = rendered('own-image')
    for (const id of ['Deployment muster-master', 'StatefulSet muster-invoices']) {
      const [container] = podOf(find(objects, id))?.containers ?? []
      expect(container).toMatchObject({
        image: 'registry.example/team/invoices:1.0.0',
        env: expect.arrayContaining([{ name: 'SVC_AUTOMATIONS', value: 'our-invoices' }]) as unknown,
      })
    }
  })
})

describe('the values of examples/keda', () => {
  const objects = rendered('keda')

  it.each(objectsIn('examples/keda/scaledobject.yaml').map((object) => [idOf(object), object] as const))(
    'render %s as in scaledobject.yaml',
    (id, { apiVersion, spec }) => {
      expect(find(objects, id)).toMatchObject({ apiVersion, spec })
      expect(find(objects, id)['spec']).toEqual(spec)
    },
  )

  it('render the Service of the URL that KEDA reads', () => {
    const text = readFileSync('examples/keda/scaledobject.yaml', 'utf8')
    const { hostname } = new URL(/url: "(.*)"/.exec(text)?.[1] ?? '')
    const { metadata, spec } = find(objects, 'Service muster-master')
    expect(hostname).toBe(`${metadata.name}.muster.svc`)
    expect(spec).toMatchObject({ ports: [{ port: 80 }] })
  })
})
