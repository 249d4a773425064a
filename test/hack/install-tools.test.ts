import { afterEach, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hackPath, started, Tree, type Files, type Ran } from './tree.ts'

const SCRIPT = hackPath('install-tools.sh')
const version = (tool: string, module: string): string =>
  new RegExp(`${module} v([\\d.]+)`).exec(readFileSync(hackPath(`tools/${tool}/go.mod`), 'utf8'))?.[1] ?? 'none'
const KUBERNETES = `cache/muster/tools/kubernetes-${version('kubernetes', 'k8s.io/kubernetes')}`
const ETCD = `cache/muster/tools/etcd-${version('etcd', 'go.etcd.io/etcd/server/v3')}`

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

const program = '#!/bin/sh\n'

/** A machine with exactly these programs in `assets/`, `path/` and the cache. */
function machine(files: Files): { readonly root: string; readonly run: (...args: readonly string[]) => Ran } {
  const tree = new Tree({ 'assets/.keep': '', 'path/.keep': '', ...files })
  trees.push(tree)
  const env = {
    HOME: tree.root,
    XDG_CACHE_HOME: join(tree.root, 'cache'),
    KUBEBUILDER_ASSETS: join(tree.root, 'assets'),
    PATH: `${join(tree.root, 'path')}:/usr/bin:/bin`,
  }
  return { root: tree.root, run: (...args) => started(SCRIPT, args, env) }
}

describe('hack/install-tools', () => {
  it('prefers KUBEBUILDER_ASSETS to PATH, and PATH to its own builds', () => {
    const files = { [`${ETCD}/etcd*`]: program }
    const where = (more: Files): string => {
      const { root, run } = machine({ ...files, ...more })
      return run('--where', 'etcd').stdout.trim().replace(`${root}/`, '')
    }
    expect(where({})).toBe(`${ETCD}/etcd`)
    expect(where({ 'path/etcd*': program })).toBe('path/etcd')
    expect(where({ 'path/etcd*': program, 'assets/etcd*': program })).toBe('assets/etcd')
  })

  it('uses the kubectl next to the API server first', () => {
    const { root, run } = machine({
      'path/kubectl*': program,
      [`${KUBERNETES}/kube-apiserver*`]: program,
      [`${KUBERNETES}/kubectl*`]: program,
    })
    expect(run('--where', 'kubectl').stdout.trim()).toBe(`${root}/${KUBERNETES}/kubectl`)
  })

  it('prints advice when a program is missing', () => {
    expect(machine({}).run('--where', 'kube-apiserver')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('run make tools'),
    })
  })

  it('builds nothing if everything exists', () => {
    const { run } = machine({ 'path/etcd*': program, 'path/go*': '#!/bin/sh\nexit 9\n' })
    expect(run('etcd')).toMatchObject({ status: 0, stdout: expect.stringContaining('etcd: /') })
  })

  it('leaves nothing behind when a build fails, and caches a successful one', () => {
    const go = (build: string): string => `#!/bin/sh\nif [ "$1" = env ]; then echo go0; exit; fi\n${build}\n`
    const failing = machine({ 'path/go*': go('exit 1') })
    expect(failing.run('etcd').status).toBe(1)
    expect(started('find', [join(failing.root, 'cache/muster/tools'), '-mindepth', '1']).stdout).toBe('')
    const working = machine({
      'path/go*': go('while [ "$1" != -o ]; do shift; done; printf "#!/bin/sh\\n" > "$2"; chmod +x "$2"'),
    })
    expect(working.run('etcd')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`etcd: ${working.root}/${ETCD}/etcd`),
    })
  })

  it('names a tool of `go install` by its command', () => {
    const { root, run } = machine({
      'path/go*':
        '#!/bin/sh\n' +
        'if [ "$1" = env ]; then echo go0; exit; fi\n' +
        'printf "#!/bin/sh\\n" > "$GOBIN/helm"; chmod +x "$GOBIN/helm"\n',
    })
    expect(run('helm3')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(new RegExp(`helm3: ${root}/cache/muster/tools/helm3-3[.0-9]+/helm3`)),
    })
  })

  it('rejects an unknown tool', () => {
    expect(machine({}).run('docker')).toMatchObject({
      status: 1,
      stderr:
        'docker: not known here; known: kubernetes, etcd, ' +
        'helm, helm3, kustomize, kubeconform, kube-score, crane, registry, coredns, traefik, pause, keda\n',
    })
  })
})
