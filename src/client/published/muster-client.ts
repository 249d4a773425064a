/**
 * @module client/published/muster-client
 * Provides the published client of a master, `muster/client`, for programs that submit tasks and read outputs. It needs
 * only `fetch`, so it runs in Node and in browsers.
 */
import type { Automation } from '../../automation/public.ts'
import { webRandom, webTime } from '../../runtime/web/index.ts'
import type { AlertsBody, OperationsBody } from '../../protocol/index.ts'
import { apiPath, masterAddress } from '../address.ts'
import { ApiCaller, type CallerOptions } from '../api-caller.ts'
import { followEvents } from '../feed.ts'
import { fetchTransport } from './fetch-transport.ts'
import { published, publishing } from './muster-error.ts'
import { Output } from '../output.ts'
import type {
  AutomationClient,
  CallOptions,
  FoundTask,
  JsonObject,
  MusterClientOptions,
  OutputOf,
  PayloadOf,
  ResultOf,
} from './api.ts'
import { PublishedAutomation } from './automation.ts'
import { operationOf } from './fleet.ts'
import type { Alert, EventsOptions, FleetEvent, Operation } from './fleet-api.ts'
import { ResultQueue } from './result-queue.ts'
import { shown } from './shown.ts'
import { SubmitQueue } from './submit-queue.ts'
import { taskState } from './task-shapes.ts'
import type { Repetition } from './task-text.ts'
import { TaskRoutes } from '../task-routes.ts'

const TIMEOUT_MS = 30_000
const MIN_TIMEOUT_MS = 1_000
const MAX_TIMEOUT_MS = 600_000
/** The shortest time for which the master remembers the key of a submit. */
const MIN_KEY_SECONDS = 60

/** A client of one master. It opens connections when they are needed, and has nothing to close. */
export class MusterClient {
  readonly #caller: ApiCaller
  readonly #callerOptions: CallerOptions
  readonly #timeoutMs: number
  readonly #repetition: Repetition
  readonly #automations = new Map<string, PublishedAutomation<never, never, never>>()

  /** Sends nothing yet. @throws {TypeError} for an invalid URL or timeout. */
  constructor(options: MusterClientOptions) {
    const { url, token, timeoutMs = TIMEOUT_MS, dedupe = true, actor, fetch = globalThis.fetch } = options
    if (!(timeoutMs >= MIN_TIMEOUT_MS && timeoutMs <= MAX_TIMEOUT_MS))
      throw new TypeError(`timeoutMs must be ${MIN_TIMEOUT_MS} to ${MAX_TIMEOUT_MS}`)
    const { origin, prefix } = masterAddress(url)
    this.#timeoutMs = timeoutMs
    // Twice the timeout: the last repetition may be slow on its way.
    this.#repetition = { dedupe, windowSeconds: Math.max(MIN_KEY_SECONDS, Math.ceil((2 * timeoutMs) / 1_000)) }
    this.#callerOptions = {
      token: typeof token === 'string' ? () => token : token,
      clock: webTime,
      timers: webTime,
      random: webRandom,
      callMs: timeoutMs,
      attempts: Infinity,
      ...(actor !== undefined && { actor }),
    }
    const transport = fetchTransport(origin, (...request) => fetch(...request))
    this.#caller = new ApiCaller({ transport, prefix, parse: JSON.parse }, this.#callerOptions)
  }

  /**
   * Returns the client of one automation type. Payloads and outputs are any objects, results any values.
   * @param type The type, such as `greeter`.
   */
  automation(type: string): AutomationClient<JsonObject, JsonObject>
  /**
   * Returns the client of one automation type, for example `client.automation<typeof greeter>('greeter')`. Payloads,
   * outputs and results have the types of its schemas.
   * @param automation The type, or the automation itself, which makes its code part of the program.
   */
  automation<A extends Automation>(automation: string | A): AutomationClient<PayloadOf<A>, OutputOf<A>, ResultOf<A>>
  /** Returns the client of one automation type. */
  automation(automation: string | Automation): AutomationClient<never, never, never> {
    const type = typeof automation === 'string' ? automation : automation.type
    return this.#automations.get(type) ?? this.#newAutomation(type)
  }

  /**
   * Finds a task by its ID in all automation types that the token covers.
   * @param id The ID of the task.
   * @returns each task with this ID, ordered by type; empty if it has finished without a retained outcome, or never
   *   existed.
   * @throws {UnsupportedByMaster} when the master is of a release before this call.
   */
  async findTask(id: string, options?: CallOptions): Promise<readonly FoundTask[]> {
    // The call itself never returns 404.
    const { body } = await publishing(new TaskRoutes(this.#caller).find(id, options), 'NOT_FOUND')
    return body.map(({ automation_type: type, ...task }) => ({ type, ...taskState(task) }))
  }

  /**
   * Yields the events of the fleet that the token may see, until the signal aborts. While the master is unavailable, it
   * waits and continues after the last event. Throws a {@link MusterError} when the master rejects the request.
   *
   * @param options Where to continue, and when to stop.
   */
  async *events(options: EventsOptions = {}): AsyncGenerator<FleetEvent, void, undefined> {
    const { lastEventId = '', signal = new AbortController().signal } = options
    let isFirst = true
    for await (const item of followEvents(this.#caller, this.#callerOptions, { lastEventId, signal })) {
      if (item.kind === 'lost' && !item.error.isRetryable) throw published(item.error)
      // The first connection broke before its first event, so there is no position to continue after.
      if (item.kind === 'open' && !isFirst && !item.isResumed) yield { kind: 'reset', id: '' }
      if (item.kind === 'open') isFirst = false
      if (item.kind === 'event') yield fleetEvent(item)
    }
  }

  /**
   * Returns the firing alerts of the types that the token covers, newest first, and then those that were resolved in
   * the last 24 hours.
   * @throws {UnsupportedByMaster} when the master is of a release before this call.
   */
  async alerts(options?: CallOptions): Promise<readonly Alert[]> {
    const call = this.#caller.call<AlertsBody>({ method: 'GET', path: apiPath(['alerts']) }, options)
    return (await publishing(call, 'NOT_FOUND')).body.alerts.map((alert) => shown(alert))
  }

  /**
   * Returns the operations of the types that the token covers, newest first.
   * @throws {UnsupportedByMaster} when the master is of a release before this call.
   */
  async operations(options?: CallOptions): Promise<readonly Operation[]> {
    const call = this.#caller.call<OperationsBody>({ method: 'GET', path: apiPath(['operations']) }, options)
    return (await publishing(call, 'NOT_FOUND')).body.operations.map((each) => operationOf(each))
  }

  #newAutomation(type: string): PublishedAutomation<never, never, never> {
    const tasks = new TaskRoutes(this.#caller)
    const automation = new PublishedAutomation<never, never, never>(type, {
      caller: this.#caller,
      tasks,
      output: new Output(this.#caller, this.#callerOptions),
      submits: new SubmitQueue(tasks, type, this.#timeoutMs),
      results: new ResultQueue(tasks, type, this.#timeoutMs),
      repetition: this.#repetition,
    })
    this.#automations.set(type, automation)
    return automation
  }
}

function fleetEvent({ id, name, data }: { id: string; name: string; data: JsonObject }): FleetEvent {
  return name === 'reset' ? { kind: 'reset', id } : { kind: 'event', id, name, data }
}
