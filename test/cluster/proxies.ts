/**
 * Starts reverse proxies on this machine, each as a process with TLS in front of the masters: nginx with the config
 * that the master's README shows, and haproxy with the file beside this one. `reload` makes them read the authority's
 * certificate again.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually, freePort } from '../kit/index.ts'
import { HOST, type Authority } from './authority.ts'
import type { Door } from './public.ts'

const PAGE = 'src/master/README.md'
const HAPROXY = 'test/cluster/proxies/haproxy.cfg'
const ADDRESS = '127.0.0.1'

interface Behind {
  readonly authority: Authority
  readonly scratch: string
  readonly port: string
  readonly master: string
}
interface Kind {
  /** Writes the files that the program reads. @returns its arguments. */
  readonly prepare: (behind: Behind) => readonly string[]
  /** Puts the authority's certificate where the program reads it. */
  readonly certify: (behind: Behind) => void
  /** The signal that makes it reload its config while connections stay open. */
  readonly reload: NodeJS.Signals
}

const bundle = ({ scratch }: Behind): string => join(scratch, 'bundle.pem')

/** The server block of the README page, in a process that writes to its own folder only. */
function nginxConfig({ authority, scratch, port, master }: Behind): string {
  const fence = /```nginx\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8'))?.[1] ?? ''
  const places = {
    '127.0.0.1:8080': master,
    'listen 443 ssl': `listen ${ADDRESS}:${port} ssl`,
    'muster.example.com': HOST,
    '/etc/ssl/muster.pem': authority.certFile,
    '/etc/ssl/muster.key': authority.keyFile,
  }
  const server = Object.entries(places).reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`${PAGE} has no longer "${from}" in its nginx`)
    return text.replace(from, to)
  }, fence)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${scratch}/${name};`)
    .join('\n')
  return (
    'user root;\n' +
    'daemon off;\n' +
    `pid ${scratch}/pid;\n` +
    'error_log stderr;\n' +
    'events {}\n' +
    'http {\n' +
    'access_log /dev/stdout;\n' +
    `${temporary}\n` +
    `${server}}\n`
  )
}

const KINDS: Readonly<Record<'nginx' | 'haproxy', Kind>> = {
  nginx: {
    reload: 'SIGHUP',
    certify: () => undefined,
    prepare: (behind) => {
      writeFileSync(join(behind.scratch, 'nginx.conf'), nginxConfig(behind))
      return ['-p', behind.scratch, '-c', join(behind.scratch, 'nginx.conf')]
    },
  },
  haproxy: {
    reload: 'SIGUSR2',
    prepare: () => ['-W', '-f', HAPROXY],
    certify: (behind) =>
      writeFileSync(
        bundle(behind),
        readFileSync(behind.authority.certFile, 'utf8') + readFileSync(behind.authority.keyFile, 'utf8'),
      ),
  },
}

async function listens(port: string): Promise<boolean> {
  const socket = connect(Number(port), ADDRESS)
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isOpen
}

export class Proxy implements Door {
  readonly name: string
  readonly address = ADDRESS
  readonly port: string
  readonly #kind: Kind
  readonly #behind: Behind
  readonly #child: ChildProcess

  private constructor(name: keyof typeof KINDS, behind: Behind) {
    this.name = name
    this.port = behind.port
    this.#kind = KINDS[name]
    this.#behind = behind
    this.#kind.certify(behind)
    const log = openSync(this.#logFile, 'a')
    this.#child = spawn(name, this.#kind.prepare(behind), {
      stdio: ['ignore', log, log],
      env: {
        PATH: process.env['PATH'],
        MUSTER_LISTEN: `${ADDRESS}:${behind.port}`,
        MUSTER_CERTIFICATE: bundle(behind),
        MUSTER_MASTER: behind.master,
      },
    })
    closeSync(log)
  }

  /** Resolves when the proxy listens. `master`: address and port of a master or of a load balancer. */
  static async start(name: keyof typeof KINDS, authority: Authority, master: string): Promise<Proxy> {
    const proxy = new Proxy(name, {
      authority,
      master,
      port: String(await freePort()),
      scratch: mkdtempSync(join(tmpdir(), `muster-${name}-`)),
    })
    await eventually(`${name} listens`, () => listens(proxy.port), { context: () => proxy.log() })
    return proxy
  }

  /** All output of the process, its access log included. */
  log(): string {
    return readFileSync(this.#logFile, 'utf8')
  }

  reload(): void {
    this.#kind.certify(this.#behind)
    this.#child.kill(this.#kind.reload)
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGTERM')
      await eventually(
        `${this.name} ends`,
        async () => this.#child.exitCode !== null || this.#child.signalCode !== null,
        { context: () => this.log() },
      )
    }
    rmSync(this.#behind.scratch, { recursive: true, force: true })
  }

  get #logFile(): string {
    return join(this.#behind.scratch, 'log')
  }
}
