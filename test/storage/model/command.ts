/** A model command: applies an operation to backend and model, then compares everything that can be read. */
import fc from 'fast-check'
import { compareReads } from './reads.ts'
import type { Real, World } from './world.ts'

export type AnyCommand = fc.Arbitrary<fc.AsyncCommand<World, Real>>
/** Return 'quiet' to skip the comparison, so that the next command is the first to observe the change. */
type Run<A> = (args: A, world: World, real: Real) => Promise<void | 'quiet'>

class Command<A> implements fc.AsyncCommand<World, Real> {
  readonly #name: string
  readonly #args: A
  readonly #run: Run<A>

  constructor(name: string, args: A, run: Run<A>) {
    this.#name = name
    this.#args = args
    this.#run = run
  }

  check = (): boolean => true

  async run(world: World, real: Real): Promise<void> {
    if ((await this.#run(this.#args, world, real)) !== 'quiet') await compareReads(world, real)
  }

  toString(): string {
    return `${this.#name}(${fc.stringify(this.#args)})`
  }
}

export const command = <A>(name: string, args: fc.Arbitrary<A>, run: Run<A>): AnyCommand =>
  args.map((value) => new Command(name, value, run))
