/**
 * Runs kubectl and helm against the real cluster that the tests of this folder use. `make cluster-up` and `make
 * kind-up` both create one and write a kubeconfig and the address of the ingress controller to .tools/cluster.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { programPath } from '../operator/programs.ts'

/** What hack/cluster/up.mjs writes. */
export const FOLDER = `${process.cwd()}/.tools/cluster`
/** The definitions that a release installs. */
export const CRDS = ['fleetworkers.muster.dev', 'fleetworkersets.muster.dev']
export const KUBECONFIG = `${FOLDER}/kubeconfig`
const COMMAND_WITHIN_MS = 180_000

/** Runs `define`, which defines tests; without a cluster it defines one skipped test instead. */
export function withCluster(name: string, define: () => void): void {
  if (existsSync(KUBECONFIG)) define()
  else
    describe(name, () =>
      it.skip('no cluster: run make cluster-up, or make kind-up where Docker is available', () => undefined),
    )
}

/**
 * Runs `define`, which defines tests that need what an option of hack/cluster/up.mjs adds to a cluster, as a file or
 * folder of the same name; in a cluster without it, defines one skipped test instead.
 */
export function withOption(option: 'keda' | 'previous', name: string, define: () => void): void {
  withCluster(name, () => {
    if (existsSync(`${FOLDER}/${option}`)) define()
    else
      describe(name, () =>
        it.skip(`the cluster was started without --${option}: run make cluster-up ARGS=--${option}`, () => undefined),
      )
  })
}

/**
 * Defines tests that depend on one another: after a failure, all later tests fail with a reference to the first one.
 */
export function chain(
  subject: string,
  longestMs: number,
): (title: string, use: () => Promise<void>, withinMs?: number) => void {
  let failed = ''
  return (title, use, withinMs = longestMs) => {
    it(
      title,
      async () => {
        if (failed !== '') throw new Error(`not run: ${subject} failed before at "${failed}"`)
        failed = title
        await use()
        failed = ''
      },
      withinMs,
    )
  }
}

/** Address and port of the ingress controller. */
export function ingress(): { readonly address: string; readonly port: string } {
  const [address = '', port = ''] = readFileSync(`${FOLDER}/ingress`, 'utf8').trim().split(':')
  return { address, port }
}

function run(name: string, args: readonly string[]): Promise<string> {
  const program = programPath(name) ?? name
  return new Promise((done, fail) => {
    const child = execFile(
      program,
      args,
      { timeout: COMMAND_WITHIN_MS, maxBuffer: 2 ** 26, env: { ...process.env, KUBECONFIG } },
      (error, stdout, stderr) => {
        if (error === null) done(stdout)
        else fail(new Error(`${name} ${args.join(' ')}: ${stderr || stdout || error.message}`))
      },
    )
    child.stdin?.end()
  })
}

/** Runs kubectl without a namespace. */
export const kubectl = (...args: readonly string[]): Promise<string> => run('kubectl', args)

/** Expects that the text contains none of the secrets, neither as plain text nor in base64. */
export function expectHidden(secrets: Iterable<string>, text: string): void {
  const shown = [...secrets].filter(
    (secret) => text.includes(secret) || text.includes(Buffer.from(secret).toString('base64')),
  )
  expect(shown.map((secret) => text.slice(Math.max(0, text.indexOf(secret) - 200), text.indexOf(secret)))).toEqual([])
}

export interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string }
  readonly status: {
    readonly containerStatuses?: readonly { readonly restartCount: number; readonly ready: boolean }[]
  }
}

/** A namespace of the cluster. */
export class Namespace {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return run('kubectl', [`--namespace=${this.name}`, ...args])
  }

  helm(...args: readonly string[]): Promise<string> {
    return run('helm', [...args, `--namespace=${this.name}`])
  }

  /** Runs `kubectl apply -f -` with the object as input. */
  async apply(object: object): Promise<void> {
    const path = `${FOLDER}/applied.json`
    writeFileSync(path, JSON.stringify(object))
    await this.kubectl('apply', '--filename', path)
  }

  async pods(component: string): Promise<readonly Pod[]> {
    const { items } = JSON.parse(
      await this.kubectl('get', 'pods', `--selector=app.kubernetes.io/component=${component}`, '--output=json'),
    ) as { items: Pod[] }
    return items
  }

  /** The address at which a Service of type NodePort is reachable from this machine. */
  async address(service: string): Promise<string> {
    const port = await this.kubectl('get', 'service', service, '--output=jsonpath={.spec.ports[0].nodePort}')
    const address = await this.kubectl(
      'get',
      'nodes',
      '--output=jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}',
    )
    return `${address}:${port}`
  }

  /**
   * Everything that is readable of a release without permission to read Secrets: objects, events, Helm's release data
   * and logs, including the logs of terminated containers.
   */
  async readable(release: string): Promise<string> {
    const kinds = (await this.kubectl('api-resources', '--verbs=list', '--namespaced', '--output=name'))
      .trim()
      .split('\n')
      .filter((kind) => kind !== 'secrets')
    const { items } = JSON.parse(await this.kubectl('get', 'pods', '--output=json')) as { items: Pod[] }
    const logs = items.flatMap(({ metadata: { name } }) => [
      this.kubectl('logs', name, '--all-containers', '--prefix'),
      // Most containers have no previous log.
      this.kubectl('logs', name, '--all-containers', '--previous').catch(() => ''),
    ])
    return (
      await Promise.all([
        this.kubectl('get', kinds.join(','), '--output=json', '--show-managed-fields'),
        this.helm('get', 'all', release),
        ...logs,
      ])
    ).join('\n')
  }

  /**
   * Kills the named processes of a pod with SIGKILL. It does so on the node, because Muster's images contain no shell.
   */
  async crash(component: string, program: string): Promise<void> {
    const [pod] = await this.pods(component)
    if (pod === undefined) throw new Error(`there is no pod of ${component}`)
    const uid = pod.metadata.uid.replaceAll('-', '[-_]')
    const script =
      `killed=1; for process in /proc/[0-9]*; do case "$(readlink $process/exe)" in */${program}) if grep -qs ` +
      `'pod${uid}' $process/cgroup; then kill -9 "\${process#/proc/}"; killed=0; fi ;; esac; done; exit $killed`
    const node = JSON.parse(await this.kubectl('get', 'nodes', '--output=json')) as {
      items: { spec: { providerID?: string }; metadata: { name: string } }[]
    }
    const [{ spec, metadata } = { spec: {}, metadata: { name: '' } }] = node.items
    await (spec.providerID?.startsWith('kind:') === true
      ? run('docker', ['exec', metadata.name, 'sh', '-c', script])
      : run('sh', ['-c', script]))
  }
}
