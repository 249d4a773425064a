/** Injects the faults of a plan. */
import type { Environment } from './environment.ts'
import type { Fault } from './plan.ts'

export function inject(environment: Environment, fault: Fault): void {
  const { managed, network, store, time } = environment
  environment.note('fault', fault.kind, () => JSON.stringify(fault))
  switch (fault.kind) {
    case 'kill':
      managed.get(fault.target)?.process.kill()
      return void time.after(fault.restartMs, () => restartDead(environment, fault.target))
    case 'terminate':
      return managed.get(fault.target)?.terminate(fault.restartMs)
    case 'pause':
      return managed.get(fault.target)?.process.pause(fault.ms)
    case 'step_wall':
      return managed.get(fault.target)?.process.stepWall(fault.ms)
    case 'partition':
      return network.partition(fault.target, fault.other, fault.ms)
    case 'silence': {
      const socket = environment.sockets.get(fault.target)
      if (fault.side !== 'master') socket?.worker.silence()
      if (fault.side !== 'worker') socket?.master.silence()
      return
    }
    case 'slow_network':
      return network.slow(fault.factor, fault.ms)
    case 'store_unavailable':
      return store.makeUnavailable(fault.ms)
    case 'store_restart':
      return void store.restart()
    case 'drain':
      return drain(environment, fault.target)
  }
}

function restartDead({ managed }: Environment, name: string): void {
  const found = managed.get(name)
  if (found?.process.isAlive === false) found.restart()
}

function drain(environment: Environment, name: string): void {
  const type = environment.plan.workers[Number(name.slice('worker-'.length))]
  if (type === undefined) return
  const client = environment.client(environment.createProcess('drainer'))
  client.workers.drain(type, name).catch(() => {})
}
