/** Builds what the consistency tests need, and removes it after each test. Several labs may be open. */
import { beforeAll, describe } from '@jest/globals'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { buildJudge, judge, withGo, type Verdict } from './judge.ts'
import { Network, withNetwork } from './network.ts'

/** For one test, or for building the judge. */
export const TIMEOUT_MS = 1_800_000

export const IS_SOAK = process.env['SOAK'] === '1'
/** Draws other calls and faults. */
export const SEED = Number(process.env['CONSISTENCY_SEED'] ?? 1)

interface Closable {
  close(): unknown
}

export interface Lab extends AsyncDisposable {
  /** A new network. */
  readonly network: () => Network
  /** Closes this with the lab, before what was opened earlier. */
  readonly open: <T extends Closable>(each: T) => T
  readonly judge: (histories: readonly string[]) => Promise<Verdict>
}

/** Opens a lab for one test: `await using lab = openLab()`. */
export type OpenLab = () => Lab

/** Defines tests that need Go and network namespaces. Where one is missing, it defines a named skip instead. */
export function describeLab(name: string, define: (openLab: OpenLab) => void): void {
  withGo(name, () =>
    withNetwork(name, () =>
      describe(name, () => {
        let program = ''
        beforeAll(() => void (program = buildJudge(temporaryFolder())), TIMEOUT_MS)
        define(() => labWith(() => program))
      }),
    ),
  )
}

function labWith(program: () => string): Lab {
  const opened: Closable[] = []
  const open = <T extends Closable>(each: T): T => {
    opened.push(each)
    return each
  }
  return {
    open,
    network: () => open(new Network()),
    judge: (histories) => judge(program(), histories),
    [Symbol.asyncDispose]: async () => {
      for (const each of opened.splice(0).toReversed()) await each.close()
    },
  }
}
