/**
 * @module storage/contract/bus
 * Defines the message bus: topics for workers, and signals from one master to another.
 */
import type { JsonText } from '../../protocol/index.ts'
import type { LeaseRef } from './common.ts'
import type { Ref } from './workers.ts'

/**
 * A message to the master that has a worker's socket, or to a master whose workers wait for tasks (`wake`) or whose
 * clients wait for the end of tasks (`finished`). `isChosen`: only a few masters got this signal, so one that has no
 * waiting worker passes it on.
 */
export type MasterSignal =
  | { readonly kind: 'config_changed'; readonly ref: Ref; readonly conn: string; readonly gen: number }
  | { readonly kind: 'drain' | 'replaced'; readonly ref: Ref; readonly conn: string }
  | { readonly kind: 'cancelled'; readonly ref: Ref; readonly conn: string; readonly leases: readonly LeaseRef[] }
  | { readonly kind: 'read_logs'; readonly ref: Ref; readonly conn: string; readonly read: LogRead }
  | { readonly kind: 'logs'; readonly ref: Ref; readonly conn: string; readonly read: LogsRead }
  | { readonly kind: 'wake'; readonly type: string; readonly isChosen?: true }
  | { readonly kind: 'finished'; readonly type: string; readonly ids: readonly string[] }

/** A request to read the log of a worker. `replyTo`: the `conn` of the signal with the result. */
interface LogRead {
  readonly id: string
  readonly replyTo: string
  /** The fields of the frame for the worker. */
  readonly query: JsonText
}
/** The result of a {@link LogRead} with the same `id`. */
interface LogsRead {
  readonly id: string
  readonly result: JsonText
}

/**
 * Messages are delivered at most once, and only to those who listen at that moment. Correctness
 * must not depend on their arrival: code that reacts to a signal also polls.
 */
export interface Bus {
  /**
   * Sends messages to the subscribers of their topics. Does nothing where `capabilities.pubsub` is false.
   *
   * @param messages `data`: one JSON value. An empty list does nothing.
   * @throws {FleetError} STORAGE_UNAVAILABLE. If the outcome is unknown, a retry may deliver a message twice.
   */
  publish(messages: readonly { readonly topic: string; readonly data: JsonText }[]): Promise<void>
  /**
   * Subscribes to a topic. Where `capabilities.pubsub` is false, the listener is never called.
   *
   * @param topic The name of the topic.
   * @param on Called with each message that is published while the subscription lasts.
   * @returns a function that unsubscribes. It may be called again.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  subscribe(topic: string, on: (data: JsonText) => void): Promise<() => void>
  /**
   * Sends signals to one master, in one message. A backend for a single master calls its own listeners, whatever the
   * id.
   *
   * @param masterId The master that receives them; they are lost if that master does not run.
   * @param signals What changed. More than one only while every live master reads such messages (D135).
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry: a repeated signal does no harm.
   */
  signal(masterId: string, ...signals: readonly MasterSignal[]): Promise<void>
  /**
   * Wakes another master that waits for tasks, in place of this one, if a task is pending. Does nothing where there is
   * only one master.
   *
   * @param type The automation type of a `wake` that was `isChosen`.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  passWake(type: string): Promise<void>
  /**
   * Calls `on` for every signal to this master.
   *
   * @param on The listener. One that is added twice is called twice.
   * @returns a function that removes the listener. It may be called again.
   */
  onSignal(on: (signal: MasterSignal) => void): () => void
}
