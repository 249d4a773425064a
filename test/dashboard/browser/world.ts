/**
 * @module test/dashboard/browser/world
 * A real master with its workers, and a real browser with the built page, for one test. Whatever the page complains of (an
 * exception, a breach of its content security policy, an error in the console) is kept and must be nothing at the end.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, request as ask, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { ADMIN_TOKEN, Fleet, WORKER_TOKEN } from '../../e2e/fleet.ts'

export const SCOPED_TOKEN = 'scoped-token-of-the-browser-test'

/** The browser that PATH has; undefined: none, and every test is a named skip. */
export const CHROMIUM = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'chromium')).find((file) => existsSync(file))

const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
]

/** An answer of 4xx is expected where a test provokes it; the browser calls each an error. */
const IS_NETWORK = /^Failed to load resource/

export class World {
  readonly fleet = new Fleet()
  readonly complaints: string[] = []
  /** Paths of the API that the page asked for. */
  readonly asked: string[] = []
  #browser: Browser | undefined
  #proxy: Server | undefined

  async start(): Promise<void> {
    await this.fleet.startMaster({ SVC_TOKEN_SCOPES: JSON.stringify({ [SCOPED_TOKEN]: ['http-request'] }) })
  }

  /** Starts a worker of the type and enables it; it may reach this machine. */
  async startWorker(type: 'http-request' | 'http-probe', id: string, config: object = {}): Promise<void> {
    this.fleet.startWorker(type, id)
    const port = Number(new URL(this.fleet.url).port)
    await this.fleet.configure(type, id, { enabled: true, allow_cidrs: ['127.0.0.0/8'], allow_ports: [port], ...config })
  }

  /** Opens the page at `address`: the master itself, or a proxy before it. */
  async open(hash = '', options: BrowserContextOptions = {}, address = `${this.fleet.url}/`): Promise<Page> {
    this.#browser ??= await chromium.launch({ executablePath: CHROMIUM ?? '', args: ARGUMENTS })
    const page = await (await this.#browser.newContext(options)).newPage()
    page.setDefaultTimeout(20_000)
    page.on('pageerror', (error) => this.complaints.push(`exception: ${error.message}`))
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()) && !IS_NETWORK.test(message.text())) this.complaints.push(`${message.type()}: ${message.text()}`)
    })
    page.on('request', (request) => {
      const { origin, pathname } = new URL(request.url())
      if (origin !== new URL(address).origin) this.complaints.push(`asked a third party: ${request.url()}`)
      if (pathname.startsWith('/api/')) this.asked.push(pathname)
    })
    await page.goto(`${address}${hash}`)
    return page
  }

  /** A proxy that serves the master below `/fleet/`; answers its address. */
  async proxied(): Promise<string> {
    const { port } = new URL(this.fleet.url)
    this.#proxy = createServer((request, response) => {
      if (request.url?.startsWith('/fleet/') !== true) return void response.writeHead(404).end()
      const { method, headers } = request
      const onward = ask({ port, host: '127.0.0.1', method, headers, path: request.url.slice('/fleet'.length) }, (answer) => {
        answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers))
      })
      request.pipe(onward.on('error', () => response.destroy()))
    }).listen(0, '127.0.0.1')
    await once(this.#proxy, 'listening')
    return `http://127.0.0.1:${(this.#proxy.address() as AddressInfo).port}/fleet/`
  }

  async signedIn(hash = '', token = ADMIN_TOKEN, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await this.open(hash, options)
    await signIn(page, token)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    return page
  }

  /** A worker that is only a socket: it says what the test wants it to say. */
  async speakAs(type: string, id: string, frames: readonly object[]): Promise<WebSocket> {
    const socket = new WebSocket(`${this.fleet.url.replace('http', 'ws')}/api/v1/automations/${type}/workers/${encodeURIComponent(id)}/control?token=${WORKER_TOKEN}`)
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true })
      socket.addEventListener('error', reject, { once: true })
    })
    const register = { type: 'register', worker_id: id, automation_type: type, protocol_version: 1, hardware: { cores: 1, ram_gb: 1, hostname: 'host', kernel: 'kernel' } }
    for (const frame of [register, ...frames]) socket.send(JSON.stringify(frame))
    return socket
  }

  async stop(): Promise<void> {
    await this.#browser?.close()
    this.#proxy?.closeAllConnections()
    this.#proxy?.close()
    await this.fleet.stop()
  }
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** What the page keeps in this browser. */
export const storedValues = (page: Page): Promise<unknown> => page.evaluate('Object.values(localStorage)')
