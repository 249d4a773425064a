/** The admin verbs of the command line. */
export { NOUNS, runAdmin } from './admin.ts'
export { processIo, type Io } from './io.ts'
export { parseWords } from './parse.ts'
export { plain, tableText } from './printer.ts'
export type { OptionValues, Options } from './verb.ts'
