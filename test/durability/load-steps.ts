/** The load of the recorded processes: clients of every kind call a store, simultaneously or one after the other. */
import { FleetError } from '../../src/protocol/index.ts'
import type { StoreClients } from './clients.ts'

export async function repeat(times: number, step: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < times; i += 1) await step()
}

export async function load(clients: StoreClients, times: number): Promise<void> {
  await Promise.all([
    repeat(times, () => clients.submit()),
    repeat(times, () => clients.work()),
    repeat(times, async () => {
      await clients.push()
      await clients.pop(3)
    }),
    repeat(times, async () => {
      await clients.set()
      await clients.add()
      await clients.putConfig()
    }),
    repeat(times, () => clients.usePool()),
    repeat(times, () => clients.beat()),
  ])
}

type Step = () => Promise<unknown>

/** One call of each kind. */
export function steps(clients: StoreClients): readonly Step[] {
  return [
    () => clients.submit(),
    () => clients.work(),
    () => clients.push(),
    () => clients.pop(3),
    () => clients.set(),
    () => clients.add(),
    () => clients.putConfig(),
    () => clients.usePool(),
    () => clients.beat(),
  ]
}

/** Any call may fail during a fault, with an error of the store. Returns false then. */
export async function tolerant(step: Step): Promise<boolean> {
  try {
    await step()
    return true
  } catch (error) {
    if (error instanceof FleetError) return false
    throw error
  }
}

/** Whether the store serves this call: it neither fails nor is refused. */
export async function isServed(clients: StoreClients, step: Step): Promise<boolean> {
  const before = clients.refusals
  return (await tolerant(step)) && clients.refusals === before
}

/** @throws {Error} unless the store serves one call of each kind. */
export async function requireService(clients: StoreClients): Promise<void> {
  for (const step of steps(clients)) {
    const before = clients.refusals
    await step()
    if (clients.refusals > before) throw new Error(`the store refused a call: ${step.toString()}`)
  }
}
