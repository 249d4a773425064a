/**
 * Checks all responses of the masters.
 *
 *   I14  a response is at most 32 MiB, a larger body than allowed is refused, and a token's submits are limited  (G17)
 *   I15  the only status of a failure of the master is 503, with Retry-After                                    (G18)
 */
import { MAX_RESPONSE_BYTES } from '../../../src/protocol/index.ts'
import type { Served } from '../pool.ts'
import type { CheckDeps, CreateCheck, InvariantCheck } from './invariant.ts'

class ResponseCheck implements InvariantCheck {
  readonly #deps: CheckDeps

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  served({ master, method, path, body, status, headers, text }: Served): void {
    const what = `${master.name} returned ${status} to ${method} ${path}`
    if (status >= 500 && status !== 503) this.#deps.fail('I15', `${what}: ${text}`)
    if (status === 503 && headers['retry-after'] === undefined && path !== '/readyz')
      this.#deps.fail('I15', `${what} without Retry-After`)
    const { maxBodyBytes } = this.#deps.plan.settings
    if (status < 300 && Buffer.byteLength(body) > maxBodyBytes)
      this.#deps.fail('I14', `${what}, whose body is larger than ${maxBodyBytes} bytes`)
    if (text.length > MAX_RESPONSE_BYTES) this.#deps.fail('I14', `${what} with ${text.length} bytes`)
  }
}

export const checkResponses: CreateCheck = (deps) => new ResponseCheck(deps)
