/** The admin verbs of the command line. */
export { NOUNS, runAdmin } from './admin.ts'
export { processIo, type Io } from './io.ts'
