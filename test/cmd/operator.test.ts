/** The settings of `muster operator` that depend on each other. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { run } from '../../src/cmd/operator.ts'
import { SettingsError } from '../../src/cmd/settings.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const NAMES = [
  'KUBECONFIG',
  'SVC_MASTER_URL',
  'SVC_API_TOKEN',
  'SVC_WATCH_NAMESPACES',
  'SVC_TENANTS',
  'SVC_LEASE_NAME',
  'SVC_BOOTSTRAP_TOKENS_SECRET',
]
const saved = new Map(NAMES.map((name) => [name, process.env[name]]))
afterEach(() => {
  for (const [name, value] of saved)
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
})

/** The faults of a start in the namespace `muster`; the name of the Lease is always one, so that nothing is started. */
async function faultsOf(settings: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
  const folder = temporaryFolder()
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'a',
      clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'a', user: { token: 'x' } }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a', namespace: 'muster' } }],
    }),
  )
  for (const name of NAMES) delete process.env[name]
  Object.assign(process.env, {
    KUBECONFIG: kubeconfig,
    SVC_MASTER_URL: 'http://127.0.0.1:1',
    SVC_API_TOKEN: 'a-token-of-the-test',
    SVC_LEASE_NAME: 'No',
    ...settings,
  })
  const error: unknown = await run([]).catch((thrown: unknown) => thrown)
  if (!(error instanceof SettingsError)) throw new Error('it has started', { cause: error })
  return Object.fromEntries(
    error.faults.filter(({ name }) => name !== 'SVC_LEASE_NAME').map(({ name, problem }) => [name, problem]),
  )
}

describe('muster operator', () => {
  it.each([[{}], [{ SVC_WATCH_NAMESPACES: 'team-a' }], [{ SVC_WATCH_NAMESPACES: 'muster,team-a' }]])(
    'requires the map of tenants where another namespace than its own is watched (D65): %j',
    async (settings) => {
      expect(await faultsOf(settings)).toEqual({
        SVC_TENANTS: expect.stringContaining(
          'or {"*": {"types": ["*"], "workers": ["*"]}} if every namespace may manage every worker',
        ),
      })
      expect(await faultsOf({ ...settings, SVC_TENANTS: '{"*": {"types": ["*"], "workers": ["*"]}}' })).toEqual({})
      expect(await faultsOf({ ...settings, SVC_TENANTS: '{' })).toEqual({
        SVC_TENANTS: expect.stringContaining('is not JSON'),
      })
    },
  )

  it('requires no tenants when it watches only its own namespace', async () => {
    expect(await faultsOf({ SVC_WATCH_NAMESPACES: 'muster' })).toEqual({})
  })

  it('explains the upgrade from a release in which the operator created the Secrets', async () => {
    expect(
      await faultsOf({
        SVC_WATCH_NAMESPACES: 'muster',
        SVC_API_TOKEN: '',
        SVC_BOOTSTRAP_TOKENS_SECRET: 'muster-tokens',
      }),
    ).toEqual({
      SVC_API_TOKEN: expect.stringContaining('is required'),
      SVC_BOOTSTRAP_TOKENS_SECRET: expect.stringContaining('is a setting of muster bootstrap'),
    })
  })
})
