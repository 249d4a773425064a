/**
 * @module test/dashboard/browser/fleet-fixture
 * A master and workers in their own processes, and the checked browser, for one test.
 */
import { once } from 'node:events'
import { createServer, request as sendRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { ADMIN_TOKEN, Fleet, WORKER_TOKEN } from '../../e2e/fleet.ts'
import { openPage, signedIn } from './watched.ts'

export class FleetFixture {
  readonly fleet: Fleet
  /** API paths that the page requested. */
  asked: string[] = []
  #proxy: Server | undefined

  /** @param store Store URL; default: a SQLite file. */
  constructor(store?: string) {
    this.fleet = new Fleet(store)
  }

  async start(): Promise<void> {
    await this.fleet.startMaster()
  }

  /** Starts a worker of the type and enables it. It may connect to 127.0.0.1. */
  async startWorker(type: 'http-request' | 'http-probe', id: string, config: object = {}): Promise<void> {
    this.fleet.startWorker(type, id)
    const port = Number(new URL(this.fleet.url).port)
    await this.fleet.configure(type, id, {
      enabled: true,
      allow_cidrs: ['127.0.0.0/8'],
      allow_ports: [port],
      ...config,
    })
  }

  /** Opens the page at `address`: the master or a proxy. */
  async open(hash = '', options: BrowserContextOptions = {}, address = `${this.fleet.url}/`): Promise<Page> {
    const { page, asked } = await openPage(address, hash, options)
    this.asked = asked
    return page
  }

  async signedIn(hash = '', token = ADMIN_TOKEN, options: BrowserContextOptions = {}): Promise<Page> {
    const { page, asked } = await signedIn(`${this.fleet.url}/`, hash, token, options)
    this.asked = asked
    return page
  }

  /** Starts a proxy that serves the master below `/fleet/`. @returns its URL */
  async proxied(): Promise<string> {
    const { port } = new URL(this.fleet.url)
    this.#proxy = createServer((request, response) => {
      if (request.url?.startsWith('/fleet/') !== true) return void response.writeHead(404).end()
      const { method, headers } = request
      const onward = sendRequest(
        { port, host: '127.0.0.1', method, headers, path: request.url.slice('/fleet'.length) },
        (proxied) => {
          proxied.pipe(response.writeHead(proxied.statusCode ?? 502, proxied.headers))
        },
      )
      request.pipe(onward.on('error', () => response.destroy()))
    }).listen(0, '127.0.0.1')
    await once(this.#proxy, 'listening')
    return `http://127.0.0.1:${(this.#proxy.address() as AddressInfo).port}/fleet/`
  }

  /** Connects a worker that is only a socket and sends the given frames. */
  async speakAs(type: string, id: string, frames: readonly object[]): Promise<WebSocket> {
    const socket = new WebSocket(
      `${this.fleet.url.replace('http', 'ws')}/api/v1/automations/${type}/` +
        `workers/${encodeURIComponent(id)}/control?token=${WORKER_TOKEN}`,
    )
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true })
      socket.addEventListener('error', reject, { once: true })
    })
    const register = {
      type: 'register',
      worker_id: id,
      automation_type: type,
      protocol_version: 1,
      hardware: { cores: 1, ram_gb: 1, hostname: 'host', kernel: 'kernel' },
    }
    for (const frame of [register, ...frames]) socket.send(JSON.stringify(frame))
    return socket
  }

  async stop(): Promise<void> {
    this.#proxy?.closeAllConnections()
    this.#proxy?.close()
    await this.fleet.stop()
  }
}
