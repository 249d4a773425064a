/**
 * @module storage/groups
 * Declares the groups of the contract for a backend that handles every method as a message: a call names its group, its
 * method and the arguments, and the backend runs it. The parts that run calls implement the groups synchronously, each
 * method as one atomic step.
 */
import { CHECKS } from './arguments.ts'
import type { Backend } from './backend.ts'

/** The groups that are called by messages. The bus and the event log of such a backend live in the process. */
export type Groups = Pick<
  Backend,
  'meta' | 'workers' | 'configs' | 'stats' | 'streams' | 'tasks' | 'pools' | 'kv' | 'locks' | 'counters'
>
export type GroupName = keyof Groups

/** A group with the same methods, but synchronous. */
export type Sync<G> = {
  readonly [M in keyof G]: G[M] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never
}
export type SyncGroups = { readonly [G in GroupName]: Sync<Groups[G]> }

/** One call of a method of the contract. */
export interface StorageCall {
  readonly group: GroupName
  readonly method: string
  readonly args: readonly unknown[]
}

/** Runs one call. Resolves with what the method of that name returns. */
type Send = (call: StorageCall) => Promise<unknown>

/** Methods by name, as a call selects them: their parameters are those of the call only. */
type MethodTable = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>

/** Sends one method of one group, with its own parameters and result. */
type Sender<G> = <M extends keyof G & string>(
  method: M,
  args: G[M] extends (...args: infer A) => unknown ? A : never,
) => G[M] extends (...args: never) => infer R ? R : never

/** Returns the groups whose methods pass each call to `send`. */
export function groupsOf(send: Send): Groups {
  return {
    meta: metaOf(senderOf(send, 'meta')),
    workers: workersOf(senderOf(send, 'workers')),
    configs: configsOf(senderOf(send, 'configs')),
    stats: statsOf(senderOf(send, 'stats')),
    streams: streamsOf(senderOf(send, 'streams')),
    tasks: tasksOf(senderOf(send, 'tasks')),
    pools: poolsOf(senderOf(send, 'pools')),
    kv: kvOf(senderOf(send, 'kv')),
    locks: locksOf(senderOf(send, 'locks')),
    counters: countersOf(senderOf(send, 'counters')),
  }
}

/** @throws {TypeError} that names the wrong argument. */
export function checkArguments({ group, method, args }: StorageCall): void {
  const checks = CHECKS[group] as unknown as MethodTable
  checks[method]?.(...args)
}

/** Runs a call on the part that implements its group. @returns what the method returned. */
export function runCall(groups: SyncGroups, { group, method, args }: StorageCall): unknown {
  const part = groups[group] as unknown as MethodTable
  return part[method]?.(...args)
}

function senderOf<N extends GroupName>(send: Send, group: N): Sender<Groups[N]> {
  return (method, args) => send({ group, method, args }) as never
}

function metaOf(send: Sender<Groups['meta']>): Groups['meta'] {
  return {
    info: (...args) => send('info', args),
    beat: (...args) => send('beat', args),
  }
}

function workersOf(send: Sender<Groups['workers']>): Groups['workers'] {
  return {
    register: (...args) => send('register', args),
    beat: (...args) => send('beat', args),
    disconnect: (...args) => send('disconnect', args),
    drain: (...args) => send('drain', args),
    manage: (...args) => send('manage', args),
    forget: (...args) => send('forget', args),
    get: (...args) => send('get', args),
    page: (...args) => send('page', args),
  }
}

function configsOf(send: Sender<Groups['configs']>): Groups['configs'] {
  return {
    put: (...args) => send('put', args),
    get: (...args) => send('get', args),
    history: (...args) => send('history', args),
    raise: (...args) => send('raise', args),
  }
}

function statsOf(send: Sender<Groups['stats']>): Groups['stats'] {
  return { read: (...args) => send('read', args) }
}

function streamsOf(send: Sender<Groups['streams']>): Groups['streams'] {
  return {
    push: (...args) => send('push', args),
    tail: (...args) => send('tail', args),
    peek: (...args) => send('peek', args),
    pop: (...args) => send('pop', args),
    length: (...args) => send('length', args),
    bytes: (...args) => send('bytes', args),
    trim: (...args) => send('trim', args),
  }
}

function tasksOf(send: Sender<Groups['tasks']>): Groups['tasks'] {
  return {
    submit: (...args) => send('submit', args),
    reserve: (...args) => send('reserve', args),
    ack: (...args) => send('ack', args),
    release: (...args) => send('release', args),
    nack: (...args) => send('nack', args),
    extend: (...args) => send('extend', args),
    sweep: (...args) => send('sweep', args),
    locate: (...args) => send('locate', args),
    queue: (...args) => send('queue', args),
    bodies: (...args) => send('bodies', args),
    dead: (...args) => send('dead', args),
    replay: (...args) => send('replay', args),
    newestDeath: (...args) => send('newestDeath', args),
    clearDead: (...args) => send('clearDead', args),
    applyToDead: (...args) => send('applyToDead', args),
    counts: (...args) => send('counts', args),
  }
}

function poolsOf(send: Sender<Groups['pools']>): Groups['pools'] {
  return {
    put: (...args) => send('put', args),
    remove: (...args) => send('remove', args),
    claim: (...args) => send('claim', args),
    extend: (...args) => send('extend', args),
    release: (...args) => send('release', args),
    list: (...args) => send('list', args),
    sizes: (...args) => send('sizes', args),
  }
}

function kvOf(send: Sender<Groups['kv']>): Groups['kv'] {
  return {
    get: (...args) => send('get', args),
    set: (...args) => send('set', args),
    delete: (...args) => send('delete', args),
  }
}

function locksOf(send: Sender<Groups['locks']>): Groups['locks'] {
  return {
    acquire: (...args) => send('acquire', args),
    extend: (...args) => send('extend', args),
    release: (...args) => send('release', args),
  }
}

function countersOf(send: Sender<Groups['counters']>): Groups['counters'] {
  return {
    add: (...args) => send('add', args),
    get: (...args) => send('get', args),
  }
}
