/** The admin verbs of the command line. */
export { NOUNS, optionsOf, runAdmin } from './admin.ts'
export { clientOf, findConnection, type Connection, type ConnectionFlags } from './contexts/connection.ts'
export { readContexts } from './contexts/context-file.ts'
export { processIo, type Io } from './io.ts'
export { COMMON_OPTIONS } from './options.ts'
export { parseWords } from './parse.ts'
export { plain, tableText } from './printer.ts'
export { Failure, type Noun, type Option, type OptionValues, type Options, type Verb } from './verb.ts'
