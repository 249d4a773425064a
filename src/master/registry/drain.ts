/** @module master/registry/drain  Drains workers: stores the drains, signals the sockets, and publishes the events. */
import type { Ref } from '../../storage/index.ts'
import type { RegistryRouteDeps } from './worker-path.ts'

/**
 * Drains workers. Repeating it changes nothing.
 *
 * @param actor Who requests it.
 * @returns false for a worker without a record, in the order of the refs.
 */
export async function drainWorkers(
  refs: readonly Ref[],
  actor: string,
  { master, signals, announce, onDrain }: Pick<RegistryRouteDeps, 'master' | 'signals' | 'announce' | 'onDrain'>,
): Promise<readonly boolean[]> {
  const results = await master.backend.workers.drain(refs.map((ref) => ({ ...ref, actor })))
  await Promise.all(
    refs.map(async (ref, at) => {
      const drained = results[at]
      if (drained?.kind !== 'draining') return
      onDrain(ref)
      await signals.drain(ref, drained.conn)
      announce('worker.draining', ref, { state: 'DRAINING', draining: true })
    }),
  )
  return results.map(({ kind }) => kind === 'draining')
}
