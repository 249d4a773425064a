/** Injects the faults of a plan. */
import type { Environment } from './environment.ts'
import type { SimApiServer } from './operator/api-server.ts'
import type { Fault } from './plan.ts'

/** Dead processes start again within this time after faults end. */
const MAX_RESTART_MS = 5_000

export function inject(environment: Environment, fault: Fault): void {
  const { managed, network, time } = environment
  environment.note('fault', fault.kind, () => JSON.stringify(fault))
  environment.checker.injected(fault)
  const process = 'target' in fault ? managed.get(fault.target)?.process : undefined
  switch (fault.kind) {
    case 'kill':
      process?.kill()
      return void time.after(fault.restartMs, () => restartDead(environment, fault.target))
    case 'terminate':
      return managed.get(fault.target)?.terminate(fault.restartMs)
    case 'pause':
      return process?.pause(fault.ms)
    case 'slow_loop':
      return process?.slowDown(fault.ms, fault.taskMs)
    case 'step_wall':
      return process?.stepWall(fault.ms)
    case 'slew':
      return process?.slew(fault.rate)
    case 'partition':
      return network.partition(fault.target, fault.other, fault.ms, fault.isOneWay)
    case 'silence': {
      const socket = environment.sockets.get(fault.target)
      if (fault.side !== 'master') socket?.worker.silence()
      if (fault.side !== 'worker') socket?.master.silence()
      return
    }
    case 'cut':
      return environment.sockets.get(fault.target)?.worker.cut()
    case 'slow_network':
      return network.slow(fault.factor, fault.ms)
    case 'flood':
      return void environment.floods.set(fault.target, fault.count)
    case 'burst':
      return environment.burst(fault.count)
    case 'patch':
      return patch(environment, fault)
    case 'lose_host':
      return loseHost(environment, fault)
    case 'drain': {
      const socket = environment.sockets.get(fault.target)
      if (fault.ownerPausedMs > 0) socket?.master.process.pause(fault.ownerPausedMs)
      if (fault.socket === 'cut') socket?.worker.cut()
      if (fault.socket === 'silenced') socket?.master.silence()
      return remove(environment, fault.kind, fault.target)
    }
    case 'forget':
      return remove(environment, fault.kind, fault.target)
    case 'store_unavailable':
    case 'store_full':
    case 'store_slow':
    case 'step_store':
    case 'store_restart':
    case 'store_failover':
    case 'store_restore':
      return injectStore(environment, fault)
    case 'api_unavailable':
    case 'api_throttled':
    case 'api_watches_end':
    case 'api_compacted':
    case 'api_stale':
      if (environment.api !== null) injectApi(environment.api, fault)
  }
}

function injectApi(api: SimApiServer, fault: Extract<Fault, { kind: `api_${string}` }>): void {
  switch (fault.kind) {
    case 'api_unavailable':
      return api.makeUnavailable(fault.ms)
    case 'api_throttled':
      return api.throttle(fault.ms)
    case 'api_watches_end':
      return api.endWatches(fault.how)
    case 'api_compacted':
      return api.compact()
    case 'api_stale':
      return api.fallBehind(fault.versions, fault.ms)
  }
}

type StoreFault = Extract<Fault, { kind: `store_${string}` | 'step_store' }>

function injectStore({ store, time }: Environment, fault: StoreFault): void {
  switch (fault.kind) {
    case 'store_unavailable':
      return store.makeUnavailable(fault.ms)
    case 'store_full':
      return store.fill(fault.ms)
    case 'store_slow':
      return store.slowDown(fault.ms, fault.callMs)
    case 'step_store':
      return store.stepClock(fault.ms)
    case 'store_restart':
      return void store.lose({ lostMs: Infinity, isNewEpoch: true })
    case 'store_failover':
      return void store.lose({ lostMs: fault.lostMs, isNewEpoch: true })
    case 'store_restore':
      store.makeUnavailable(fault.ms)
      return void time.after(fault.ms, () => void store.lose({ lostMs: fault.lostMs, isNewEpoch: false }))
  }
}

/** Ends every fault: what is dead starts again, and what stands still continues. */
export function healAll(environment: Environment): void {
  const { api, managed, network, store, time } = environment
  network.heal()
  store.heal()
  api?.heal()
  const unit = environment.random('heal')
  for (const [name, { process }] of managed) {
    process.heal()
    if (!process.isAlive) time.after(MAX_RESTART_MS * unit.unit(), () => restartDead(environment, name))
  }
}

/** Three requests, so that they meet at the store; each changes a field of its own. */
function patch(environment: Environment, { atMs, target, slots }: Extract<Fault, { kind: 'patch' }>): void {
  const at = Number(target.slice('worker-'.length))
  const type = environment.plan.workers[at]
  if (type === undefined || at < environment.plan.declared) return
  const { workers } = environment.client(environment.createProcess('patcher'))
  for (const change of [{ slots, enabled: true }, { a: atMs }, { b: atMs }])
    workers.patchConfig(type, target, change).catch(() => {})
}

function loseHost(environment: Environment, { target, ms }: Extract<Fault, { kind: 'lose_host' }>): void {
  const { managed, plan, time } = environment
  const workers = plan.workers.map((_, at) => `worker-${at}`).filter((name) => environment.masterOf(name) === target)
  for (const name of [...workers, target]) {
    managed.get(name)?.process.kill()
    time.after(ms, () => restartDead(environment, name))
  }
}

function restartDead({ managed }: Environment, name: string): void {
  const found = managed.get(name)
  if (found?.process.isAlive === false) found.restart()
}

function remove(environment: Environment, kind: 'drain' | 'forget', name: string): void {
  const type = environment.plan.workers[Number(name.slice('worker-'.length))]
  if (type === undefined) return
  const { workers } = environment.client(environment.createProcess('remover'))
  const socket = environment.sockets.get(name)
  if (socket !== undefined && kind === 'drain' && socket.master.process.isPaused)
    environment.checker.count('drain while the owning master is paused')
  if (socket?.worker.isOpen === true && kind === 'forget') environment.checker.count('worker forgotten while connected')
  const done = kind === 'drain' ? workers.drain(type, name) : workers.forget(type, name)
  done.catch(() => {})
}
