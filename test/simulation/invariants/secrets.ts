/**
 * Checks that no secret is in an output.
 *
 *   I17  logs, responses, frames, the event stream, and the objects of the cluster except Secrets contain neither the
 *        value of a Secret nor a token. The one exception is the worker that reads its own config (G17).
 */
import type { FeedItem } from '../../../src/client/index.ts'
import { SECRETS } from '../../operator/fleetworker/kinds.ts'
import type { Exchange } from '../pool.ts'
import type { CheckDeps, CreateCheck, InvariantCheck, LogLine, ReceivedFrame } from './invariant.ts'

export const checkSecrets: CreateCheck = (deps) => new SecretsCheck(deps)

class SecretsCheck implements InvariantCheck {
  readonly #deps: CheckDeps

  constructor(deps: CheckDeps) {
    this.#deps = deps
    deps.api()?.store.listeners.add(({ kind, object }) => {
      if (kind !== SECRETS) this.#scan(`${kind.kind} ${object.metadata.name}`, JSON.stringify(object))
    })
  }

  received({ process, method, path, text }: Exchange): void {
    if (path.endsWith(`/workers/${process.name}/config`)) return
    this.#scan(`the response of ${method} ${path}`, text)
  }

  framed({ from, text }: ReceivedFrame): void {
    this.#scan(`a frame of ${from}`, text)
  }

  fed(reader: string, item: FeedItem): void {
    this.#scan(`the event stream of ${reader}`, JSON.stringify(item))
  }

  logged({ process, message, fields }: LogLine): void {
    const error = fields['error']
    const stack = error instanceof Error ? String(error.stack) : ''
    this.#scan(`the log of ${process}`, `${message} ${JSON.stringify(fields)} ${stack}`)
  }

  #scan(where: string, text: string): void {
    const { canaries } = this.#deps
    canaries.scan(where, text)
    const [hit] = canaries.hits
    if (hit !== undefined) this.#deps.fail('I17', `${hit.where} contains ${hit.secret}: ${hit.excerpt}`)
  }
}
