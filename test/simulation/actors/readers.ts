/**
 * Runs a reader of the event stream, one that leaves it and resumes, one that follows an output stream, and one that
 * sometimes pops from it.
 */
import type { Environment, StartActor } from '../environment.ts'

const TYPE = 'steady'
const LOOK_EVERY_MS = 5_000
const POP_EVERY_MS = 20_000
const STAYS_MS = 10_000
const PAUSES_MS = 5_000
const PAGE = 100

export const startReaders: StartActor = (environment) => {
  void follow(environment)
  void leaveAndResume(environment)
  void tail(environment)
  void pop(environment)
}

async function follow(environment: Environment): Promise<void> {
  const process = environment.createProcess('watcher')
  const { signal } = new AbortController()
  for await (const item of environment.client(process).events({ signal })) environment.fed(process, item)
}

async function leaveAndResume(environment: Environment): Promise<void> {
  const process = environment.createProcess('visitor')
  for (let lastEventId = ''; ;) {
    const leave = new AbortController()
    process.after(2 * STAYS_MS * process.random.unit(), () => leave.abort())
    for await (const item of environment.client(process).events({ signal: leave.signal, lastEventId })) {
      environment.fed(process, item)
      if (item.kind === 'event') lastEventId = item.id
    }
    await process.sleep(2 * PAUSES_MS * process.random.unit())
  }
}

async function tail(environment: Environment): Promise<void> {
  const process = environment.createProcess('tailer')
  const { output } = environment.client(process)
  for (let after: string | undefined; ;) {
    await process.sleep(LOOK_EVERY_MS)
    const page = await output.tail(TYPE, { n: PAGE, after }).catch(() => null)
    after = page?.body.entries.at(-1)?.id ?? after
  }
}

async function pop(environment: Environment): Promise<void> {
  const process = environment.createProcess('popper')
  const { output } = environment.client(process)
  for (;;) {
    await process.sleep(2 * POP_EVERY_MS * process.random.unit())
    await output.pop(TYPE, { n: PAGE }).catch(() => null)
  }
}
