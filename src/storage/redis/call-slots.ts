/**
 * @module storage/redis/call-slots
 * CallSlots numbers the calls of one operation, so that the store recognises a repeated one in the same step (D79).
 *
 * Calls of one type run side by side, so one sequence a process would not do: a higher number may arrive first. Each
 * call takes a slot that no other call is using, and in a slot one call follows the other. The store keeps the last
 * number of each slot, and its result: an equal number is a repetition, a lower one a send that was overtaken.
 *
 *   slot 0   call 1 ── lost reply, sent again as 1 ──▶ call 4
 *   slot 1   call 2 ──▶ call 3 ── outcome unknown ──▶ call 5, which reports that results from 3 on were lost
 */
import { FleetError } from '../../protocol/index.ts'

/** What the store recognises a call by. `lostFrom`: results of this number and of higher ones never arrived. */
export interface NumberedCall {
  readonly slot: string
  readonly number: number
  readonly lostFrom: number
}

interface Slot {
  readonly name: string
  lostFrom: number | null
}
interface Slots {
  readonly free: Slot[]
  made: number
}

export class CallSlots {
  readonly #process: string
  readonly #byType = new Map<string, Slots>()
  #calls = 0

  /** @param process an id that no other process uses, ever. */
  constructor(process: string) {
    this.#process = process
  }

  /** The slot is free again when `call` has settled. */
  async take<T>(type: string, call: (numbered: NumberedCall) => Promise<T>): Promise<T> {
    const slots = this.#of(type)
    const slot = slots.free.pop() ?? { name: `${this.#process}.${slots.made++}`, lostFrom: null }
    const number = (this.#calls += 1)
    try {
      const response = await call({ slot: slot.name, number, lostFrom: slot.lostFrom ?? number })
      slot.lostFrom = null
      return response
    } catch (error) {
      if (error instanceof FleetError && error.outcome === 'unknown') slot.lostFrom ??= number
      throw error
    } finally {
      slots.free.push(slot) // Taken first by the next call, so what was lost is said soon.
    }
  }

  #of(type: string): Slots {
    const slots = this.#byType.get(type) ?? { free: [], made: 0 }
    this.#byType.set(type, slots)
    return slots
  }
}
