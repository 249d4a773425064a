/** The admin verbs of the command line. */
export { NOUNS, optionsOf, runAdmin } from './admin.ts'
export { clientOf, findConnection, type ConnectionFlags } from './contexts/connection.ts'
export { readContexts } from './contexts/context-file.ts'
export { processIo, type Io } from './io.ts'
export { parseWords } from './parse.ts'
export { plain, tableText } from './printer.ts'
export type { Noun, Option, OptionValues, Options, Verb } from './verb.ts'
