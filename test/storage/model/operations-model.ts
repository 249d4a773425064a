/** A minimal model of operations. Their bound is above what the commands reach. */
import { compareText } from '../../../src/runtime/index.ts'
import type {
  OperationCreateResult,
  OperationHead,
  OperationPart,
  OperationUpdateResult,
} from '../../../src/storage/index.ts'

type Stored = OperationHead & { readonly parts: readonly string[] }

export class OperationsModel {
  readonly #types = new Map<string, readonly Stored[]>()

  create(type: string, id: string, head: string, parts: readonly string[]): OperationCreateResult {
    if (this.find(type, id) !== undefined) return 'exists'
    this.#types.set(type, [...this.#of(type), { id, version: 1, head, parts }])
    return 'created'
  }

  update(
    type: string,
    id: string,
    change: { readonly version: number; readonly head: string; readonly parts: readonly OperationPart[] },
  ): OperationUpdateResult {
    const stored = this.find(type, id)
    if (stored === undefined) return 'not_found'
    if (stored.version !== change.version) return 'conflict'
    const parts = stored.parts.map((text, at) => change.parts.find(({ n }) => n === at)?.text ?? text)
    const next = { id, version: stored.version + 1, head: change.head, parts }
    this.#types.set(
      type,
      this.#of(type).map((each) => (each === stored ? next : each)),
    )
    return 'updated'
  }

  remove(type: string, id: string): boolean {
    const stored = this.find(type, id)
    this.#types.set(
      type,
      this.#of(type).filter((each) => each !== stored),
    )
    return stored !== undefined
  }

  find(type: string, id: string): Stored | undefined {
    return this.#of(type).find((each) => each.id === id)
  }

  heads(type: string): readonly OperationHead[] {
    return this.#of(type)
      .map(({ id, version, head }) => ({ id, version, head }))
      .toSorted((a, b) => compareText(a.id, b.id))
  }

  #of(type: string): readonly Stored[] {
    return this.#types.get(type) ?? []
  }
}
