/** A command of the suite: what it does to both sides, and then everything that can be read of them. */
import fc from 'fast-check'
import { compareReads } from './reads.ts'
import type { Real, World } from './world.ts'

export type AnyCommand = fc.Arbitrary<fc.AsyncCommand<World, Real>>
/** After 'quiet' nothing is read, so that the next command is the first to see the change. */
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
