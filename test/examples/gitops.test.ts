/**
 * Checks the objects for Argo CD and Flux, in examples/gitops and in manifests/gitops: their kinds, the paths they name
 * in their repository, the values of the chart, and that both engines install the same.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import {
  entriesOf,
  faultsOf,
  faultsOfValues,
  type FleetWorkerSet,
  type KubeObject,
  objectsIn,
  type Values,
} from './kubernetes.ts'

const EXAMPLE = 'examples/gitops'
/** The repository of the team, which examples/gitops and a clone of Muster stand for. */
const OWN_URL = 'https://git.example/team/fleet.git'
const { repository } = JSON.parse(readFileSync('release.json', 'utf8')) as { readonly repository: string }

interface Application extends KubeObject {
  readonly spec: {
    readonly destination: { readonly namespace: string }
    readonly source: {
      readonly repoURL: string
      readonly targetRevision: string
      readonly path: string
      readonly helm?: { readonly valuesObject?: Values; readonly valueFiles?: readonly string[] }
    }
  }
}
interface HelmRelease extends KubeObject {
  readonly spec: {
    readonly chart: {
      readonly spec: {
        readonly chart: string
        readonly sourceRef: { readonly name: string }
        readonly valuesFiles?: readonly string[]
      }
    }
    readonly values?: Values
  }
}
interface GitRepository extends KubeObject {
  readonly spec: { readonly url: string; readonly ref: { readonly tag?: string; readonly branch?: string } }
}
interface Kustomization extends KubeObject {
  readonly spec: { readonly path: string; readonly sourceRef: { readonly name: string } }
}
interface Kinds {
  readonly Application: Application
  readonly HelmRelease: HelmRelease
  readonly GitRepository: GitRepository
  readonly Kustomization: Kustomization
}

const objects = (folder: string): readonly KubeObject[] =>
  globSync(`${folder}/*.yaml`).flatMap((file) => objectsIn(file))
const ofKind = <K extends keyof Kinds>(folder: string, kind: K): readonly Kinds[K][] =>
  objects(folder).filter((object) => object.kind === kind) as unknown as readonly Kinds[K][]
const named = <T extends KubeObject>(all: readonly T[], name: string): T => {
  const found = all.find(({ metadata }) => metadata.name === name)
  if (found === undefined) throw new Error(`${name} is missing`)
  return found
}

describe.each([
  ['examples/gitops', EXAMPLE],
  ['manifests/gitops', '.'],
])('the objects of %s', (folder, ownRepository) => {
  /** The folder of this repository that stands for a path in the repository with this URL. */
  const placeOf = (url: string, path: string): string => join(url === repository ? '.' : ownRepository, path)

  it.each(['argocd', 'flux'])('match the kinds of %s', (engine) => {
    const all = objects(`${folder}/${engine}`)
    expect(all.length).toBeGreaterThanOrEqual(2)
    expect(all.flatMap((object) => faultsOf(object))).toEqual([])
  })

  it('name paths that exist, as Applications', () => {
    for (const { spec } of ofKind(`${folder}/argocd`, 'Application')) {
      const { repoURL, path, helm } = spec.source
      expect([OWN_URL, repository]).toContain(repoURL)
      const place = placeOf(repoURL, path)
      const files = [helm === undefined ? 'kustomization.yaml' : 'Chart.yaml', ...(helm?.valueFiles ?? [])]
      expect(files.filter((file) => !existsSync(join(place, file)))).toEqual([])
    }
  })

  it('name paths that exist, as objects of Flux', () => {
    const repositories = ofKind(`${folder}/flux`, 'GitRepository')
    const urlOf = (name: string): string => named(repositories, name).spec.url
    for (const { spec } of ofKind(`${folder}/flux`, 'HelmRelease')) {
      const { chart, sourceRef, valuesFiles = [] } = spec.chart.spec
      const files = [`${chart}/Chart.yaml`, ...valuesFiles].map((file) => placeOf(urlOf(sourceRef.name), file))
      expect(files.filter((file) => !existsSync(file))).toEqual([])
    }
    for (const { spec } of ofKind(`${folder}/flux`, 'Kustomization'))
      expect(existsSync(join(placeOf(urlOf(spec.sourceRef.name), spec.path), 'kustomization.yaml'))).toBe(true)
  })
})

describe('both engines of examples/gitops', () => {
  const { source } = named(ofKind(`${EXAMPLE}/argocd`, 'Application'), 'muster').spec
  const values = source.helm?.valuesObject ?? {}
  const release = named(ofKind(`${EXAMPLE}/flux`, 'HelmRelease'), 'muster').spec

  it('install the same chart at the same tag with the same values, which the chart has', () => {
    const { url, ref } = named(ofKind(`${EXAMPLE}/flux`, 'GitRepository'), 'muster').spec
    expect([url, ref.tag, release.chart.spec.chart, release.values]).toEqual([
      source.repoURL,
      source.targetRevision,
      source.path,
      values,
    ])
    expect(source.targetRevision).toMatch(/^v\d+\.\d+\.\d+$/)
    expect(faultsOfValues(values)).toEqual([])
  })

  it('apply a kustomization whose objects exist and select workers of the values', () => {
    const { resources, namespace } = parse(readFileSync(`${EXAMPLE}/fleet/kustomization.yaml`, 'utf8')) as {
      readonly resources: readonly string[]
      readonly namespace: string
    }
    const sets = resources.flatMap((name) => objectsIn(`${EXAMPLE}/fleet/${name}`)) as unknown as FleetWorkerSet[]
    expect(sets.map((set) => entriesOf(values, set))).toEqual([['probe']])
    const { destination } = named(ofKind(`${EXAMPLE}/argocd`, 'Application'), 'muster-fleet').spec
    expect(destination.namespace).toBe(namespace)
  })
})
