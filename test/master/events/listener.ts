/**
 * @module test/master/events/listener
 * Reads the event stream as the standard specifies, records every event, and can stop reading.
 */
import { request, type IncomingMessage } from 'node:http'
import { TOKENS } from '../../kit/running-master.ts'

export interface ReceivedEvent {
  readonly id: string
  readonly name: string
  readonly data: Record<string, unknown>
}
export interface ListenOptions {
  readonly token?: string
  readonly lastEventId?: string | undefined
  /** For example `?batched=true`. */
  readonly query?: string
}

export class Listener {
  readonly events: ReceivedEvent[] = []
  readonly comments: string[] = []
  readonly response: IncomingMessage
  /** Resolves when the stream has ended: true if it ended cleanly. */
  readonly ended: Promise<boolean>
  retry: string | null = null
  /** The event id to resume from. */
  lastId: string
  #rest = ''
  #onData: (() => void)[] = []

  private constructor(response: IncomingMessage, lastId: string) {
    this.response = response
    this.lastId = lastId
    response.setEncoding('utf8').on('data', (chunk: string) => this.#take(chunk))
    response.on('error', () => {}) // The close event follows.
    this.ended = new Promise((resolve) => void response.on('close', () => resolve(response.complete)))
  }

  /** Resolves when the response has begun, whatever its status. */
  static open(url: string, { token = TOKENS.admin, lastEventId, query = '' }: ListenOptions = {}): Promise<Listener> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    }
    return new Promise((resolve, reject) => {
      request(`${url}/api/v1/events${query}`, { headers, agent: false }, (response) =>
        resolve(new Listener(response, lastEventId ?? '')),
      )
        .on('error', reject)
        .end()
    })
  }

  /** Opens a stream and waits until it has begun, so that it receives all events from then on. */
  static async begin(url: string, options: ListenOptions = {}): Promise<Listener> {
    const listener = await Listener.open(url, options)
    if (listener.response.statusCode !== 200) throw new Error(`the stream was refused: ${listener.response.statusCode}`)
    await listener.until(() => listener.retry !== null)
    return listener
  }

  /** Waits until the condition is true. It is checked after every chunk. */
  async until(holds: () => boolean): Promise<void> {
    const over = this.ended.then(() =>
      Promise.reject(new Error(`the stream ended after ${JSON.stringify(this.events.slice(-3))}`)),
    )
    while (!holds()) await Promise.race([over, new Promise<void>((resolve) => void this.#onData.push(resolve))])
    over.catch(() => {})
  }

  /** The first `count` events. */
  async first(count: number): Promise<readonly ReceivedEvent[]> {
    await this.until(() => this.events.length >= count)
    return this.events.slice(0, count)
  }

  get names(): readonly string[] {
    return this.events.map(({ name }) => name)
  }

  close(): void {
    this.response.destroy()
  }

  #take(chunk: string): void {
    const blocks = (this.#rest + chunk).split('\n\n')
    this.#rest = blocks.pop() ?? ''
    for (const block of blocks) this.#block(block)
    for (const resolve of this.#onData.splice(0)) resolve()
  }

  #block(block: string): void {
    let [name, data] = ['message', '']
    for (const line of block.split('\n')) {
      const { field = '', value = '' } = /^(?<field>[^:]*):? ?(?<value>.*)$/s.exec(line)?.groups ?? {}
      if (field === '') this.comments.push(value)
      else if (field === 'id') this.lastId = value
      else if (field === 'retry') this.retry = value
      else if (field === 'event') name = value
      else if (field === 'data') data += value
      else throw new Error(`not a field: ${line}`)
    }
    if (data !== '') this.events.push({ id: this.lastId, name, data: JSON.parse(data) as Record<string, unknown> })
  }
}
