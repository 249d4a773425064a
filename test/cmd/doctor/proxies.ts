/**
 * Starts one nginx and one haproxy, each with many ports in front of one master: the config of the master's page and of
 * test/cluster/proxies, and copies of it with one defect each.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { eventually, freePort, type Certificate } from '../../kit/index.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'

const PAGE = 'src/master/README.md'
const HAPROXY = 'test/cluster/proxies/haproxy.cfg'

export const isInstalled = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))

/** A port, and what differs from the correct config: texts of it and their replacements. */
export interface Door {
  readonly name: string
  readonly certificate: Certificate
  readonly defect: Readonly<Record<string, string>>
}

interface Opened {
  readonly urls: ReadonlyMap<string, string>
  readonly stop: () => Promise<void>
}

function replaced(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`the config of the proxy has no longer "${from}"`)
    return before.replace(from, () => to)
  }, text)
}

type Placed = Door & { readonly port: number }

/** The http block of the page: what stands before `server {` once, and the server once for each port. */
function nginxConfig(doors: readonly Placed[], master: string, scratch: string): string {
  const fence = /```nginx\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8'))?.[1] ?? ''
  const at = fence.indexOf('server {\n  listen')
  const shared = replaced(fence.slice(0, at), { '127.0.0.1:8080': master })
  const servers = doors.map(({ port, certificate, defect }) =>
    replaced(fence.slice(at), {
      'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
      '/etc/ssl/muster.pem': certificate.certFile,
      '/etc/ssl/muster.key': certificate.keyFile,
      ...defect,
    }),
  )
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${scratch}/${name};\n`,
  )
  const http = [`access_log off;\n`, ...temporary, shared, ...servers].join('')
  const user = process.getuid?.() === 0 ? 'user root;\n' : ''
  return `${user}daemon off;\npid ${scratch}/pid;\nerror_log stderr;\nevents {}\nhttp {\n${http}}\n`
}

/** The `frontend` and `backend` of the file once for each port, with the timeouts of its `defaults`. */
function haproxyConfig(doors: readonly Placed[], master: string, scratch: string): string {
  const file = readFileSync(HAPROXY, 'utf8')
  const at = { defaults: file.indexOf('defaults\n'), frontend: file.indexOf('frontend public') }
  const pairs = doors.map(({ name, port, certificate, defect }) => {
    const bundle = join(scratch, `${name}.pem`)
    writeFileSync(bundle, certificate.cert + certificate.key)
    return replaced(`${file.slice(at.defaults, at.frontend)}${file.slice(at.frontend)}`, {
      '"${MUSTER_LISTEN}"': `127.0.0.1:${port}`,
      '"${MUSTER_CERTIFICATE}"': bundle,
      'server master "${MUSTER_MASTER}"': `server master ${master}`,
      'frontend public': `frontend public-${port}`,
      'default_backend muster': `default_backend muster-${port}`,
      'backend muster\n': `backend muster-${port}\n`,
      ...defect,
    })
  })
  return `${file.slice(0, at.defaults)}${pairs.join('\n')}`
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isOpen
}

/** Resolves when all ports are open. `master`: its address and port. */
export async function openDoors(program: 'nginx' | 'haproxy', doors: readonly Door[], master: string): Promise<Opened> {
  const placed: Placed[] = []
  for (const door of doors) placed.push({ ...door, port: await freePort() })
  const scratch = temporaryFolder()
  const file = join(scratch, `${program}.conf`)
  writeFileSync(file, (program === 'nginx' ? nginxConfig : haproxyConfig)(placed, master, scratch))
  const args = program === 'nginx' ? ['-p', scratch, '-c', file] : ['-f', file]
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)))
  const isOpen = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`${program} has ended: ${output}`)
    return (await Promise.all(placed.map(({ port }) => listens(port)))).every(Boolean)
  }
  await eventually(`${program} listens`, isOpen, { context: () => output })
  return {
    urls: new Map(placed.map(({ name, port }) => [name, `https://127.0.0.1:${port}`])),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}
