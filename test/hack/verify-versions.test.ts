import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, type Ran, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

const FILES: Files = {
  'package.json': '{"version": "1.2.3"}',
  'package-lock.json': '{"version": "1.2.3", "packages": {"": {"version": "1.2.3"}}}',
  'release.json': JSON.stringify({
    npm: '@acme/fleet',
    client: '@acme/fleet-client',
    python: 'fleet-worker',
    image: 'registry.example/fleet',
    chart: 'oci://registry.example/charts/fleet',
    repository: 'https://example.org/fleet',
  }),
  'clients/python/pyproject.toml':
    '[build-system]\nversion = "9"\n\n[project]\nname = "fleet-worker"\nversion = "1.2.3"\n',
  'charts/muster/Chart.yaml': 'version: 1.2.3\nappVersion: 1.2.3\nhome: https://example.org/fleet\n',
}

function verified(changed: Files): Ran {
  const tree = new Tree({ ...FILES, ...changed })
  trees.push(tree)
  return tree.run('verify-versions.mjs')
}

describe('hack/verify-versions', () => {
  it('accepts one version and one set of names', () => {
    expect(verified({})).toMatchObject({ status: 0, stderr: '' })
  })

  it.each([
    ['another version', '[project]\nname = "fleet-worker"\nversion = "1.2.4"\n', '1.2.4'],
    ['no version', '[project]\nname = "fleet-worker"\n\n[tool.x]\nversion = "1.2.3"\n', 'missing'],
  ])('rejects %s of the Python package', (_, pyproject, found) => {
    expect(verified({ 'clients/python/pyproject.toml': pyproject })).toMatchObject({
      status: 1,
      stderr: `clients/python/pyproject.toml: version ${found}, but package.json has 1.2.3: change both together\n`,
    })
  })

  it('rejects another version in the lock file and in the chart', () => {
    const { status, stderr } = verified({
      'package-lock.json': '{"version": "1.2.2", "packages": {"": {"version": "1.2.2"}}}',
      'charts/muster/Chart.yaml': 'version: 1.2.2\nappVersion: 1.2.1\nhome: https://example.org/fleet\n',
    })
    expect(status).toBe(1)
    expect(stderr.trim().split('\n')).toEqual([
      'package-lock.json: version 1.2.2, but package.json has 1.2.3: change both together',
      'package-lock.json: version of packages[""] 1.2.2, but package.json has 1.2.3: change both together',
      'charts/muster/Chart.yaml: version 1.2.2, but package.json has 1.2.3: change both together',
      'charts/muster/Chart.yaml: appVersion 1.2.1, but package.json has 1.2.3: change both together',
    ])
  })

  it('rejects another name than that of release.json', () => {
    const other = FILES['charts/muster/Chart.yaml']?.replace('example.org', 'example.com') ?? ''
    expect(verified({ 'charts/muster/Chart.yaml': other }).stderr).toBe(
      'charts/muster/Chart.yaml: home https://example.com/fleet, ' +
        'but release.json has https://example.org/fleet: change both together\n',
    )
  })

  it('rejects a public name that a file repeats, unless its text is generated', () => {
    const block = '<!-- generated: published -->\nnpx @acme/fleet dev\n<!-- /generated -->\n'
    expect(verified({ 'README.md': block })).toMatchObject({ status: 0, stderr: '' })
    expect(verified({ 'src/a.ts': "const IMAGE = 'registry.example/fleet'\n" })).toMatchObject({
      status: 1,
      stderr: 'src/a.ts: contains registry.example/fleet; read it from release.json, or generate the text\n',
    })
  })

  it('compares the version of a development build in the form of Python', () => {
    const dev = '1.2.3-dev.0a1b2c3d4e5f'
    const lock = JSON.stringify({ version: dev, packages: { '': { version: dev } } })
    const { stderr } = verified({
      'package.json': JSON.stringify({ version: dev }),
      'package-lock.json': lock,
      'charts/muster/Chart.yaml': `version: ${dev}\nappVersion: ${dev}\nhome: https://example.org/fleet\n`,
      'clients/python/pyproject.toml': '[project]\nname = "fleet-worker"\nversion = "1.2.3.dev0+0a1b2c3d4e5f"\n',
    })
    expect(stderr).toBe('')
  })
})
