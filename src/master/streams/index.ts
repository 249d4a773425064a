/** Output streams: the sink for outputs of workers, and the routes that read and remove them. */
export type { OutputSink } from './sink.ts'
export { createStreams, type Streams } from './streams.ts'
