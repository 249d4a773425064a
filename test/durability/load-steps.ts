/** The load of the recorded processes: clients of every kind call a store simultaneously. */
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
