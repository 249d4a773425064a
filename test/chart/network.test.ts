/**
 * Evaluates the network policies as a cluster does: whether each connection between two pods is allowed (the cells of
 * R5, without a cluster).
 */
import { describe, expect, it } from '@jest/globals'
import { render, SCENARIOS, type Json, type KubeObject } from './chart.ts'

interface Rule {
  readonly from?: readonly Peer[]
  readonly to?: readonly Peer[]
  readonly ports?: readonly { readonly port: number }[]
}
interface Peer {
  readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> }
  readonly namespaceSelector?: { readonly matchLabels: Readonly<Record<string, string>> }
  readonly ipBlock?: { readonly cidr: string }
}
interface Spec {
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> }
  readonly policyTypes: readonly string[]
  readonly ingress?: readonly Rule[]
  readonly egress?: readonly Rule[]
}
/** One end of a connection: a pod of the release, a pod of another namespace, or an external address. */
interface End {
  readonly labels?: Readonly<Record<string, string>>
  readonly namespace?: string
  readonly address?: string
}

const pod = (component: string): End => ({
  labels: {
    'app.kubernetes.io/name': 'muster',
    'app.kubernetes.io/instance': 'muster',
    'app.kubernetes.io/component': component,
  },
})
const ENDS: Readonly<Record<string, End>> = {
  master: pod('master'),
  operator: pod('operator'),
  bootstrap: pod('bootstrap'),
  redis: pod('redis'),
  worker: pod('worker'),
  test: pod('test'),
  stranger: { labels: { app: 'other' } },
  monitoring: { namespace: 'monitoring', labels: { app: 'prometheus' } },
  apiserver: { address: '10.0.0.1/32' },
  internet: { address: '203.0.113.9/32' },
}

const matches = (wanted: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>> = {}): boolean =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value)
function isPeer({ podSelector, namespaceSelector, ipBlock }: Peer, { labels, namespace, address }: End): boolean {
  if (ipBlock !== undefined) return ipBlock.cidr === address
  if (address !== undefined) return false
  const inNamespace =
    namespaceSelector === undefined
      ? namespace === undefined
      : namespaceSelector.matchLabels['kubernetes.io/metadata.name'] === namespace
  return inNamespace && (podSelector === undefined || matches(podSelector.matchLabels, labels))
}

/** Everything is allowed if no policy selects a pod; otherwise what any rule allows. */
function lets(
  policies: readonly Spec[],
  direction: 'Ingress' | 'Egress',
  self: End,
  other: End,
  port: number,
): boolean {
  if (self.address !== undefined || self.namespace !== undefined) return true
  const mine = policies.filter(
    ({ podSelector, policyTypes }) => policyTypes.includes(direction) && matches(podSelector.matchLabels, self.labels),
  )
  const rules = mine.flatMap((each) => (direction === 'Ingress' ? each.ingress : each.egress) ?? [])
  return (
    mine.length === 0 ||
    rules.some((rule) => {
      const peers = direction === 'Ingress' ? rule.from : rule.to
      return (
        (rule.ports === undefined || rule.ports.some((each) => each.port === port)) &&
        (peers === undefined || peers.some((each) => isPeer(each, other)))
      )
    })
  )
}

function waysOf(values: Json): (from: string, to: string, port: number) => boolean {
  const policies = render(values)
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map((each: KubeObject) => each['spec'] as Spec)
  return (from, to, port) => {
    const [a, b] = [ENDS[from] as End, ENDS[to] as End]
    return lets(policies, 'Egress', a, b, port) && lets(policies, 'Ingress', b, a, port)
  }
}

/** @returns all pairs of ends that may connect on this port. */
const pairs = (values: Json, port: number): readonly string[] => {
  const may = waysOf(values)
  const inside = new Set(['master', 'operator', 'bootstrap', 'redis', 'worker', 'test', 'stranger'])
  return Object.keys(ENDS)
    .flatMap((from) =>
      Object.keys(ENDS)
        .filter((to) => from !== to && (inside.has(from) || inside.has(to)) && may(from, to, port))
        .map((to) => `${from} → ${to}`),
    )
    .filter((way) => /→ (master|operator|redis|worker|apiserver|internet)$/.test(way))
}

const quick = { workers: { probe: { type: 'http-probe' } } }

describe('the network policies', () => {
  it('allow every pod to connect to the master, on its port only', () => {
    expect(pairs(quick, 8080).filter((way) => way.endsWith('→ master'))).toEqual([
      'operator → master',
      'worker → master',
      'test → master',
      'stranger → master',
      'monitoring → master',
      'apiserver → master',
      'internet → master',
    ])
    expect(pairs(quick, 8081).filter((way) => /→ (master|operator|redis)/.test(way))).toEqual([])
  })

  it('allow only the master to connect to Redis, and Redis to connect to nothing', () => {
    for (const values of [quick, SCENARIOS['everything'] as Json]) {
      expect(pairs(values, 6379).filter((way) => way.endsWith('→ redis'))).toEqual(['master → redis'])
      for (const port of [53, 80, 443, 8080, 6379])
        expect(pairs(values, port).filter((way) => way.startsWith('redis'))).toEqual([])
    }
  })

  it('allow the operator to connect to master and API server, and only its metrics readers to connect to it', () => {
    const may = waysOf(quick)
    expect([
      may('operator', 'master', 8080),
      may('operator', 'apiserver', 443),
      may('operator', 'apiserver', 6443),
      may('operator', 'internet', 22),
      may('operator', 'redis', 6379),
    ]).toEqual([true, true, true, false, false])
    expect([may('monitoring', 'operator', 9090), may('monitoring', 'operator', 9091)]).toEqual([true, false])
  })

  it('allow the bootstrap process to connect only to the API server, and no pod to connect to it', () => {
    const may = waysOf(quick)
    expect([
      may('bootstrap', 'apiserver', 443),
      may('bootstrap', 'apiserver', 6443),
      may('bootstrap', 'master', 8080),
      may('bootstrap', 'redis', 6379),
      may('monitoring', 'bootstrap', 9090),
    ]).toEqual([true, true, false, false, false])
  })

  it('block the master from the API server and from the internet', () => {
    const may = waysOf(quick)
    expect([443, 6443, 80].map((port) => may('master', 'apiserver', port))).toEqual([false, false, false])
  })

  it('allow workers to connect anywhere, because automations choose their targets', () => {
    const may = waysOf(quick)
    expect([
      may('worker', 'internet', 443),
      may('worker', 'internet', 25),
      may('worker', 'redis', 6379),
      may('worker', 'operator', 8080),
    ]).toEqual([true, true, false, false])
  })

  it('allow only the configured clients and the pods of the release', () => {
    const may = waysOf(SCENARIOS['everything'] as Json)
    expect([
      may('stranger', 'master', 8080),
      may('internet', 'master', 8080),
      may('monitoring', 'master', 8080),
      may('worker', 'master', 8080),
      may('test', 'master', 8080),
    ]).toEqual([false, false, true, true, true])
    expect([
      may('stranger', 'operator', 9090),
      may('monitoring', 'operator', 9090),
      may('stranger', 'worker', 9091),
      may('monitoring', 'worker', 9091),
    ]).toEqual([false, true, false, true])
    expect([
      may('operator', 'apiserver', 6443),
      may('operator', 'internet', 6443),
      may('operator', 'internet', 4318),
      may('operator', 'internet', 9998),
      may('master', 'internet', 9999),
    ]).toEqual([true, false, true, true, true])
  })

  it('allow the master to connect to an external Redis on its port', () => {
    const may = waysOf(SCENARIOS['external-redis'] as Json)
    expect([may('master', 'internet', 6380), may('master', 'internet', 6379)]).toEqual([true, false])
  })

  it('are not rendered when they are disabled', () => {
    expect(render(SCENARIOS['in-memory'] as Json).filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([])
  })
})
