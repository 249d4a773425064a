/**
 * Real registries on loopback under the public names that a release has: distribution for images and charts, verdaccio
 * for npm, and pypiserver for Python. Programs reach them through a proxy. It connects the names of the registries to
 * one TLS server, whose certificate has all of these names, and refuses every other name.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, type AddressInfo } from 'node:net'
import { delimiter, dirname, join, resolve } from 'node:path'
import { describe, it } from '@jest/globals'
import { HAS_OPENSSL, makeCertificates } from '../kit/certificates.ts'
import { hackPath } from '../hack/tree.ts'
import { eventually, freePort } from '../kit/index.ts'
import { PYTHON } from '../kit/python-client.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

export interface Registries {
  /** The environment of a program that publishes or installs. */
  readonly env: NodeJS.ProcessEnv
  /** The names that programs requested from the proxy, and that are no registry. */
  readonly refused: readonly string[]
  /** The pushes and uploads that the registries received, in order: `PUT ghcr.io/v2/…`. */
  readonly writes: string[]
  close(): Promise<void>
}

const PYTHON_PROGRAMS = resolve('.tools/publish/bin')
const VERDACCIO = resolve('.tools/registries/node_modules/verdaccio/bin/verdaccio')
/** The public registries that publish.sh pushes to, and for which those of the test stand in. */
const HOSTS = {
  images: ['ghcr.io'],
  npm: ['registry.npmjs.org'],
  python: ['upload.pypi.org', 'pypi.org'],
} as const
type Kind = keyof typeof HOSTS

const hosts = Object.values(HOSTS).flat()
const kindOf = (host: string): Kind | undefined =>
  (Object.keys(HOSTS) as Kind[]).find((kind) => (HOSTS[kind] as readonly string[]).includes(host))
const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** @returns the path of a program of hack/install-tools.sh, or '' if it is not there. */
function toolPath(name: string): string {
  try {
    return execFileSync(hackPath('install-tools.sh'), ['--where', name], { encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return ''
  }
}
const tools = ['crane', 'helm', 'registry'].map(toolPath)
const isInstalled =
  HAS_OPENSSL && [...tools, VERDACCIO, PYTHON, join(PYTHON_PROGRAMS, 'twine')].every((path) => existsSync(path))

/** Runs `define`, which describes tests. Without the registries it defines a named skip instead. */
export function withRegistries(name: string, define: () => void): void {
  if (isInstalled) define()
  else
    describe(name, () =>
      it.skip('the registries are not installed: hack/install-registries.sh installs them', () => undefined),
    )
}

/** Starts the three servers in `folder`. @returns their processes and ports. */
async function startServers(folder: string): Promise<{ children: ChildProcess[]; ports: Record<Kind, number> }> {
  const ports = { images: await freePort(), npm: await freePort(), python: await freePort() }
  const children: ChildProcess[] = []
  const start = (program: string, args: readonly string[]): void =>
    void children.push(
      spawn(program, args, {
        cwd: folder,
        env: { PATH: process.env['PATH'], HOME: folder, OTEL_TRACES_EXPORTER: 'none' },
        stdio: 'ignore',
      }),
    )
  const config = (name: string, ...lines: readonly string[]): string => {
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`)
    return join(folder, name)
  }
  mkdirSync(join(folder, 'python'))
  const images = config(
    'registry.yaml',
    'version: 0.1',
    `storage: {filesystem: {rootdirectory: ${join(folder, 'images')}}}`,
    `http: {addr: "127.0.0.1:${ports.images}"}`,
  )
  const npm = config(
    'verdaccio.yaml',
    `storage: ${join(folder, 'npm')}`,
    `auth: {htpasswd: {file: ${join(folder, 'users')}}}`,
    'uplinks: {}',
    'packages: {"**": {access: $all, publish: $anonymous}}',
    'max_body_size: 100mb',
    'log: {type: stdout, level: warn}',
  )
  start(tools[2] ?? '', ['serve', images])
  start(process.execPath, [VERDACCIO, '--config', npm, '--listen', `127.0.0.1:${ports.npm}`])
  const anyUser = ['-P', '.', '-a', '.']
  const address = ['-i', '127.0.0.1', '-p', String(ports.python)]
  start(join(PYTHON_PROGRAMS, 'pypi-server'), ['run', ...address, ...anyUser, join(folder, 'python')])
  for (const port of Object.values(ports))
    await eventually('the registries respond', () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      ),
    )
  return { children, ports }
}

/** twine uploads to /legacy/, pypiserver accepts uploads at /. */
const pathOf = ({ url = '/' }: IncomingMessage): string => (url === '/legacy/' ? '/' : url)

/** Passes a request on to the registry of its host name. */
function forward(incoming: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, headers } = incoming
  const outgoing = request(
    {
      host: '127.0.0.1',
      port,
      method,
      path: pathOf(incoming),
      headers: { ...headers, 'x-forwarded-proto': 'https' },
    },
    (found) => {
      response.writeHead(found.statusCode ?? 502, found.headers)
      found.pipe(response)
    },
  )
  outgoing.on('error', () => response.destroy())
  incoming.pipe(outgoing)
}

/** A proxy for `CONNECT` alone, which connects every host of a registry to the port of `front`. */
function connectProxy(front: Server, refused: string[]): Server {
  const proxy = createServer((_, response) => void response.writeHead(405).end())
  proxy.on('connect', ({ url = '' }: IncomingMessage, socket) => {
    if (kindOf(url.replace(/:443$/, '')) === undefined) {
      refused.push(url)
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
      return
    }
    const server = connect(portOf(front), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(server).pipe(socket)
    })
    for (const each of [socket, server]) each.on('error', () => each.destroy())
  })
  return proxy
}

export async function startRegistries(): Promise<Registries> {
  const folder = temporaryFolder()
  const { children, ports } = await startServers(folder)
  const certificates = makeCertificates(hosts)
  const { cert, key } = certificates.elsewhere
  const writes: string[] = []
  const refused: string[] = []
  const front = createTlsServer({ cert, key }, (incoming, response) => {
    const { method = '', headers, url = '' } = incoming
    const kind = kindOf(headers.host ?? '')
    if (kind === undefined) return void response.writeHead(421).end()
    if (method === 'PUT' || method === 'POST') writes.push(`${method} ${headers.host}${url}`)
    forward(incoming, response, ports[kind])
  })
  const proxy = connectProxy(front, refused)
  for (const server of [front, proxy]) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  writeFileSync(join(folder, '.npmrc'), `//${HOSTS.npm[0]}/:_authToken=any\n`)
  return {
    writes,
    refused,
    env: environment(folder, `http://127.0.0.1:${portOf(proxy)}`, certificates.ca.certFile),
    close: async () => {
      const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      const ended = running.map((child) => once(child, 'exit'))
      for (const child of running) child.kill()
      await Promise.all(ended)
      for (const server of [front, proxy]) {
        server.closeAllConnections()
        server.close()
      }
      certificates.close()
    },
  }
}

const environment = (home: string, proxy: string, authority: string): NodeJS.ProcessEnv => ({
  PATH: [PYTHON_PROGRAMS, dirname(process.execPath), ...tools.map((path) => dirname(path)), process.env['PATH']].join(
    delimiter,
  ),
  HOME: home,
  HTTPS_PROXY: proxy,
  https_proxy: proxy,
  NO_PROXY: '',
  SSL_CERT_FILE: authority,
  NODE_EXTRA_CA_CERTS: authority,
  REQUESTS_CA_BUNDLE: authority,
  PIP_CERT: authority,
  npm_config_registry: `https://${HOSTS.npm[0]}/`,
  npm_config_cache: join(home, 'npm-cache'),
  npm_config_update_notifier: 'false',
  TWINE_USERNAME: 'any',
  TWINE_PASSWORD: 'any',
})
