/**
 * The real cluster under the tests of this folder, whoever made it: `make cluster-up` or `make kind-up`. Both leave a
 * kubeconfig and the address of the ingress controller in .tools/cluster. kubectl and helm are what users type.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, it } from '@jest/globals'
import { programPath } from '../operator/programs.ts'

const FOLDER = `${process.cwd()}/.tools/cluster`
const KUBECONFIG = `${FOLDER}/kubeconfig`
const COMMAND_WITHIN_MS = 180_000

/** Runs `define`, which describes tests, or leaves a named skip in their place. */
export function withCluster(name: string, define: () => void): void {
  if (existsSync(KUBECONFIG)) define()
  else describe(name, () => it.skip('there is no cluster: run make cluster-up, or make kind-up where there is Docker', () => undefined))
}

/** Where the ingress controller listens: address and port. */
export function ingress(): { readonly address: string; readonly port: string } {
  const [address = '', port = ''] = readFileSync(`${FOLDER}/ingress`, 'utf8').trim().split(':')
  return { address, port }
}

function run(name: string, args: readonly string[]): Promise<string> {
  const program = programPath(name) ?? name
  return new Promise((done, fail) => {
    const child = execFile(program, args, { timeout: COMMAND_WITHIN_MS, maxBuffer: 2 ** 26, env: { ...process.env, KUBECONFIG } }, (error, stdout, stderr) => {
      if (error === null) done(stdout)
      else fail(new Error(`${name} ${args.join(' ')}: ${stderr || stdout || error.message}`))
    })
    child.stdin?.end()
  })
}

export interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string }
  readonly status: { readonly containerStatuses?: readonly { readonly restartCount: number; readonly ready: boolean }[] }
}

/** One namespace of the cluster. */
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

  /** As a user's `kubectl apply -f -` would. */
  async apply(object: object): Promise<void> {
    const path = `${FOLDER}/applied.json`
    writeFileSync(path, JSON.stringify(object))
    await this.kubectl('apply', '--filename', path)
  }

  async pods(component: string): Promise<readonly Pod[]> {
    const { items } = JSON.parse(await this.kubectl('get', 'pods', `--selector=app.kubernetes.io/component=${component}`, '--output=json')) as { items: Pod[] }
    return items
  }

  /** Ends the processes of that name in a pod with SIGKILL, as the kernel would, through the node: no image of ours has a shell. */
  async crash(component: string, program: string): Promise<void> {
    const [pod] = await this.pods(component)
    if (pod === undefined) throw new Error(`there is no pod of ${component}`)
    const uid = pod.metadata.uid.replaceAll('-', '[-_]')
    const script = `killed=1; for process in /proc/[0-9]*; do case "$(readlink $process/exe)" in */${program}) if grep -qs 'pod${uid}' $process/cgroup; then kill -9 "\${process#/proc/}"; killed=0; fi ;; esac; done; exit $killed`
    const node = JSON.parse(await this.kubectl('get', 'nodes', '--output=json')) as { items: { spec: { providerID?: string }; metadata: { name: string } }[] }
    const [{ spec, metadata } = { spec: {}, metadata: { name: '' } }] = node.items
    await (spec.providerID?.startsWith('kind:') === true ? run('docker', ['exec', metadata.name, 'sh', '-c', script]) : run('sh', ['-c', script]))
  }
}
