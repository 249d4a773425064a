/**
 * @module operator/config/value-digest
 * Computes digests by which values of Secrets are compared without storing them. A digest is keyed with a key of this
 * process, so it is useless outside of it.
 */
import { createHmac } from 'node:crypto'
import type { JsonValue } from '../../protocol/index.ts'
import type { Random } from '../../runtime/index.ts'

const KEY_BYTES = 32

export class ValueDigest {
  readonly #key: Uint8Array

  constructor(random: Random) {
    this.#key = random.bytes(KEY_BYTES)
  }

  of(value: JsonValue): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(value)).digest('base64')
  }
}
