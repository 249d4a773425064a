/** @module master/certificate-watch  The part that applies changed certificates of the master. */
import type { Part } from './deps.ts'
import { watchTls, type Http } from './http/index.ts'
import type { MasterOptions } from './master.ts'

export function certificateWatch(
  { timers, log, tls }: Pick<MasterOptions, 'timers' | 'log' | 'tls'>,
  http: Http,
): Part {
  let stop = (): void => {}
  return {
    routes: [],
    start: () => {
      if (tls !== undefined) stop = watchTls({ timers, log, tls, apply: (pair) => http.replaceCertificate(pair) })
    },
    stop: () => stop(),
  }
}
