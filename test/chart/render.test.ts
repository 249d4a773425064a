/** Checks what Helm renders: a pure function of the values, with existing settings, and without secrets (R1, P1). */
import { afterAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { started } from '../hack/tree.ts'
import {
  CHART,
  find,
  idOf,
  objectsOf,
  podOf,
  render,
  run,
  SCENARIOS,
  template,
  type Json,
  type KubeObject,
} from './chart.ts'
import { randomValues } from './random-values.ts'
import { BUILT_COMMAND } from '../kit/built-command.ts'
import { makeCertificates } from '../kit/certificates.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const certificates = makeCertificates()
afterAll(() => certificates.close())
const { server: certificate } = certificates
const RUNS = Number(process.env['CHART_RUNS'] ?? 300)
const MINUTES = 60_000
const scenarios = Object.entries(SCENARIOS)
const byId = (objects: readonly KubeObject[]): readonly KubeObject[] =>
  objects.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))

/** The arguments and settings of each process of Muster among these objects. */
function processesOf(
  objects: readonly KubeObject[],
): readonly { readonly subcommand: string; readonly env: Readonly<Record<string, string>> }[] {
  const containers = objects.flatMap((each) => podOf(each)?.containers ?? []).filter(({ args }) => args !== undefined)
  return containers.map(({ args, env = [] }) => ({
    subcommand: args?.[0] ?? '',
    env: Object.fromEntries(env.map(({ name, value = '' }) => [name, value])),
  }))
}

const helps = new Map<string, string>()
function helpOf(subcommand: string): string {
  const known = helps.get(subcommand) ?? started(process.execPath, [BUILT_COMMAND, subcommand, '--help']).stdout
  helps.set(subcommand, known)
  return known
}

/** The faults that a process finds in these settings, with files filled. An unknown flag is a fault too. */
function settingFaults({ subcommand, env }: ReturnType<typeof processesOf>[number]): readonly string[] {
  const folder = temporaryFolder()
  const files = {
    SVC_TOKEN_SCOPES_FILE: '{}',
    SVC_WORKER_TOKENS_FILE: '',
    SVC_TOKENS_FILE: '[]',
    SVC_JWT_ISSUERS_FILE: '[]',
    SVC_BACKEND_URL_FILE: 'kvstores://muster:secret@redis:6379',
    SVC_TLS_CERT_FILE: certificate.cert,
    SVC_TLS_KEY_FILE: certificate.key,
  } as Readonly<Record<string, string>>
  const known = Object.entries(env).filter(([name]) => name.startsWith('SVC_') && name !== 'SVC_AUTOMATIONS')
  const here = known.map(([name, value]) => {
    if (!name.endsWith('_FILE')) return [name, value]
    writeFileSync(join(folder, name), files[name] ?? `${name}-0123456789abcdef`)
    return [name, join(folder, name)]
  })
  const { stderr } = started(process.execPath, [BUILT_COMMAND, subcommand, '--stop-here', '1'], {
    ...Object.fromEntries(here),
    SVC_AUTOMATIONS: 'muster/automations',
    KUBECONFIG: join(folder, 'none'),
    HOME: folder,
  })
  return stderr.split('\n').filter((line) => /SVC_|tokens/.test(line))
}

describe('the chart', () => {
  it.each(scenarios)('renders the same each time, from any folder: %s (P1)', (_, values) => {
    expect(template(values, { cwd: '/' }).stdout).toBe(template(values).stdout)
  })

  it.each(scenarios)('renders the same with Helm 3: %s (P1)', (_, values) => {
    expect(byId(render(values, { helm: 'helm3' }))).toEqual(byId(render(values)))
  })

  it('contains no hook except the test pod, no lookup and no random values', () => {
    const templates = readdirSync(join(CHART, 'templates')).map(
      (name) => [name, readFileSync(join(CHART, 'templates', name), 'utf8')] as const,
    )
    const functions =
      'lookup|randAlpha\\w*|randNumeric|randBytes|randInt|shuffle|uuidv4|now|date\\w*|' +
      'genCA|genSignedCert|genPrivateKey|htpasswd|derivePassword'
    const values = '\\.Capabilities|\\.Release\\.(Revision|IsUpgrade|IsInstall)'
    const bad = new RegExp(`\\b(${functions})\\b\\s|${values}`)
    expect(
      templates.filter(([, text]) => bad.test(text.replaceAll(/\{\{-?\s*\/\*[\s\S]*?\*\//g, ''))).map(([name]) => name),
    ).toEqual([])
    expect(templates.filter(([, text]) => text.includes('helm.sh/hook')).map(([name]) => name)).toEqual(['test.yaml'])
  })

  it('renders by default one master, one operator and one Redis, and what they need', () => {
    expect(render({}).map(idOf).toSorted()).toEqual([
      'ClusterRole muster-muster-fleetworkers-edit',
      'ClusterRole muster-muster-fleetworkers-view',
      'ConfigMap muster-redis',
      'ConfigMap muster-test',
      'CustomResourceDefinition fleetworkers.muster.dev',
      'CustomResourceDefinition fleetworkersets.muster.dev',
      'Deployment muster-bootstrap',
      'Deployment muster-master',
      'Deployment muster-operator',
      'NetworkPolicy muster-bootstrap',
      'NetworkPolicy muster-master',
      'NetworkPolicy muster-operator',
      'NetworkPolicy muster-redis',
      'NetworkPolicy muster-test',
      'Pod muster-test',
      'Role muster-bootstrap',
      'Role muster-operator',
      'Role muster-operator-own',
      'Role muster-test',
      'RoleBinding muster-bootstrap',
      'RoleBinding muster-operator',
      'RoleBinding muster-operator-own',
      'RoleBinding muster-test',
      'Service muster-master',
      'Service muster-operator',
      'Service muster-redis',
      'ServiceAccount muster-bootstrap',
      'ServiceAccount muster-master',
      'ServiceAccount muster-operator',
      'ServiceAccount muster-redis',
      'ServiceAccount muster-test',
      'StatefulSet muster-redis',
      'ValidatingAdmissionPolicy muster-old-names',
      'ValidatingAdmissionPolicyBinding muster-old-names',
    ])
  })

  it('gives every object its own name', () => {
    for (const [, values] of scenarios) {
      const ids = render(values).map(idOf)
      expect(ids).toEqual([...new Set(ids)])
    }
  })

  it.each(scenarios)(
    'sets only known settings to valid values: %s',
    (_, values) => {
      for (const each of processesOf(render(values))) {
        const names = Object.keys(each.env).filter((name) => name.startsWith('SVC_'))
        const unknown = names.filter((name) => !new RegExp(`\\b${name}\\b`).test(helpOf(each.subcommand)))
        expect({ ...each, unknown, faults: settingFaults(each) }).toEqual({ ...each, unknown: [], faults: [] })
      }
    },
    MINUTES,
  )

  it.each(scenarios)(
    'gives no process a secret, and no token of the API except to operator, bootstrap and test: %s',
    (_, values) => {
      const objects = render(values)
      expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([])
      const plain = processesOf(objects)
        .flatMap(({ env }) => Object.entries(env))
        .filter(
          ([name, value]) =>
            /^SVC_(ADMIN_TOKEN|WORKER_TOKENS?|TOKEN_SCOPES|API_TOKEN|BACKEND_(SENTINEL_)?PASSWORD)$/.test(name) ||
            /:\/\/[^/@]*:[^/@]*@/.test(value),
        )
      expect(plain).toEqual([])
      const withToken = objects
        .filter((each) => podOf(each)?.automountServiceAccountToken === true)
        .map(({ metadata: { name } }) => name)
      expect(withToken.filter((name) => !/-(operator|bootstrap|test)$/.test(name))).toEqual([])
    },
  )

  it.each(scenarios)(
    'does not let the operator read Secrets of the release, and reserves each of them: %s (D63)',
    (_, values) => {
      const objects = render(values)
      const env = processesOf(objects).find(({ subcommand }) => subcommand === 'operator')?.env
      if (env === undefined) return
      const mounted = [...JSON.stringify(objects.map(podOf)).matchAll(/"secret":\{(?:[^{}]*,)?"name":"([^"]+)"/g)]
        .map(([, name = '']) => name)
        .filter((name) => name !== 'company-ca')
      expect(mounted.filter((name) => !env['SVC_RESERVED_SECRETS']?.split(',').includes(name))).toEqual([])
      const account = objects.map(podOf).find((pod) => pod?.containers[0]?.args?.[0] === 'operator')?.[
        'serviceAccountName'
      ]
      const bound = objects
        .filter(
          ({ kind, ...each }) =>
            kind.endsWith('RoleBinding') && JSON.stringify(each['subjects']).includes(`"${String(account)}"`),
        )
        .map(({ metadata: { name } }) => name)
      const rules = objects
        .filter(({ kind, metadata: { name } }) => kind.endsWith('Role') && bound.includes(name))
        .flatMap(
          (role) =>
            role['rules'] as readonly {
              readonly resources: readonly string[]
              readonly resourceNames?: readonly string[]
            }[],
        )
      const readable = rules
        .filter(({ resources }) => resources.includes('secrets'))
        .map(({ resourceNames = ['any'] }) => resourceNames)
      expect(readable.flat().filter((name) => name === 'any' || mounted.includes(name))).toEqual([])
    },
  )

  it.each(scenarios)('contains nothing that looks like a key: %s (P1)', (_, values) => {
    const looksMade = (word: string): boolean => [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(word))
    expect([...template(values).stdout.matchAll(/[\w+=-]{24,}/g)].map(([word]) => word).filter(looksMade)).toEqual([])
  })

  it('mounts no secret by subPath, which would not be updated', () => {
    for (const [, values] of scenarios) expect(JSON.stringify(render(values).map(podOf))).not.toContain('subPath')
  })

  it('keeps its selectors for all values', () => {
    const selectors = (values: Json): unknown =>
      (find(render(values), 'Deployment muster-master')['spec'] as { selector: unknown }).selector
    const labels = {
      'app.kubernetes.io/name': 'muster',
      'app.kubernetes.io/instance': 'muster',
      'app.kubernetes.io/component': 'master',
    }
    expect(selectors({})).toEqual({ matchLabels: labels })
    expect(selectors(SCENARIOS['everything'] as Json)).toEqual({ matchLabels: labels })
  })

  it('passes the labels of a worker set to its workers, in one order (D136)', () => {
    const envOf = (labels: Json): Readonly<Record<string, string>> | undefined =>
      processesOf([find(render({ workers: { probe: { type: 'a', labels } } }), 'StatefulSet muster-probe')])[0]?.env
    expect(envOf({ zone: 'eu-1', 'example.com/tier': '' })?.['SVC_WORKER_LABELS']).toBe('example.com/tier=,zone=eu-1')
    expect(envOf({})).not.toHaveProperty('SVC_WORKER_LABELS')
  })

  it('renders no FleetWorker, because its kind may not exist yet', () => {
    for (const [, values] of scenarios) expect(render(values).some(({ kind }) => kind === 'FleetWorker')).toBe(false)
  })

  it(
    'renders all values that match the schema or reports their faults, deterministically',
    () => {
      fc.assert(
        fc.property(randomValues(), (values) => {
          const { status, stdout, stderr } = template(values)
          if (status === 0)
            expect(
              objectsOf(stdout).every(
                ({ kind, metadata }) => typeof kind === 'string' && typeof metadata.name === 'string',
              ),
            ).toBe(true)
          else expect(stderr).toMatch(/the values are invalid:\n/)
          expect(template(values).stdout).toBe(stdout)
        }),
        { numRuns: RUNS },
      )
    },
    10 * MINUTES,
  )

  it('can be a dependency of another chart', () => {
    const folder = temporaryFolder()
    writeFileSync(
      join(folder, 'Chart.yaml'),
      JSON.stringify({
        apiVersion: 'v2',
        name: 'umbrella',
        version: '1.0.0',
        dependencies: [{ name: 'muster', version: '*', repository: `file://${CHART}`, condition: 'muster.enabled' }],
      }),
    )
    expect(run('helm', ['dependency', 'build', folder])).toMatchObject({ status: 0 })
    expect(objectsOf(run('helm', ['template', 'muster', folder, '--namespace', 'muster']).stdout).length).toBe(
      render({}).length,
    )
    expect(objectsOf(run('helm', ['template', 'muster', folder, '--set', 'muster.enabled=false']).stdout)).toEqual([])
  })
})
