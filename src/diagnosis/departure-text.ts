/** @module diagnosis/departure-text  Describes how the last connection of a worker ended (D195). */
import type { DepartureBody } from '../protocol/index.ts'
import { agoText } from './texts.ts'

/** The close code of a connection that ended without a close frame. */
const NO_CLOSE_FRAME = 1006

/** One or two sentences: what happened, when and by whom. */
export function departureText(departure: DepartureBody, nowSeconds: number): string {
  const ago = agoText(nowSeconds - departure.at)
  switch (departure.kind) {
    case 'drained':
      return `Drained: it finished its work and exited ${ago}. ${requestedText(departure.by)}`
    case 'stopped':
      return `Stopped: its process ended in an orderly way ${ago}, without a drain, for example after SIGTERM.`
    case 'evicted':
      return `Evicted ${ago}: the master closed its connection. Reason: ${departure.reason}.`
    case 'lost':
      return `Lost ${ago}: ${lostText(departure)}`
  }
}

const requestedText = (by: string | null): string =>
  by === null ? 'It is not known who requested the drain.' : `The drain was requested by ${by}.`

function lostText({ code, reason }: DepartureBody): string {
  if (code === NO_CLOSE_FRAME)
    return 'its connection ended without a close frame, so its process crashed or was killed, or its network failed.'
  return `its connection was closed with code ${code}${reason === '' ? '' : ` (${reason})`}.`
}
