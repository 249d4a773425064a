/** Checks what is reachable from outside: only the public routes of the master (R1). */
import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { find, render, SCENARIOS, type Json } from './chart.ts'

interface Path {
  readonly path: string
  readonly type: string
}
type Ingress = {
  readonly rules: readonly {
    readonly host: string
    readonly http: { readonly paths: readonly { readonly path: string; readonly pathType: string }[] }
  }[]
  readonly tls?: readonly unknown[]
}
type Route = {
  readonly rules: readonly {
    readonly matches: readonly { readonly path: { readonly type: string; readonly value: string } }[]
    readonly timeouts?: unknown
  }[]
}

const ingressOf = (values: Json) => find(render(values), 'Ingress muster-master')
const pathsOf = (values: Json): readonly Path[] =>
  (ingressOf(values)['spec'] as Ingress).rules[0]?.http.paths.map(({ path, pathType }) => ({ path, type: pathType })) ??
  []
const covers = ({ path, type }: Path, route: string): boolean =>
  type === 'Exact' ? route === path : route === path || route.startsWith(`${path}/`)
/** All routes of the master: those of its API document, and those outside of it. */
const ROUTES = [
  ...new Set(
    [...readFileSync('src/master/README.md', 'utf8').matchAll(/\/api\/v1\/[a-z/{}_]+/g)].map(([route]) => route),
  ),
  '/',
  '/assets/index.js',
  '/healthz',
]
const NEVER = ['/metrics', '/readyz', '/metrics/', '/assetsx', '/api/v2', '/healthz/x', '/anything']

describe('the external access', () => {
  it.each(['ingress-generic', 'ingress-contour', 'ingress-alb'])(
    'exposes every public route and no other: %s',
    (name) => {
      const paths = pathsOf(SCENARIOS[name] as Json)
      expect(ROUTES.filter((route) => !paths.some((each) => covers(each, route)))).toEqual([])
      expect(NEVER.filter((route) => paths.some((each) => covers(each, route)))).toEqual([])
    },
  )

  it('exposes only the API without the dashboard', () => {
    expect(pathsOf({ exposure: { type: 'ingress', host: 'a.b', dashboard: false } })).toEqual([
      { path: '/api/v1', type: 'Prefix' },
      { path: '/healthz', type: 'Exact' },
    ])
  })

  it('is the same through a Gateway', () => {
    const { rules } = find(render(SCENARIOS['gateway'] as Json), 'HTTPRoute muster-master')['spec'] as Route
    expect(
      rules[0]?.matches.map(({ path: { type, value } }) => ({ path: value, type: type.replace('Path', '') })),
    ).toEqual(pathsOf(SCENARIOS['ingress-generic'] as Json))
    expect(rules[0]?.timeouts).toBeUndefined()
  })

  it('allows long streams behind Envoy, which would close them after 15 s', () => {
    expect(
      (find(render(SCENARIOS['gateway-envoy'] as Json), 'HTTPRoute muster-master')['spec'] as Route).rules[0]?.timeouts,
    ).toEqual({ request: '0s' })
  })

  it.each<readonly [string, Json]>([
    ['generic', {}],
    ['traefik', {}],
    ['haproxy', {}],
    [
      'f5-nginx',
      {
        'nginx.org/websocket-services': 'muster-master',
        'nginx.org/proxy-buffering': 'False',
        'nginx.org/client-max-body-size': '1048576',
      },
    ],
    [
      'ingress-nginx',
      {
        'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
        'nginx.ingress.kubernetes.io/proxy-body-size': '1048576',
      },
    ],
    ['contour', { 'projectcontour.io/websocket-routes': '/api/v1', 'projectcontour.io/response-timeout': 'infinity' }],
    ['openshift', { 'route.openshift.io/termination': 'edge', 'haproxy.router.openshift.io/timeout-tunnel': '1h' }],
    ['alb', { 'alb.ingress.kubernetes.io/target-type': 'ip', 'alb.ingress.kubernetes.io/healthcheck-path': '/readyz' }],
  ])('sets the annotations that %s needs', (profile, annotations) => {
    const found = ingressOf(SCENARIOS[`ingress-${profile}`] as Json).metadata.annotations ?? {}
    expect(found).toMatchObject(annotations)
    if (Object.keys(annotations).length === 0) expect(found).toEqual({})
  })

  it('renders what Google needs in addition to the Ingress', () => {
    const objects = render(SCENARIOS['ingress-gke'] as Json)
    expect(find(objects, 'Service muster-master').metadata.annotations).toEqual({
      'cloud.google.com/backend-config': '{"default":"muster-master"}',
      'cloud.google.com/neg': '{"ingress":true}',
    })
    expect(find(objects, 'BackendConfig muster-master')['spec']).toMatchObject({ timeoutSec: 86_400 })
  })

  it("prefers the user's annotations, key by key", () => {
    const annotations = { 'projectcontour.io/response-timeout': '1h', mine: 'yes' }
    expect(
      ingressOf({ exposure: { type: 'ingress', host: 'a.b', profile: 'contour', annotations } }).metadata.annotations,
    ).toEqual({ 'projectcontour.io/websocket-routes': '/api/v1', ...annotations })
  })

  it('requests a certificate if an issuer is set', () => {
    const withIssuer = (kind: string) =>
      ingressOf({ exposure: { type: 'ingress', host: 'a.b', tls: { certManager: { issuer: 'ca', kind } } } })
    expect(withIssuer('Issuer').metadata.annotations).toEqual({ 'cert-manager.io/issuer': 'ca' })
    expect(withIssuer('ClusterIssuer').metadata.annotations).toEqual({ 'cert-manager.io/cluster-issuer': 'ca' })
    expect((withIssuer('Issuer')['spec'] as Ingress).tls).toEqual([{ hosts: ['a.b'], secretName: 'muster-tls' }])
  })
})
