/** @module test/kit/webhook-receiver  An HTTP server that records what a webhook sends. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'

export interface Delivery {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: {
    readonly status: string
    readonly alerts: readonly {
      readonly status: string
      readonly fingerprint: string
      readonly labels: Readonly<Record<string, string>>
      readonly annotations: Readonly<Record<string, string>>
      readonly startsAt: string
      readonly endsAt: string
    }[]
  }
}

/** The status of the responses; `never`: it does not respond. A redirect leads to the path `/elsewhere`. */
type Mode = number | 'never'

export class WebhookReceiver {
  readonly deliveries: Delivery[] = []
  mode: Mode = 200
  readonly #server: Server
  readonly port: number

  private constructor(server: Server, port: number) {
    this.#server = server
    this.port = port
  }

  /** @param port 0: a free one. */
  static async start(port = 0): Promise<WebhookReceiver> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        const text = Buffer.concat(parts).toString()
        const body = (text === '' ? {} : JSON.parse(text)) as Delivery['body']
        receiver.deliveries.push({ path: request.url ?? '', headers: request.headers, text, body })
        const { mode } = receiver
        if (mode === 'never') return
        response.writeHead(mode, mode >= 300 && mode < 400 ? { location: '/elsewhere' } : {}).end()
      })
    })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const receiver = new WebhookReceiver(server, typeof address === 'object' && address !== null ? address.port : 0)
    return receiver
  }

  /** `firing mailer paused` for each alert of each delivery. */
  get received(): readonly string[] {
    return this.deliveries.flatMap(({ body }) =>
      body.alerts.map(({ status, labels }) => `${status} ${labels['automation_type']} ${labels['kind']}`),
    )
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
