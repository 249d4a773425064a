/** Uses every kind of call of the published client. It is bundled with the client and runs in each runtime. */
import { MusterClient, MusterError } from '../../src/client/public.ts'

/**
 * Uses the client. The master needs a worker that returns `{ sent: <task id> }`, and at least two outputs.
 * @param url The URL of the master.
 * @param token An admin token.
 * @returns what it saw, as JSON: equal in all runtimes.
 */
export async function exercise(url: string, token: string): Promise<unknown> {
  const client = new MusterClient({ url, token: async () => token, actor: 'runtime-test' })
  const mails = client.automation('mailer')
  const events = eventsUntilAborted(client)
  const more = setInterval(() => void mails.submit({ to: 'c' }, { delaySeconds: 3_600 }), 300)
  const tasks = await Promise.all(['a', 'b'].map((id) => mails.submit({ to: id }, { id, retainSeconds: 60 })))
  const later = await mails.submit({ to: 'ü' }, { id: 'later', delaySeconds: 3_600 })
  const results = await Promise.all(tasks.map((task) => task.result()))
  const { place } = await mails.getTask(later.id)
  const [cancelled] = await mails.cancel([later.id])
  const slots: number[] = []
  for await (const output of mails.outputs({ last: 2 })) {
    if (!output.gap) slots.push(output.slotId)
    if (slots.length === 2) break
  }
  const abort = AbortSignal.abort(new Error('stopped'))
  const aborted = await mails.queue({ signal: abort }).catch((error: unknown) => (error as Error).message)
  const deleted = await mails.deadLetters.deleteAll()
  const names = await events
  clearInterval(more)
  return { results, place, cancelled, slots, aborted, deleted, events: names, refusal: await refusalOf(mails) }
}

/** Reads events until it aborts: the stream ends then, also after a garbage collection, for which Deno needs help. */
async function eventsUntilAborted(client: MusterClient): Promise<readonly string[]> {
  const end = new AbortController()
  const names: string[] = []
  for await (const event of client.events({ signal: end.signal })) {
    if (event.kind !== 'event' || event.name !== 'queue.totals') continue
    if (names.push(event.name) > 1) continue
    setTimeout(() => (globalThis as { gc?: () => void }).gc?.(), 500)
    setTimeout(() => end.abort(), 1_000)
  }
  return [...new Set(names)]
}

async function refusalOf(mails: ReturnType<MusterClient['automation']>): Promise<unknown> {
  const error: unknown = await mails.submit({ to: 7 }).catch((thrown: unknown) => thrown)
  if (!(error instanceof MusterError)) throw error
  const { code, outcome, retryable, faults, requestId } = error
  return { code, outcome, retryable, faults: faults.map(({ field }) => field), hasRequestId: requestId !== undefined }
}
